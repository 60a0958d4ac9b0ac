package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSteps: a file is synced before it takes a name, and the folder after it.
func TestSteps(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(path(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []Event
	Observe(func(e Event) { got = append(got, e) })
	defer Observe(nil)
	if err := errors.Join(Replace(path("a"), path("b")), Link(path("b"), path("c")), Remove(path("b"), path("none"))); err != nil {
		t.Fatal(err)
	}
	if err := Link(path("c"), path("c")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name that is taken: %v", err)
	}
	want := []Event{
		{Op: Synced, Path: path("a")}, {Op: Renamed, Path: path("a"), To: path("b")}, {Op: FolderSynced, Path: dir},
		{Op: Linked, Path: path("b"), To: path("c")}, {Op: FolderSynced, Path: dir},
		{Op: Removed, Path: path("b")}, {Op: FolderSynced, Path: dir},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if b, err := os.ReadFile(path("c")); err != nil || string(b) != "a" {
		t.Errorf("c holds %q, %v", b, err)
	}
	if _, err := os.Stat(path("b")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("b is still there: %v", err)
	}
}
