package history

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestGrowGap: a gap that is noted again grows, and one that follows its like is the same.
func TestGrowGap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := Create(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	gap := func(from, to int, kind, why string) Gap {
		return Gap{From: start.Add(time.Duration(from) * time.Second), To: start.Add(time.Duration(to) * time.Second), Kinds: []string{kind}, Why: why}
	}
	for _, g := range []Gap{
		gap(1, 2, "Pod", "down"), gap(1, 5, "Pod", "down"), gap(1, 4, "Pod", "resumed"), // one
		gap(7, 8, "Pod", "down"),                               // another
		gap(5, 6, "Node", "lists"), gap(6, 9, "Node", "lists"), // one
		gap(9, 9, "Node", "down"),
	} {
		if err := w.GrowGap(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.GrowGap(t.Context(), gap(2, 1, "Pod", "x")); err == nil {
		t.Error("a gap that ends before it begins: no error")
	}
	if err := w.SetMeta(t.Context(), "k", "v1"); err != nil {
		t.Fatal(err)
	}
	if err := w.SetMeta(t.Context(), "k", "v2"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.End(t.Context(), start.Add(time.Minute)), w.Close()); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err := db.Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	want := []Gap{gap(1, 5, "Pod", "resumed"), gap(5, 9, "Node", "lists"), gap(7, 8, "Pod", "down"), gap(9, 9, "Node", "down")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
	meta, err := db.Meta(t.Context())
	if err != nil || meta["k"] != "v2" {
		t.Errorf("meta %v, %v; want v2", meta, err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
