package observed_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// start is where the tests' histories begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

// uid gives the n-th UUID.
func uid(n int) types.UID { return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", n)) }

func nodeGroup(name string, target int32) *v1alpha1.NodeGroup {
	g := &v1alpha1.NodeGroup{Spec: v1alpha1.NodeGroupSpec{MaxSize: 9, TargetSize: target}}
	g.Name = name
	return g
}

// change is one entry, seen at start plus d.
func change(d time.Duration, op scalehist.Op, o scalehist.Object) history.Entry {
	return history.Entry{ObservedAt: at(d), Change: scalehist.Change{Op: op, Object: o}}
}

// write makes a history of one recording of an hour with the entries, each in a transaction of its own.
func write(t *testing.T, entries ...history.Entry) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Write(t.Context(), []history.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(t.Context(), at(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *history.DB {
	t.Helper()
	db, err := history.Open(t.Context(), path)
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
