package home

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
)

// stranger is a uid that is neither root's nor ours.
const stranger = 54321

// give makes path another user's.
func give(t *testing.T, path string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away; CI runs as root")
	}
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
}

// orphan makes what reaping removes from root: the folder of an owner that is dead. It returns a file in it.
func orphan(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(root, "123")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "owner")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestForeignRootsAreRefusedAndLeftAlone: somebody took the name first. Nothing behind it is removed or used.
func TestForeignRootsAreRefusedAndLeftAlone(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, root string) (victim string){
		"a link": func(t *testing.T, root string) string {
			elsewhere := t.TempDir()
			if err := os.Symlink(elsewhere, root); err != nil {
				t.Fatal(err)
			}
			return orphan(t, elsewhere)
		},
		"another user's folder": func(t *testing.T, root string) string {
			victim := orphan(t, root)
			give(t, root)
			return victim
		},
		"a folder all may write to": func(t *testing.T, root string) string {
			victim := orphan(t, root)
			if err := os.Chmod(root, 0o777); err != nil {
				t.Fatal(err)
			}
			return victim
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := filepath.Join(t.TempDir(), "root")
			victim := plant(t, root)
			h, err := newIn(t.Context(), []string{root})
			if err == nil {
				t.Errorf("made %s in it", h.Dir)
				_ = h.Remove()
			} else if !strings.Contains(err.Error(), root+" ") || !strings.Contains(err.Error(), "TMPDIR") {
				t.Errorf("error %q does not name the folder and what to do", err)
			}
			if !exists(victim) {
				t.Errorf("%s was removed", victim)
			}
		})
	}
}

// TestAForeignRootDoesNotLockOut: a user who takes one name first does not keep others from working.
func TestAForeignRootDoesNotLockOut(t *testing.T) {
	taken, free := filepath.Join(t.TempDir(), "taken"), filepath.Join(t.TempDir(), "free")
	elsewhere := t.TempDir()
	victim := orphan(t, elsewhere)
	if err := os.Symlink(elsewhere, taken); err != nil {
		t.Fatal(err)
	}
	for _, roots := range [][]string{{taken, free}, {free, taken}} {
		h, err := newIn(t.Context(), roots)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(h.Dir) != free {
			t.Errorf("made %s, want it in %s", h.Dir, free)
		}
		if err := h.Remove(); err != nil {
			t.Error(err)
		}
		if !exists(victim) {
			t.Errorf("%s was removed", victim)
		}
	}
}

// TestReapingLeavesWhatIsNotOurs: links and folders of others inside the root stay, and nothing behind them is locked.
func TestReapingLeavesWhatIsNotOurs(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	victim := orphan(t, elsewhere)

	linked := filepath.Join(root, "link") // to a folder that looks like an orphan
	if err := os.Symlink(filepath.Dir(victim), linked); err != nil {
		t.Fatal(err)
	}
	lockedThere := filepath.Join(root, "owned-elsewhere") // its owner file is a link out of the root
	if err := os.Mkdir(lockedThere, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(lockedThere, "owner")); err != nil {
		t.Fatal(err)
	}
	ours := filepath.Join(root, "orphan") // ours, with a link in it that must not be followed
	if err := os.Mkdir(ours, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ours, "owner"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(ours, "data")); err != nil {
		t.Fatal(err)
	}
	left := []string{victim, linked, lockedThere}
	if os.Geteuid() == 0 { // only root can make this one
		theirs := filepath.Dir(orphan(t, filepath.Join(root)))
		give(t, theirs)
		left = append(left, theirs)
	}

	h, err := newIn(t.Context(), []string{root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Remove() }()
	for _, path := range left {
		if !exists(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if exists(ours) {
		t.Errorf("%s is left", ours)
	}
	l := flock.New(victim)
	if ok, err := l.TryLock(); err != nil || !ok {
		t.Errorf("lock of %s: %v, %v", victim, ok, err)
	}
	_ = l.Close()
}
