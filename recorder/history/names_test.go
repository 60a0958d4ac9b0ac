package history_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// names are other names of the file at path, each made in a way of its own: links that are absolute, relative, to a link,
// and through a folder that is one.
func names(t *testing.T, path string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	relative, err := filepath.Rel(dir, path)
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"absolute.db": path, "relative.db": relative, "second.db": "absolute.db", "folder": filepath.Dir(path)} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{
		"an absolute link": in("absolute.db"), "a relative link": in("relative.db"), "a link to a link": in("second.db"),
		"a link to the folder": filepath.Join(in("folder"), filepath.Base(path)), "the file": path,
	}
}

// TestOneWriterThroughAnyName: whichever two names are used, the second writer is refused.
func TestOneWriterThroughAnyName(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, nodeGroup("a", 1)))
	all := names(t, path)
	for first, held := range all {
		w := create(t, held)
		for second, name := range all {
			again, err := history.Create(t.Context(), name, history.Options{})
			var locked *dbfile.LockedError
			if !errors.As(err, &locked) || locked.PID != os.Getpid() || locked.Path != name {
				t.Errorf("written through %s, and again through %s: %v, want a LockedError about that name", first, second, err)
			}
			if again != nil {
				_ = again.Close()
			}
			for what, rewrite := range map[string]func() error{
				"compact": func() error { _, err := history.Compact(t.Context(), name); return err },
				"retain":  func() error { _, _, err := history.Retain(t.Context(), name, start); return err },
				"import": func() error {
					_, err := transfer.Import(t.Context(), strings.NewReader(`{"at":"2024-05-28T10:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}}`),
						name, transfer.ImportOptions{Name: "log", Force: true})
					return err
				},
			} {
				if err := rewrite(); !errors.As(err, &locked) {
					t.Errorf("written through %s, %s through %s: %v, want a LockedError", first, what, second, err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestALinkToNothingIsWrittenThrough: the file comes to be where the link points, and is locked there.
func TestALinkToNothingIsWrittenThrough(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "h.db"), filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	w := create(t, link)
	var locked *dbfile.LockedError
	if again, err := history.Create(t.Context(), path, history.Options{}); !errors.As(err, &locked) {
		t.Errorf("through the file: %v, want a LockedError", err)
		if again != nil {
			_ = again.Close()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"link.db"}, entryNames(t, filepath.Dir(link))); diff != "" {
		t.Errorf("beside the link (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("beside the file (-want +got):\n%s", diff)
	}
}

// TestReadersSeeWhatIsWrittenThroughAnyName: also what is in the log only, and while the writer is at work.
func TestReadersSeeWhatIsWrittenThroughAnyName(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, nodeGroup("a", 1)))
	all := names(t, path)
	w := create(t, all["a relative link"])
	if err := w.Write(t.Context(), []history.Entry{change(2*time.Hour, scalehist.OpAdd, nodeGroup("b", 1))}); err != nil {
		t.Fatal(err)
	}
	for name, p := range all {
		db := reopen(t, p)
		if db.Path() != p {
			t.Errorf("path %s, want it as it was given", db.Path())
		}
		var groups []string
		for _, g := range snapshotAt(t, db, 2*time.Hour).NodeGroups {
			groups = append(groups, g.Name)
		}
		slices.Sort(groups)
		if diff := cmp.Diff([]string{"a", "b"}, groups); diff != "" {
			t.Errorf("through %s (-want +got):\n%s", name, diff)
		}
	}
}

// TestRewritingKeepsLinks: compact, retain and a forced import replace the file, and the links still lead to it.
func TestRewritingKeepsLinks(t *testing.T) {
	for what, rewrite := range map[string]func(t *testing.T, path string) error{
		"compact": func(t *testing.T, p string) error { _, err := history.Compact(t.Context(), p); return err },
		"retain": func(t *testing.T, p string) error {
			_, _, err := history.Retain(t.Context(), p, at(time.Second))
			return err
		},
		"import": func(t *testing.T, p string) error {
			log := strings.NewReader(exported(t, reopen(t, p)))
			_, err := transfer.Import(t.Context(), log, p, transfer.ImportOptions{Name: "log", Force: true})
			return err
		},
	} {
		for name, mode := range map[string]os.FileMode{"an absolute link": 0o640, "a relative link": 0o644, "a link to a link": 0o644} {
			t.Run(what+" through "+name, func(t *testing.T) {
				path := writeFile(t, change(0, scalehist.OpAdd, nodeGroup("a", 1)), change(time.Second, scalehist.OpUpdate, nodeGroup("a", 2)))
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				before, err := os.Stat(path)
				if err != nil {
					t.Fatal(err)
				}
				link := names(t, path)[name]
				beside := entryNames(t, filepath.Dir(link))
				if err := rewrite(t, link); err != nil {
					t.Fatal(err)
				}
				after, err := os.Lstat(path)
				if err != nil || os.SameFile(before, after) || !after.Mode().IsRegular() {
					t.Errorf("the file was not replaced: %v, %v", after, err)
				}
				if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("the link became %v, %v", info, err)
				}
				if diff := cmp.Diff(beside, entryNames(t, filepath.Dir(link))); diff != "" {
					t.Errorf("beside the link (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
					t.Errorf("beside the file (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestHardLinksAreNotWrittenThrough: SQLite's log has the name of one of them, so the others would show old data.
func TestHardLinksAreNotWrittenThrough(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, nodeGroup("a", 1)))
	other := filepath.Join(t.TempDir(), "other.db")
	if err := os.Link(path, other); err != nil {
		t.Skip("no hard links here:", err)
	}
	for _, name := range []string{path, other} {
		var linked *dbfile.LinkedError
		w, err := history.Create(t.Context(), name, history.Options{})
		if !errors.As(err, &linked) || linked.Path != name || linked.Names != 2 {
			t.Errorf("%s: %v, want a LinkedError", name, err)
		}
		if w != nil {
			_ = w.Close()
		}
		if diff := cmp.Diff(1, len(entryNames(t, filepath.Dir(name)))); diff != "" {
			t.Errorf("something is left beside %s", name)
		}
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	create(t, path)
}
