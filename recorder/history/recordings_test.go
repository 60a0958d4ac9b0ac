package history_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// realRecordings are the fixtures that others recorded.
func realRecordings(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "fixtures", "*", "recording.db"))
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool {
		origin, err := open(t, path).Origin(t.Context())
		return err != nil || origin == scalehist.OriginScripted
	})
	if len(paths) == 0 {
		t.Fatal("no fixture is a real recording")
	}
	return paths
}

// exported writes the object log of a fixture.
func objectLog(t *testing.T, path string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "recording.jsonl")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(transfer.Export(t.Context(), open(t, path), f, time.Time{}, time.Time{}, transfer.ExportOptions{}), f.Close()); err != nil {
		t.Fatal(err)
	}
	return log
}

func importFile(t *testing.T, path string) *history.DB {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return importLog(t, f, path)
}

func importLog(t *testing.T, r io.Reader, name string) *history.DB {
	t.Helper()
	dst := filepath.Join(t.TempDir(), "h.db")
	report, err := transfer.Import(t.Context(), r, dst, transfer.ImportOptions{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Warnings) > 0 {
		t.Errorf("import of %s warns: %q", name, report.Warnings)
	}
	return open(t, dst)
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

// instants counts those in which something happens.
func instants(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := objectlog.NewReader(f, path)
	if err != nil {
		t.Fatal(err)
	}
	n, last := 0, time.Time{}
	for {
		l, err := r.Read()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		if !l.At.Equal(last) {
			n, last = n+1, l.At
		}
	}
}

// TestRecordingsImportWithoutLoss replays the object log of each real recording into a plain map, line by line, and compares what
// lives at the end of about 100 instants, the last one among them, with SnapshotAt of a history that was imported from it: no
// object, node name, phase or target size is lost on the way. The import has the content of the fixture.
func TestRecordingsImportWithoutLoss(t *testing.T) {
	for _, fixture := range realRecordings(t) {
		t.Run(filepath.Base(filepath.Dir(fixture)), func(t *testing.T) {
			t.Parallel()
			path := objectLog(t, fixture)
			db := importFile(t, path)
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := objectlog.NewReader(f, path)
			if err != nil {
				t.Fatal(err)
			}
			model := newModel()
			events, occurrences := map[string]bool{}, 0
			stride, instant := max(1, instants(t, path)/100), -1
			var pending []objectlog.Line
			check := func(last bool) {
				if len(pending) == 0 {
					return
				}
				at := pending[0].At
				for _, l := range pending {
					if l.Object.GetObjectKind().GroupVersionKind().Kind == "Event" {
						events[l.Object.GetNamespace()+"/"+l.Object.GetName()] = true
						occurrences++
						continue
					}
					if _, mark := l.Object.(*objectlog.Recording); mark {
						continue
					}
					if strings.Contains(string(l.Object.GetUID()), "#") { // made up by an import, as a snapshot knows
						l.Object.SetUID("")
					}
					model.apply(l.Op, l.Object)
				}
				pending = nil
				if instant++; instant%stride != 0 && !last {
					return
				}
				s, err := db.SnapshotAt(t.Context(), at)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(model.facts(), factsOf(s)); diff != "" {
					t.Fatalf("at %s (-log +history):\n%s", at, diff)
				}
			}
			for {
				l, err := r.Read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(pending) > 0 && !l.At.Equal(pending[0].At) {
					check(false)
				}
				pending = append(pending, l)
			}
			check(true)
			got, err := db.Events(t.Context(), history.EventFilter{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(events) {
				t.Errorf("events: got %d, want %d", len(got), len(events))
			}
			wantHash, err := open(t, fixture).Hash(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if gotHash, err := db.Hash(t.Context()); err != nil || gotHash != wantHash {
				t.Errorf("round trip: hash %s, want %s (%v)", gotHash, wantHash, err)
			}
		})
	}
}
