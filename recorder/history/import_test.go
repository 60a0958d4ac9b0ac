package history_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

const podLine = `{"at":"2026-03-01T12:00:%02dZ","op":"%s","object":{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"default","name":"%s"},"spec":{"containers":[{"name":"c"}]}}}` + "\n"

func TestImportNeverOverwrites(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "h.db")
	if err := os.WriteFile(dst, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := fmt.Sprintf(podLine, 0, "add", "a")
	_, err := history.Import(t.Context(), strings.NewReader(log), dst, history.ImportOptions{Name: "x.jsonl"})
	if exists := new(*dbfile.ExistsError); !errors.As(err, exists) {
		t.Fatalf("got %v, want ExistsError", err)
	}
	if b, err := os.ReadFile(dst); err != nil || string(b) != "precious" {
		t.Errorf("the file was changed: %q, %v", b, err)
	}
	if _, err := history.Import(t.Context(), strings.NewReader(log), dst, history.ImportOptions{Name: "x.jsonl", Force: true}); err != nil {
		t.Fatal(err)
	}
	if n := len(snapshotAt(t, reopen(t, dst), 0).Objects.Pods); n != 1 {
		t.Errorf("got %d pods, want 1", n)
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(dst))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A file that is being written is not replaced, forced or not.
func TestForcedImportRespectsAWriter(t *testing.T) {
	dst := filepath.Join(t.TempDir(), "h.db")
	create(t, dst)
	_, err := history.Import(t.Context(), strings.NewReader(fmt.Sprintf(podLine, 0, "add", "a")), dst, history.ImportOptions{Name: "x", Force: true})
	if locked := new(*dbfile.LockedError); !errors.As(err, locked) {
		t.Fatalf("got %v, want LockedError", err)
	}
}

func TestFailedImportLeavesNothing(t *testing.T) {
	good := strings.Repeat(fmt.Sprintf(podLine, 0, "add", "a"), 3000)
	for _, c := range []struct {
		name, log, want string
	}{
		{"empty", "", "no objects"},
		{"blank", "\n\n", "no objects that a history is made of in its 2 lines"},
		{"bad line at the end", good + "{oops\n", "log.jsonl:3001: not JSON"},
		{"cut short", good + `{"at":"2026-03-01T12:00:00Z","op":"add","obj`, "log.jsonl:3001: the line ends in the middle"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := history.Import(t.Context(), strings.NewReader(c.log), filepath.Join(dir, "h.db"), history.ImportOptions{Name: "log.jsonl"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if diff := cmp.Diff([]string(nil), entryNames(t, dir)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelledImportLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	log := strings.Repeat(fmt.Sprintf(podLine, 0, "add", "a"), 10000)
	_, err := history.Import(ctx, strings.NewReader(log), filepath.Join(dir, "h.db"), history.ImportOptions{Name: "log", Progress: func(int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if diff := cmp.Diff([]string(nil), entryNames(t, dir)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}
}

// Logs without UIDs: each life of a name is an object of its own.
func TestImportWithoutUIDs(t *testing.T) {
	var log strings.Builder
	for i, op := range []string{"add", "add", "delete", "update", "delete", "delete", "add"} {
		fmt.Fprintf(&log, podLine, i, op, "a")
	}
	dst := filepath.Join(t.TempDir(), "h.db")
	report, err := history.Import(t.Context(), strings.NewReader(log.String()), dst, history.ImportOptions{Name: "log"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 update of unknown objects, taken as adds", "1 delete of unknown objects, ignored"}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	db := reopen(t, dst)
	for _, c := range []struct {
		at   time.Duration
		want types.UID
	}{{0, "Pod/default/a#1"}, {3 * time.Second, "Pod/default/a#2"}, {6 * time.Second, "Pod/default/a#3"}} {
		if got := snapshotAt(t, db, c.at).Objects.Pods[0].UID; got != c.want {
			t.Errorf("at %s: UID %s, want %s", c.at, got, c.want)
		}
	}
}

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
	if err := db.Export(ctx, &log, time.Time{}, time.Time{}, history.ExportOptions{}); err != nil {
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
	if err := history.Cut(ctx, path, cut, at(2*time.Second), at(5*time.Second)); err != nil {
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
	if err := history.Cut(ctx, path, cut, at(2*time.Second), at(5*time.Second)); err == nil {
		t.Error("Cut overwrote its earlier result")
	}
}
