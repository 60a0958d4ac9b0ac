package docstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type doc struct{ N int }

func open(t *testing.T, path, kind string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestDocuments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ?state.db")
	s := open(t, path, "tests")
	if err := s.Update(t.Context(), func(tx *Tx) error {
		return errors.Join(tx.Put("b", "two", doc{2}), tx.Put("b", "one", doc{1}), tx.Put("c", "x", doc{9}), tx.Put("b", "two", doc{3}), tx.Delete("b", "absent"))
	}); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := s.Update(t.Context(), func(tx *Tx) error { return errors.Join(tx.Put("b", "lost", doc{4}), broken) }); !errors.Is(err, broken) {
		t.Errorf("an error of a transaction is lost: %v", err)
	}
	if _, err := Open(t.Context(), path, "tests"); err == nil || !strings.Contains(err.Error(), "another process has it") {
		t.Errorf("it is opened twice: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, "tests")
	if err := s.Update(t.Context(), func(tx *Tx) error {
		keys, docs, err := All[doc](tx, "b")
		if diff := cmp.Diff([]string{"one", "two"}, keys); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]doc{{1}, {3}}, docs); diff != "" {
			t.Error(diff)
		}
		var d doc
		if ok, err := tx.Get("b", "lost", &d); ok || err != nil {
			t.Errorf("what was taken back is there: %v, %v", d, err)
		}
		if ok, err := tx.Get("c", "x", &d); !ok || err != nil || d.N != 9 {
			t.Errorf("got %v, %v", d, err)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: others can read it", info.Mode(), err)
	}
}

func TestOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	if err := open(t, path, "tests").Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, "others"); err == nil || !strings.Contains(err.Error(), "the state of tests, and not of others") {
		t.Errorf("another kind: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), text, "tests"); err == nil {
		t.Error("a text is opened")
	}
	if _, err := Open(t.Context(), "no/such/folder/state.db", "tests"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
}
