package history_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/powercut"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// logSuffixes are of the files from which SQLite takes what is not in a database yet.
var logSuffixes = []string{"", "-wal", "-journal"}

// leftBehind are ways in which a recorder may have left its file, each makes h.db in a folder.
var leftBehind = map[string]func(t *testing.T, dir string){
	"closed": func(t *testing.T, dir string) {
		w := recordSome(t, filepath.Join(dir, "h.db"))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	},
	"killed": func(t *testing.T, dir string) { // all but the schema is in the log
		from := t.TempDir()
		recordSome(t, filepath.Join(from, "h.db"))
		copyLogs(t, from, dir)
	},
	"killed while it closed": func(t *testing.T, dir string) {
		from := t.TempDir()
		disk := powercut.Watch(t, from)
		w := recordSome(t, filepath.Join(from, "h.db"))
		found := false
		disk.Each(func() {
			if b, err := os.ReadFile(filepath.Join(from, "h.db-journal")); err == nil && len(b) > 512 && !found {
				found = true
				copyLogs(t, from, dir)
			}
		})
		err := w.Close()
		disk.Each(nil)
		if err != nil || !found {
			t.Fatalf("closed with %v, and a journal was seen: %t", err, found)
		}
	},
}

// recordSome records pods that come, and some that are removed.
func recordSome(t *testing.T, path string) *history.Writer {
	w := create(t, path)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		entries := []history.Entry{change(time.Duration(i)*time.Minute, scalehist.OpAdd, pod(fmt.Sprint("p-", i), uid(i)))}
		if i > 1 {
			entries = append(entries, change(time.Duration(i)*time.Minute, scalehist.OpDelete, pod(fmt.Sprint("p-", i-2), uid(i-2))))
		}
		if err := w.Write(t.Context(), entries); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Alive(t.Context(), at(10*time.Minute)); err != nil {
		t.Fatal(err)
	}
	return w
}

// copyLogs copies what a process that is killed leaves.
func copyLogs(t *testing.T, from, to string) {
	t.Helper()
	for _, suffix := range logSuffixes {
		b, err := os.ReadFile(filepath.Join(from, "h.db"+suffix))
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, "h.db"+suffix), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestPowerCutWhileReplaced: a history that is rewritten or replaced is the old one or the new one, whole, wherever the power
// is cut. It looks at every change of a file and of the folder, and at all combinations of what was not synced there.
//
//scalehist:unraced
func TestPowerCutWhileReplaced(t *testing.T) {
	other := exported(t, write(t, change(0, scalehist.OpAdd, pod("other", uid(99))), change(time.Hour, scalehist.OpDelete, pod("other", uid(99)))))
	for name, replace := range map[string]func(t *testing.T, path string) error{
		"retain": func(t *testing.T, path string) error {
			_, _, err := history.Retain(t.Context(), path, at(4*time.Minute))
			return err
		},
		"compact": func(t *testing.T, path string) error {
			_, err := history.Compact(t.Context(), path)
			return err
		},
		"import": func(t *testing.T, path string) error {
			_, err := transfer.Import(t.Context(), strings.NewReader(other), path, transfer.ImportOptions{Name: "other", Force: true})
			return err
		},
	} {
		for left, leave := range leftBehind {
			t.Run(name+"/"+left, func(t *testing.T) {
				dir := t.TempDir()
				leave(t, dir)
				path := filepath.Join(dir, "h.db")
				was := exported(t, reopen(t, path))
				disk := powercut.Watch(t, dir)
				states := watchStates(disk)
				if err := replace(t, path); err != nil {
					t.Fatal(err)
				}
				disk.Each(nil)
				is := exported(t, reopen(t, path))
				if name != "compact" && was == is {
					t.Fatal("nothing was replaced")
				}
				olds, news := 0, 0
				all, last := states()
				for _, s := range last {
					if s.content(t, true) != is {
						t.Errorf("it ended, and a power cut can leave %s, which is not the new content", s)
					}
				}
				for i, s := range all {
					switch s.content(t, i%8 == 0) {
					case was:
						olds++
					case is:
						news++
					default:
						t.Errorf("state %d, %s: neither the old nor the new content", i, s)
					}
				}
				if olds == 0 || name != "compact" && news == 0 {
					t.Errorf("%d states with the old content and %d with the new one: the cuts are at the wrong places", olds, news)
				}
				t.Logf("%d states with the old content, %d with the new one", olds, news)
			})
		}
	}
}

// TestPowerCutWhileMade: a history that is imported where a removed one left its logs is there, whole, or not there, wherever the
// power is cut.
func TestPowerCutWhileMade(t *testing.T) {
	dir := t.TempDir()
	leftBehind["killed"](t, dir)
	path := filepath.Join(dir, "h.db")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	log := exported(t, write(t, change(0, scalehist.OpAdd, pod("other", uid(99))), change(time.Hour, scalehist.OpDelete, pod("other", uid(99)))))
	disk := powercut.Watch(t, dir)
	states := watchStates(disk)
	if _, err := transfer.Import(t.Context(), strings.NewReader(log), path, transfer.ImportOptions{Name: "other"}); err != nil {
		t.Fatal(err)
	}
	disk.Each(nil)
	all, last := states()
	for i, s := range all {
		if _, there := s["h.db"]; !there {
			continue
		}
		if got := s.content(t, true); got != log {
			t.Errorf("state %d, %s: not what was imported, but\n%.300s", i, s, got)
		}
	}
	for _, s := range last {
		if s["h.db"] == nil {
			t.Errorf("the import ended, and a power cut can leave %q", s)
		}
	}
}

// state is what a power cut may leave of h.db and its logs, by their names.
type state map[string][]byte

func (s state) String() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(out, fmt.Sprintf("%s of %d bytes", name, len(s[name])))
	}
	return strings.Join(out, ", ")
}

// watchStates collects all different states from now on, until it is asked for them; last are those after the last change.
func watchStates(disk *powercut.Disk) func() (all, last []state) {
	random := rand.New(rand.NewPCG(1, 0)) //nolint:gosec // a test's
	var all []state
	known := map[[sha256.Size]byte]bool{}
	look := func() {
		for _, left := range disk.Outcomes("h.db", random) {
			h, s := sha256.New(), state{}
			for _, suffix := range logSuffixes {
				if b, there := left["h.db"+suffix]; there {
					s["h.db"+suffix] = b
					fmt.Fprintf(h, "%s %d\n", suffix, len(b))
					h.Write(b)
				}
			}
			if sum := [sha256.Size]byte(h.Sum(nil)); !known[sum] {
				known[sum] = true
				all = append(all, s)
			}
		}
	}
	look()
	disk.Each(look)
	return func() (_, last []state) {
		disk.Each(nil)
		clear(known)
		n := len(all)
		look()
		return all[:n], all[n:]
	}
}

// content is the object log of what a state holds: as a reader sees it, and if asked for after a compact as well.
func (s state) content(t *testing.T, compact bool) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range s {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "h.db")
	read := func() (string, error) {
		db, err := history.Open(t.Context(), path)
		if err != nil {
			return "", err
		}
		defer db.Close()
		if err := db.Check(t.Context()); err != nil {
			return "", err
		}
		return exported(t, db), nil
	}
	before, err := read()
	if err != nil {
		t.Errorf("%s: %v", s, err)
		return ""
	}
	if !compact {
		return before
	}
	if _, err := history.Compact(t.Context(), path); err != nil {
		t.Errorf("%s: compact: %v", s, err)
		return ""
	}
	if after, err := read(); err != nil || after != before {
		t.Errorf("%s: compact changed it (%v)", s, err)
	}
	return before
}
