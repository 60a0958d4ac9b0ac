package history_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// origin makes a history, as its maker says, and reads its origin.
func origin(t *testing.T, path string) scalehist.Origin {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	o, err := db.Origin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOrigin: a live cluster, one in virtual time and an object log differ in their origin, and what is made of a history that
// a script played stays scripted: an export that is imported, a cut, a copy. The content hash does not depend on it.
func TestOrigin(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for identity, want := range map[string]scalehist.Origin{history.VirtualIdentity: scalehist.OriginScripted, "11111111-2222-4333-8444-555555555555": scalehist.OriginRecorded} {
		dir := t.TempDir()
		path := filepath.Join(dir, "h.db")
		w, err := history.Create(t.Context(), path, history.Options{Identity: identity, Source: "recorder"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Begin(t.Context(), at, nil); err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u"}}
		if err := w.Write(t.Context(), []history.Entry{{ObservedAt: at, Change: scalehist.Change{Op: scalehist.OpAdd, Object: node}}}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.End(t.Context(), at.Add(time.Minute)), w.Close()); err != nil {
			t.Fatal(err)
		}
		if got := origin(t, path); got != want {
			t.Errorf("identity %s: origin %q, want %q", identity, got, want)
		}
		db, err := history.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		hash, err := db.Hash(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		if err := errors.Join(transfer.Export(t.Context(), db, &log, time.Time{}, time.Time{}, transfer.ExportOptions{}), db.Close()); err != nil {
			t.Fatal(err)
		}
		made := filepath.Join(dir, "imported.db")
		if _, err := transfer.Import(t.Context(), &log, made, transfer.ImportOptions{Name: "log"}); err != nil {
			t.Fatal(err)
		}
		if want == scalehist.OriginRecorded { // anybody could have written that log
			want = scalehist.OriginImported
		}
		cut, copied := filepath.Join(dir, "cut.db"), filepath.Join(dir, "copied.db")
		if err := errors.Join(transfer.Cut(t.Context(), path, cut, at, at.Add(time.Second)), reopen(t, made).CopyTo(t.Context(), copied)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{made, cut, copied} {
			if got := origin(t, path); got != want {
				t.Errorf("identity %s: origin of %s %q, want %q", identity, filepath.Base(path), got, want)
			}
		}
		if db, err = history.Open(t.Context(), made); err != nil {
			t.Fatal(err)
		}
		if again, err := db.Hash(t.Context()); err != nil || again != hash {
			t.Errorf("identity %s: hash %s after an export and an import, want %s (%v)", identity, again, hash, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
