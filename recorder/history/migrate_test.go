package history_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recorder/history"
)

// testdata/schema2.db was written by the scalehist of schema version 2 and schema2.jsonl is that one's export of it:
// lives that end and begin in one instant, a deletion that shows more, object times in and between whole seconds.
const schema2 = "testdata/schema2.db"

// copyOf copies a checked-in history to a folder of the test.
func copyOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "h.db")
	if err := os.WriteFile(out, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return out
}

func exported(t testing.TB, db *history.DB) string {
	t.Helper()
	var out bytes.Buffer
	if err := db.Export(t.Context(), &out, time.Time{}, time.Time{}, history.ExportOptions{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func readText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A reader takes an older file as it is, and leaves it and its folder alone.
func TestOlderHistoryIsRead(t *testing.T) {
	path := copyOf(t, schema2)
	t.Setenv("TMPDIR", t.TempDir())
	before := readText(t, path)
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(readText(t, "testdata/schema2.jsonl"), exported(t, db)); diff != "" {
		t.Errorf("content (-old +new):\n%s", diff)
	}
	if db.Path() != path {
		t.Errorf("path %s", db.Path())
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if readText(t, path) != before {
		t.Error("the file was changed")
	}
	if diff := cmp.Diff([]string{"h.db"}, entryNames(t, filepath.Dir(path))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if left := entryNames(t, os.TempDir()); len(left) != 0 {
		t.Errorf("left in the folder for temporary files: %q", left)
	}
}

// A writer brings it up to date in place and goes on.
func TestOlderHistoryIsContinued(t *testing.T) {
	path := copyOf(t, schema2)
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), []history.Entry{change(2*time.Hour, "delete", node("n1", uid(10)))}); err != nil {
		t.Fatal(err)
	}
	if got := w.Counts(); got.Deleted != 1 {
		t.Errorf("counts: %+v", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	db := reopen(t, path)
	if n := len(snapshotAt(t, db, time.Hour).Nodes); n != 1 {
		t.Errorf("%d nodes before", n)
	}
	if n := len(snapshotAt(t, db, 2*time.Hour).Nodes); n != 0 {
		t.Errorf("%d nodes after", n)
	}
}

// unmigratable is an older history that cannot be brought up to date: one place in the order of change is taken twice.
func unmigratable(t *testing.T) string {
	t.Helper()
	path := copyOf(t, schema2)
	spoil(t, path, `UPDATE version SET seq = (SELECT min(seq) FROM version) WHERE seq = (SELECT max(seq) FROM version)`)
	return path
}

// A migration that fails half-way leaves the file as it was.
func TestMigrationIsOneTransaction(t *testing.T) {
	path := unmigratable(t)
	before := readText(t, path)
	if w, err := history.Create(t.Context(), path, history.Options{}); err == nil {
		t.Fatalf("no error, close: %v", w.Close())
	}
	if readText(t, path) != before {
		t.Error("the file was changed")
	}
}

// A new history has the schema that an old one gets step by step.
func TestNewSchemaIsTheMigratedOne(t *testing.T) {
	schema := func(path string) map[string]string {
		w := create(t, path)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), `SELECT type || ' ' || name || ' of ' || tbl_name, coalesce(sql, '') FROM sqlite_schema
			UNION ALL SELECT 'version', user_version FROM pragma_user_version
			UNION ALL SELECT 'application', application_id FROM pragma_application_id`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		out := map[string]string{}
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				t.Fatal(err)
			}
			out[name] = text
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff(schema(copyOf(t, schema2)), schema(filepath.Join(t.TempDir(), "h.db"))); diff != "" {
		t.Errorf("schema (-migrated +new):\n%s", diff)
	}
}
