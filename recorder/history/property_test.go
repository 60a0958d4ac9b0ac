package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// life draws a random object life: pods, nodes and node groups that come, change, go and come back under their names,
// often within one instant.
type life struct {
	entries []history.Entry
	// states are the model's facts after each instant, in time order.
	times  []time.Duration
	states [][]string
}

func drawLife(t *rapid.T) life {
	var l life
	m := newModel()
	uids := 0
	current := map[string]types.UID{}
	now := time.Duration(0)
	steps := rapid.IntRange(1, 25).Draw(t, "steps")
	for range steps {
		now += time.Duration(rapid.SampledFrom([]int64{0, 0, 1, int64(time.Second), int64(time.Hour)}).Draw(t, "pause"))
		kind := rapid.SampledFrom([]string{"pod", "node", "group"}).Draw(t, "kind")
		name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
		withUID := kind != "group"
		id, alive := current[kind+name]
		op := rapid.SampledFrom([]scalehist.Op{scalehist.OpAdd, scalehist.OpUpdate, scalehist.OpUpdate, scalehist.OpDelete}).Draw(t, "op")
		if !alive {
			if op == scalehist.OpDelete {
				continue // ignored by the store; has a test of its own
			}
			op = scalehist.OpAdd
			uids++
			id = uid(uids)
			current[kind+name] = id
		}
		if !withUID {
			id = ""
		}
		o := drawObject(t, kind, name, id)
		if op == scalehist.OpDelete {
			delete(current, kind+name)
		}
		l.entries = append(l.entries, change(now, op, o))
		m.apply(op, o)
		if n := len(l.times); n > 0 && l.times[n-1] == now {
			l.states[n-1] = m.facts()
			continue
		}
		l.times, l.states = append(l.times, now), append(l.states, m.facts())
	}
	return l
}

func drawObject(t *rapid.T, kind, name string, id types.UID) scalehist.Object {
	n := rapid.IntRange(0, 3).Draw(t, "variant")
	switch kind {
	case "node":
		return node(name, id, func(o *corev1.Node) {
			o.Spec.Unschedulable = n == 1
			for i := range n {
				o.Spec.Taints = append(o.Spec.Taints, corev1.Taint{Key: fmt.Sprint("k", i), Effect: corev1.TaintEffectNoSchedule})
			}
		})
	case "group":
		return nodeGroup(name, int32(n))
	}
	return pod(name, id, func(o *corev1.Pod) {
		o.Labels["variant"] = fmt.Sprint(n % 2)
		if n > 0 {
			bound(fmt.Sprint("n", n))(o)
		}
		if n > 1 {
			running(o)
		}
		if n > 2 {
			terminating(o)
		}
		if id[len(id)-1]%2 == 0 { // a log may not say; an object's creation never changes
			o.CreationTimestamp = metav1.Time{}
		}
	})
}

// writeLife writes a life in random batches and gives the file.
func writeLife(t *rapid.T, tb testing.TB, l life) string {
	dir, err := os.MkdirTemp(tb.TempDir(), "life")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "h.db")
	ctx := tb.Context()
	w, err := history.Create(ctx, path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(ctx, start, nil); err != nil {
		t.Fatal(err)
	}
	for rest := l.entries; len(rest) > 0; {
		n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
		if err := w.Write(ctx, rest[:n]); err != nil {
			t.Fatal(err)
		}
		if rapid.IntRange(0, 7).Draw(t, "reopen") == 7 { // a restarted recorder goes on where the other stopped
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if w, err = history.Create(ctx, path, history.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		rest = rest[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func openLife(t *rapid.T, tb testing.TB, path string) *history.DB {
	db, err := history.Open(tb.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mustSnapshot(t *rapid.T, tb testing.TB, db *history.DB, when time.Time) *scalehist.ClusterSnapshot {
	s, err := db.SnapshotAt(tb.Context(), when)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustHash(t *rapid.T, tb testing.TB, db *history.DB) string {
	h, err := db.Hash(tb.Context())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// For any life and any instant, SnapshotAt is what lived then; and the state at one instant plus the changes since is
// the state at a later one.
//
//scalehist:unraced
func TestSnapshotIsTheLiveState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := drawLife(r)
		if len(l.entries) == 0 {
			return
		}
		db := openLife(r, t, writeLife(r, t, l))
		for i, when := range l.times {
			if diff := cmp.Diff(l.states[i], factsOf(mustSnapshot(r, t, db, at(when)))); diff != "" {
				r.Fatalf("at %s (-model +history):\n%s", when, diff)
			}
			before := []string(nil)
			if i > 0 {
				before = l.states[i-1]
			}
			if diff := cmp.Diff(before, factsOf(mustSnapshot(r, t, db, at(when-1)))); diff != "" {
				r.Fatalf("just before %s (-model +history):\n%s", when, diff)
			}
		}
		from := rapid.IntRange(0, len(l.times)-1).Draw(r, "from")
		to := rapid.IntRange(from, len(l.times)-1).Draw(r, "to")
		m := newModel()
		for _, o := range everything(mustSnapshot(r, t, db, at(l.times[from]))) {
			m.apply(scalehist.OpAdd, o)
		}
		for c, err := range db.Changes(t.Context(), at(l.times[from]), at(l.times[to])) {
			if err != nil {
				r.Fatal(err)
			}
			m.apply(c.Op, withoutSynthetic(c.Object))
		}
		if diff := cmp.Diff(l.states[to], m.facts()); diff != "" {
			r.Fatalf("changes from %s to %s (-model +history):\n%s", l.times[from], l.times[to], diff)
		}
	})
}

// A log imports to the same content, byte for byte in its own export; a window of it holds the same states.
//
//scalehist:unraced
func TestExportImportRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := drawLife(r)
		if len(l.entries) == 0 {
			return
		}
		path := writeLife(r, t, l)
		db := openLife(r, t, path)
		var out bytes.Buffer
		compress := rapid.Bool().Draw(r, "gzip")
		if err := transfer.Export(t.Context(), db, &out, time.Time{}, time.Time{}, transfer.ExportOptions{Gzip: compress}); err != nil {
			r.Fatal(err)
		}
		copied := filepath.Join(filepath.Dir(path), "copy.db")
		report, err := transfer.Import(t.Context(), &out, copied, transfer.ImportOptions{Name: "log"})
		if err != nil {
			r.Fatal(err)
		}
		if slices.ContainsFunc(report.Warnings, func(w string) bool { return true }) {
			r.Fatalf("import warns: %q", report.Warnings)
		}
		again := openLife(r, t, copied)
		if got, want := mustHash(r, t, again), mustHash(r, t, db); got != want {
			r.Fatalf("hash after the round trip %s, want %s", got, want)
		}
		for i, when := range l.times {
			if diff := cmp.Diff(l.states[i], factsOf(mustSnapshot(r, t, again, at(when)))); diff != "" {
				r.Fatalf("copy at %s (-model +history):\n%s", when, diff)
			}
		}
	})
}

// A window holds the states of its source.
//
//scalehist:unraced
func TestCutHoldsTheSameStates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		l := drawLife(r)
		if len(l.entries) == 0 {
			return
		}
		path := writeLife(r, t, l)
		cutFrom := rapid.IntRange(0, len(l.times)-1).Draw(r, "cut")
		cut := filepath.Join(filepath.Dir(path), "cut.db")
		if err := transfer.Cut(t.Context(), path, cut, at(l.times[cutFrom]), time.Time{}); err != nil {
			r.Fatal(err)
		}
		window := openLife(r, t, cut)
		for i, when := range l.times {
			if i < cutFrom {
				continue
			}
			if diff := cmp.Diff(l.states[i], factsOf(mustSnapshot(r, t, window, at(when)))); diff != "" {
				r.Fatalf("cut from %s at %s (-model +history):\n%s", l.times[cutFrom], when, diff)
			}
		}
	})
}
