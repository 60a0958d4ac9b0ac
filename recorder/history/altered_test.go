package history_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/observed"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// TestAlteredContentIsNotRead: one bit of a file is another, and what an object was is not what it is read as. Everything
// that shows objects refuses it; what does not look at it still reads.
func TestAlteredContentIsNotRead(t *testing.T) {
	path := writeFile(t, change(0, scalehist.OpAdd, nodeGroup("a", 1)), change(0, scalehist.OpAdd, node("n", uid(1))))
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte(`"maxSize":9`)); n != 1 {
		t.Fatalf("the size is %d times in the file, want once", n)
	}
	if err := os.WriteFile(path, bytes.Replace(b, []byte(`"maxSize":9`), []byte(`"maxSize":8`), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	for what, read := range map[string]func() error{
		"snapshot": func() error { _, err := db.SnapshotAt(t.Context(), at(time.Minute)); return err },
		"changes": func() error {
			for _, err := range db.Changes(t.Context(), time.Time{}, time.Time{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"sizes": func() error { _, err := observed.NodeGroupSizes(t.Context(), db, time.Time{}, time.Time{}); return err },
		"export": func() error {
			return transfer.Export(t.Context(), db, new(bytes.Buffer), time.Time{}, time.Time{}, transfer.ExportOptions{})
		},
	} {
		var corrupt *dbfile.CorruptError
		if err := read(); !errors.As(err, &corrupt) || corrupt.Path != path || !strings.Contains(corrupt.Detail, "does not match its hash") {
			t.Errorf("%s: %v, want a CorruptError about the file", what, err)
		}
	}
	if _, err := db.Events(t.Context(), history.EventFilter{}); err != nil {
		t.Errorf("events: %v", err)
	}
}

// TestColumnsThatAreNotJSON: what a column should hold is said to be damaged, in words that are not Go's.
func TestColumnsThatAreNotJSON(t *testing.T) {
	for _, column := range []string{"UPDATE event SET related = '-5'", "UPDATE event SET regarding_more = '[7]'", "INSERT INTO gap(from_ns, to_ns, kinds, why) VALUES (1767600001000000000, 1767600002000000000, '7', 'x')"} {
		path := copyOf(t, "../../fixtures/pdb-blocks-drain/recording.db")
		spoil(t, path, column)
		db := reopen(t, path)
		_, events := db.Events(t.Context(), history.EventFilter{})
		_, gaps := db.Gaps(t.Context(), time.Time{}, time.Time{})
		err := errors.Join(events, gaps)
		var corrupt *dbfile.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Path != path || strings.Contains(err.Error(), "Go value") {
			t.Errorf("%s: %v, want a CorruptError about the file", column, err)
		}
	}
}
