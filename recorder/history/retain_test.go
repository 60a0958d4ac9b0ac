package history_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// After a history forgot its past, every instant that is left reads as before, its content is that of the window cut out,
// and a recorder goes on in it.
//
//scalehist:unraced
func TestRetainKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := drawLife(r)
		if len(l.entries) == 0 {
			return
		}
		path := writeLife(r, t, l)
		first := rapid.IntRange(0, len(l.times)-1).Draw(r, "first kept")
		window := filepath.Join(filepath.Dir(path), "window.db")
		if err := transfer.Cut(t.Context(), path, window, at(l.times[first]), time.Time{}); err != nil {
			r.Fatal(err)
		}
		if _, _, err := history.Retain(t.Context(), path, at(l.times[first])); err != nil {
			r.Fatal(err)
		}
		db := openLife(r, t, path)
		checkFrom(r, t, db, l, first)
		if diff := cmp.Diff(exported(t, openLife(r, t, window)), exported(t, db)); diff != "" {
			r.Fatalf("what is left is not the window (-window +left):\n%.2000s", diff)
		}
		if from, _ := db.Span(); first > 0 && !from.Equal(at(l.times[first])) {
			r.Fatalf("it begins at %s, want %s", from, at(l.times[first]))
		}
		if first > 0 {
			if early := mustSnapshot(r, t, db, at(l.times[first]-1)); len(everything(early)) != 0 {
				r.Fatalf("something lived before the beginning: %v", factsOf(early))
			}
		}
	})
}

// checkFrom compares every instant from the first-th on, and the changes from there, with the model.
func checkFrom(r *rapid.T, t *testing.T, db *history.DB, l life, first int) {
	for i := first; i < len(l.times); i++ {
		if diff := cmp.Diff(l.states[i], factsOf(mustSnapshot(r, t, db, at(l.times[i])))); diff != "" {
			r.Fatalf("at %s (-model +history):\n%s", l.times[i], diff)
		}
	}
	m := newModel() // the whole of it, from nothing
	for c, err := range db.Changes(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			r.Fatal(err)
		}
		m.apply(c.Op, withoutSynthetic(c.Object))
	}
	if diff := cmp.Diff(l.states[len(l.states)-1], m.facts()); diff != "" {
		r.Fatalf("all changes (-model +history):\n%s", diff)
	}
}

// A recorder forgets while it records.
func TestWriterRetains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := drawLife(r)
		if len(l.entries) == 0 {
			return
		}
		path := filepath.Join(t.TempDir(), "h.db")
		w, err := history.Create(t.Context(), path, history.Options{})
		if err != nil {
			r.Fatal(err)
		}
		if _, err := w.Begin(t.Context(), start, nil); err != nil {
			r.Fatal(err)
		}
		cut := time.Duration(0)
		for _, e := range l.entries {
			if err := w.Write(t.Context(), []history.Entry{e}); err != nil {
				r.Fatal(err)
			}
			now := e.ObservedAt.Sub(start)
			if rapid.IntRange(0, 4).Draw(r, "retain") == 0 {
				cut = max(cut, now-time.Duration(rapid.SampledFrom([]int64{0, 1, int64(time.Second), int64(time.Hour)}).Draw(r, "keep")))
				if _, err := w.Retain(t.Context(), at(cut)); err != nil {
					r.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			r.Fatal(err)
		}
		first := 0
		for l.times[first] < cut {
			first++
		}
		checkFrom(r, t, openLife(r, t, path), l, first)
	})
}

// Everything that is older goes, rows and all; a repetition keeps the message of its first sighting.
func TestRetainForgetsEverything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	ctx := t.Context()
	if _, err := w.Begin(ctx, start, nil); err != nil {
		t.Fatal(err)
	}
	var entries []history.Entry
	for i := range 20 {
		d := time.Duration(i) * time.Minute
		entries = append(entries, change(d, scalehist.OpAdd, pod(fmt.Sprint("p", i), uid(i))), change(d+time.Second, scalehist.OpDelete, pod(fmt.Sprint("p", i), uid(i))))
	}
	entries = append(entries,
		change(time.Minute, scalehist.OpAdd, coreEvent(1, "Old", "gone", 1, 0)),
		change(time.Minute, scalehist.OpAdd, coreEvent(2, "Repeated", "first", 1, 0)),
		change(2*time.Minute, scalehist.OpUpdate, coreEvent(2, "Repeated", "other", 2, time.Minute)),
		change(15*time.Minute, scalehist.OpUpdate, coreEvent(2, "Repeated", "first", 3, 15*time.Minute)))
	if err := w.Write(ctx, sorted(entries)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []time.Duration{time.Minute, 15 * time.Minute} {
		if err := w.Usage(ctx, []history.Usage{{At: at(d), Pod: types.NamespacedName{Name: "a"}, Container: "c"}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Sample(ctx, []history.Sample{{Series: fmt.Sprint("s", d), At: at(d)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Gap(ctx, history.Gap{From: start, To: at(time.Minute), Why: "old"}); err != nil {
		t.Fatal(err)
	}
	if err := w.Gap(ctx, history.Gap{From: start, To: at(12 * time.Minute), Why: "half"}); err != nil {
		t.Fatal(err)
	}
	report, err := w.Retain(ctx, at(10*time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	want := history.RetainReport{From: at(10 * time.Minute), Versions: 20, Objects: 10, Events: 3, Usages: 1, Samples: 1}
	report.Contents = 0
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if again, err := w.Retain(ctx, at(5*time.Minute)); err != nil || again.Versions != 0 || !again.From.Equal(at(10*time.Minute)) {
		t.Errorf("an earlier instant: %+v, %v", again, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	events, err := db.Events(ctx, history.EventFilter{})
	if err != nil || len(events) != 1 || events[0].Message != "first" || events[0].Count != 3 {
		t.Errorf("events: %+v, %v", events, err)
	}
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	if diff := cmp.Diff([]history.Gap{{From: at(10 * time.Minute), To: at(12 * time.Minute), Why: "half"}}, gaps); diff != "" || err != nil {
		t.Errorf("gaps: %v (-want +got):\n%s", err, diff)
	}
	stats, err := db.Stats(ctx)
	if err != nil || stats.Usages != 1 || stats.Samples != 1 || len(stats.Kinds) != 1 || stats.Kinds[0].Objects != 10 {
		t.Errorf("stats: %+v, %v", stats, err)
	}
}

// A call that is stopped after the beginning moved leaves nothing to be seen, and the next one clears up.
func TestRetainStopped(t *testing.T) {
	defer history.SetRetainChunk(history.SetRetainChunk(2))
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, nodeGroup("old", 1)), change(0, scalehist.OpAdd, pod("a", uid(1))),
		change(time.Second, scalehist.OpUpdate, nodeGroup("old", 2)), change(2*time.Second, scalehist.OpAdd, nodeGroup("kept", 1)),
		change(3*time.Second, scalehist.OpDelete, nodeGroup("old", 2)), change(4*time.Second, scalehist.OpDelete, pod("a", uid(1))),
		change(5*time.Second, scalehist.OpAdd, coreEvent(1, "Old", "m", 1, 0)), change(time.Minute, scalehist.OpUpdate, nodeGroup("kept", 3))}); err != nil {
		t.Fatal(err)
	}
	for polls := range 60 {
		if _, err := w.Retain(expiringAfter(t.Context(), polls), at(10*time.Second)); err == nil {
			break
		} else if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		db := reopen(t, path)
		if from, _ := db.Span(); from.Equal(start) {
			continue // not begun
		}
		if diff := cmp.Diff([]string{"10s add NodeGroup/kept", "1m0s update NodeGroup/kept"}, changes(t, db, time.Time{}, time.Time{})); diff != "" {
			t.Fatalf("stopped after %d (-want +got):\n%s", polls, diff)
		}
		sizes, err := observed.NodeGroupSizes(t.Context(), db, time.Time{}, time.Time{})
		if err != nil || len(sizes) != 2 || sizes[0].NodeGroup != "kept" || !sizes[0].At.Equal(at(10*time.Second)) {
			t.Fatalf("stopped after %d: sizes %+v, %v", polls, sizes, err)
		}
		if events, err := db.Events(t.Context(), history.EventFilter{}); err != nil || len(events) != 0 {
			t.Fatalf("stopped after %d: events %+v, %v", polls, events, err)
		}
	}
	if err := w.Write(t.Context(), []history.Entry{change(time.Hour, scalehist.OpDelete, nodeGroup("kept", 3))}); err != nil {
		t.Fatal(err)
	}
	if got := w.Counts().Deleted; got != 3 {
		t.Errorf("%d deletions", got)
	}
}

// Series that have samples stay, however many there are.
func TestRetainKeepsManySeries(t *testing.T) {
	defer history.SetRetainChunk(history.SetRetainChunk(2))
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), []history.Entry{change(0, scalehist.OpAdd, pod("a", uid(1))), change(time.Second, scalehist.OpDelete, pod("a", uid(1)))}); err != nil {
		t.Fatal(err)
	}
	if err := w.End(t.Context(), at(time.Minute)); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, d := range []time.Duration{0, time.Minute} {
		want = nil
		for i := range 7 {
			name := fmt.Sprint("s", i)
			if i == 3 && d > 0 {
				continue // it was sampled no more
			}
			want = append(want, name)
			if err := w.Sample(t.Context(), []history.Sample{{Series: name, At: at(d), Value: 1}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	report, err := w.Retain(t.Context(), at(2*time.Second))
	if err != nil || report.Samples != 7 {
		t.Fatalf("retain: %+v, %v", report, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for s, err := range reopen(t, path).Samples(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.Series)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// expiring is a context that is cancelled once it was asked often enough.
type expiring struct {
	context.Context //nolint:containedctx // it is a context
	left            atomic.Int64
}

func expiringAfter(ctx context.Context, polls int) *expiring {
	e := &expiring{Context: ctx}
	e.left.Store(int64(polls))
	return e
}

func (e *expiring) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func (e *expiring) Done() <-chan struct{} {
	if e.left.Add(-1) >= 0 {
		return nil
	}
	done := make(chan struct{})
	close(done)
	return done
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	for i := range 300 {
		p := pod(fmt.Sprint("p", i), uid(i))
		p.Labels["unique"] = strings.Repeat(fmt.Sprint(i), 30)
		if err := w.Write(t.Context(), []history.Entry{change(time.Duration(i)*time.Second, scalehist.OpAdd, p), change(time.Duration(i)*time.Second, scalehist.OpDelete, p)}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := history.Compact(t.Context(), path)
	var locked *dbfile.LockedError
	if !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("while it is written to: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reader := reopen(t, path) // goes on reading the old file
	forgot, packed, err := history.Retain(t.Context(), path, at(290*time.Second))
	if err != nil || forgot.Contents < 250 || packed.After >= packed.Before/2 {
		t.Errorf("retain: %+v %+v %v", forgot, packed, err)
	}
	if n := len(changes(t, reader, time.Time{}, time.Time{})); n != 600 {
		t.Errorf("the reader sees %d changes", n)
	}
	want := exported(t, reopen(t, path))
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := history.Compact(t.Context(), path)
	if err != nil || again.After > again.Before || again.Dropped != 0 {
		t.Errorf("compact: %+v, %v", again, err)
	}
	if diff := cmp.Diff(want, exported(t, reopen(t, path))); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	w = create(t, path) // a recorder goes on in it
	if err := w.Write(t.Context(), []history.Entry{change(time.Hour, scalehist.OpAdd, pod("new", uid(999)))}); err != nil {
		t.Fatal(err)
	}
}

// Compact leaves what is no history alone.
func TestCompactOtherFiles(t *testing.T) {
	text := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := history.Compact(t.Context(), text)
	var foreign *dbfile.ForeignError
	if !errors.As(err, &foreign) {
		t.Errorf("text: %v", err)
	}
	if diff := cmp.Diff([]string{"x.db"}, entryNames(t, filepath.Dir(text))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// A copy made while a recorder writes is a whole transaction's state, and a history of its own.
func TestCopyWhileWriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w := create(t, path)
	ctx := t.Context()
	writePair := func(i int) {
		a, b := pod(fmt.Sprint("a", i), uid(2*i)), pod(fmt.Sprint("b", i), uid(2*i+1))
		d := time.Duration(i) * time.Second
		if err := w.Write(ctx, []history.Entry{change(d, scalehist.OpAdd, a), change(d, scalehist.OpAdd, b)}); err != nil {
			t.Error(err)
		}
	}
	writePair(0)
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		i := 1
		for ; ; i++ {
			select {
			case <-stop:
				done <- i
				return
			default:
				if i == 300 { // enough to have been at work while copies were made
					<-stop
					done <- i
					return
				}
				writePair(i)
			}
		}
	}()
	var sizes []int
	for n := range 5 {
		copied := filepath.Join(t.TempDir(), fmt.Sprintf("copy%d.db", n))
		if err := reopen(t, path).CopyTo(ctx, copied); err != nil {
			t.Fatal(err)
		}
		db := reopen(t, copied)
		_, end := db.Span()
		pods := len(snapshotAt(t, db, end.Sub(start)).Objects.Pods)
		if pods%2 != 0 || pods == 0 {
			t.Errorf("copy %d has %d pods: half a transaction", n, pods)
		}
		sizes = append(sizes, pods)
		if err := db.Check(ctx); err != nil {
			t.Error(err)
		}
		if err := reopen(t, path).CopyTo(ctx, copied); !errors.As(err, new(*dbfile.ExistsError)) {
			t.Errorf("over an existing file: %v", err)
		}
		window := filepath.Join(t.TempDir(), "window.db")
		if err := transfer.Cut(ctx, path, window, start, start); err != nil {
			t.Fatal(err)
		}
		if got := len(snapshotAt(t, reopen(t, window), 0).Objects.Pods); got != 2 {
			t.Errorf("window: %d pods", got)
		}
	}
	close(stop)
	if written := 2 * <-done; sizes[len(sizes)-1] > written {
		t.Errorf("%d pods of %d", sizes[len(sizes)-1], written)
	}
}
