package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/powercut"
)

// cut is what a power cut left, and what is known of the moment.
type cut struct {
	dir string
	// begun: the recording had; promised is the number of batches before the last sign of life, written that of all.
	begun             bool
	promised, written int
}

const podsOfBatch = 10

// batch is the i-th: pods that come, with much text so that the log is checkpointed often, and some that go.
func batch(i int) []history.Entry {
	when := time.Duration(i) * time.Second
	var out []history.Entry
	for j := range podsOfBatch {
		out = append(out, change(when, scalehist.OpAdd, pod(fmt.Sprintf("p-%d-%d", i, j), uid(i*podsOfBatch+j), func(p *corev1.Pod) {
			p.Labels = map[string]string{}
			for k := range 90 {
				p.Labels[fmt.Sprintf("l-%d-%d-%d", i, j, k)] = strings.Repeat(fmt.Sprint(k%10), 60)
			}
		})))
	}
	for j := 0; i > 3 && j < podsOfBatch; j += 2 {
		out = append(out, change(when, scalehist.OpDelete, pod(fmt.Sprintf("p-%d-%d", i-3, j), uid((i-3)*podsOfBatch+j))))
	}
	return out
}

// podsAfter are the names of the pods after so many batches.
func podsAfter(n int) []string {
	var out []string
	for i := 1; i <= n; i++ {
		for j := range podsOfBatch {
			if gone := j%2 == 0 && i+3 <= n; !gone {
				out = append(out, fmt.Sprintf("p-%d-%d", i, j))
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestPowerCut: whatever a power cut leaves of what was not synced, the history opens, is whole, and holds all batches up
// to one of them: at least those before the last sign of life. A recorder continues it, and what is lost lies in a gap.
//
//scalehist:unraced
func TestPowerCut(t *testing.T) {
	const batches, cuts = 60, 36
	random := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // a test's
	dir := t.TempDir()
	disk := powercut.Watch(t, dir)
	var all []cut
	now := cut{}
	look := func(chance int) {
		if random.IntN(chance) > 0 || len(all) >= cuts {
			return
		}
		c := now
		c.dir = t.TempDir()
		if err := disk.Cut(c.dir, random); err != nil {
			t.Error(err)
		}
		all = append(all, c)
	}
	disk.Each(func() { look(6) }) // what makes a new file is short
	w := create(t, filepath.Join(dir, "h.db"))
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	now.begun = true
	disk.Each(func() { look(150) })
	for i := 1; i <= batches; i++ {
		now.written = i
		if err := w.Write(t.Context(), batch(i)); err != nil {
			t.Fatal(err)
		}
		if i%5 > 0 {
			continue
		}
		if err := w.Alive(t.Context(), at(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
		now.promised = i
		look(1)
	}
	disk.Each(nil)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	closed := cut{dir: t.TempDir(), begun: true, promised: batches, written: batches}
	if err := disk.Cut(closed.dir, nil); err != nil {
		t.Fatal(err)
	}
	lost, fresh := 0, 0
	for i, c := range append(all, closed) {
		kept, ok := c.check(t)
		if t.Failed() {
			t.Fatalf("cut %d of %d: %+v", i, len(all), c)
		}
		lost += c.written - kept
		if !ok {
			fresh++
		}
	}
	t.Logf("%d cuts, %d of them before there was a history, %d batches lost in all", len(all), fresh, lost)
	if lost == 0 {
		t.Error("nothing was ever lost: the cuts cut nothing")
	}
}

// check says how many batches are left, and whether there is a history.
func (c cut) check(t *testing.T) (kept int, ok bool) {
	t.Helper()
	path := filepath.Join(c.dir, "h.db")
	db, err := history.Open(t.Context(), path)
	var missing *dbfile.MissingError
	var empty *dbfile.EmptyError
	if err != nil && (c.begun || !errors.As(err, &missing) && !errors.As(err, &empty)) {
		t.Errorf("after the cut: %v", err)
		return 0, false
	}
	if ok = err == nil; ok {
		if err := db.Check(t.Context()); err != nil {
			t.Error(err)
		}
		_, to := db.Span()
		kept = int(to.Sub(start) / time.Second)
		if kept < c.promised || kept > c.written {
			t.Errorf("%d batches are left, want from %d to %d", kept, c.promised, c.written)
		}
		var got []string
		for _, p := range snapshotAt(t, db, to.Sub(start)).Objects.Pods {
			got = append(got, p.Name)
		}
		slices.Sort(got)
		if diff := cmp.Diff(podsAfter(kept), got); diff != "" {
			t.Errorf("pods after %d batches (-written +left):\n%s", kept, diff)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	c.goOn(t, path, ok)
	return kept, ok
}

// goOn records on, an hour later.
func (c cut) goOn(t *testing.T, path string, wantGap bool) {
	t.Helper()
	w := create(t, path)
	if _, err := w.Begin(t.Context(), at(time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.End(t.Context(), at(2*time.Hour)), w.Close()); err != nil {
		t.Fatal(err)
	}
	gaps, err := reopen(t, path).Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !wantGap:
	case len(gaps) != 1 || !gaps[0].To.Equal(at(time.Hour)):
		t.Errorf("gaps %+v, want one until the recording that continues", gaps)
	case gaps[0].From.After(at(time.Duration(c.written) * time.Second)):
		t.Errorf("the gap begins at %s, after all that was written", gaps[0].From)
	}
}
