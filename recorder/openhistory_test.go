package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	testclock "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// TestReadersAreWaitedFor: who reads a history that is to be continued, for longer than SQLite waits, does not end the new recording.
func TestReadersAreWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	endedHistory(t, path)
	// A reader in the middle of an export: nobody takes what it writes yet.
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	out, in := io.Pipe()
	read := make(chan error, 1)
	go func() {
		from, to := db.Span()
		err := transfer.Export(t.Context(), db, in, from, to, transfer.ExportOptions{})
		read <- errors.Join(err, in.Close(), db.Close())
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	r := &Recorder{o: Options{Path: path, Clock: clock, Cluster: "c"}}
	type opened struct {
		store *history.Writer
		err   error
	}
	done := make(chan opened, 1)
	go func() {
		store, err := r.openHistory(t.Context(), "")
		done <- opened{store, err}
	}()
	waiting := func(context.Context) (bool, error) { return clock.HasWaiters() || len(done) > 0, nil }
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, waiting); err != nil {
		t.Fatal(err)
	}
	if got := r.trouble.String(); !strings.Contains(got, "waiting for somebody who reads "+path) {
		t.Errorf("trouble %q", got)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	clock.Step(firstWait)
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	if err := got.store.Close(); err != nil {
		t.Error(err)
	}
	if got := r.trouble.String(); got != "" {
		t.Errorf("trouble afterwards: %q", got)
	}
}

// endedHistory makes a history that is in good order, and longer than fits into one buffer.
func endedHistory(t *testing.T, path string) {
	t.Helper()
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "c"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	var entries []history.Entry
	for i := range 3000 {
		o := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%d", i)}}
		entries = append(entries, history.Entry{Change: scalehist.Change{At: start.Add(time.Duration(i) * time.Second), Op: scalehist.OpAdd, Object: o}})
	}
	if err := errors.Join(w.Write(t.Context(), entries), w.End(t.Context(), start.Add(time.Hour)), w.Close()); err != nil {
		t.Fatal(err)
	}
}
