package history_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

func TestUsageSamplesGapsAndRecordingsTravel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	ctx := t.Context()
	if _, err := w.Begin(ctx, start, []string{"Pod", "Node"}); err != nil {
		t.Fatal(err)
	}
	usages := []history.Usage{{At: at(time.Second), Pod: types.NamespacedName{Namespace: "default", Name: "a"}, Container: "c", CPUMilli: 250, MemoryBytes: 1 << 30},
		{At: at(2 * time.Second), Pod: types.NamespacedName{Namespace: "default", Name: "a"}, Container: "c", CPUMilli: 300, MemoryBytes: 1 << 30}}
	samples := []history.Sample{{Series: "queue_length", Labels: map[string]string{"b": "2", "a": "1"}, At: at(time.Second), Value: 2.5}, {Series: "up", At: at(time.Second), Value: 1}}
	objects := []history.Entry{{ObservedAt: at(time.Second), Change: scalehist.Change{At: at(time.Second - time.Millisecond), Op: scalehist.OpAdd, Object: pod("a", uid(1))}},
		{ObservedAt: at(3 * time.Second), Change: scalehist.Change{At: at(3*time.Second - time.Millisecond), Op: scalehist.OpDelete, Object: pod("a", uid(1))}}}
	if err := errors.Join(w.Write(ctx, objects), w.Usage(ctx, usages), w.Sample(ctx, samples), w.Gap(ctx, history.Gap{From: at(4 * time.Second), To: at(8 * time.Second), Why: "test"}),
		w.End(ctx, at(time.Minute)), w.Close()); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	var log bytes.Buffer
	if err := transfer.Export(ctx, db, &log, time.Time{}, time.Time{}, transfer.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	again := importLog(t, bytes.NewReader(log.Bytes()), "log")
	for _, db := range []*history.DB{db, again} {
		var gotUsages []history.Usage
		for u, err := range db.Usages(ctx, time.Time{}, time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			gotUsages = append(gotUsages, u)
		}
		if diff := cmp.Diff(usages, gotUsages); diff != "" {
			t.Errorf("usages (-want +got):\n%s", diff)
		}
		var gotSamples []history.Sample
		for s, err := range db.Samples(ctx, time.Time{}, time.Time{}) {
			if err != nil {
				t.Fatal(err)
			}
			gotSamples = append(gotSamples, s)
		}
		if diff := cmp.Diff(samples, gotSamples); diff != "" {
			t.Errorf("samples (-want +got):\n%s", diff)
		}
		recordings, err := db.Recordings(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]history.Recording{{ID: 1, From: start, To: at(time.Minute), Kinds: []string{"Pod", "Node"}}}, recordings); diff != "" {
			t.Errorf("recordings (-want +got):\n%s", diff)
		}
	}
	wantHash, err1 := db.Hash(ctx)
	gotHash, err2 := again.Hash(ctx)
	if wantHash != gotHash || err1 != nil || err2 != nil {
		t.Errorf("hash %s, want %s (%v, %v)", gotHash, wantHash, err1, err2)
	}
	// A window keeps what overlaps it, clipped.
	cut := filepath.Join(t.TempDir(), "cut.db")
	if err := transfer.Cut(ctx, path, cut, at(2*time.Second), at(5*time.Second)); err != nil {
		t.Fatal(err)
	}
	window := reopen(t, cut)
	gaps, err := window.Gaps(ctx, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.Gap{{From: at(4 * time.Second), To: at(5 * time.Second), Why: "test"}}, gaps); diff != "" {
		t.Errorf("gaps of the window (-want +got):\n%s", diff)
	}
	if from, to := window.Span(); !from.Equal(at(2*time.Second)) || !to.Equal(at(5*time.Second)) {
		t.Errorf("span of the window: %s to %s", from, to)
	}
	if diff := cmp.Diff([]string{"2s add Pod/a", "3s delete Pod/a"}, changes(t, window, time.Time{}, time.Time{})); diff != "" {
		t.Errorf("changes of the window (-want +got):\n%s", diff)
	}
	if err := transfer.Cut(ctx, path, cut, at(2*time.Second), at(5*time.Second)); err == nil {
		t.Error("Cut overwrote its earlier result")
	}
}
