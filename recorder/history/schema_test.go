package history_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// hostile are statements that make a program of a history, with what an error says of it.
var hostile = map[string]struct {
	sql  string
	want string
}{
	"a table that is a view without end": {`DROP TABLE gap; CREATE VIEW gap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		SELECT i AS id, i AS from_ns, i AS to_ns, '[]' AS kinds, '' AS why FROM n WHERE i < 0`, "view gap is not that of"},
	"a table that is a view that fills memory": {`DROP TABLE meta; CREATE VIEW meta AS SELECT 'cluster' AS key, hex(zeroblob(400000000)) AS value`, "view meta is not that of"},
	"the span of a view without end": {`DROP TABLE recording; CREATE VIEW recording AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
		SELECT i AS id, i AS from_ns, i AS to_ns, i AS alive_ns, '[]' AS kinds FROM n`, "view recording is not that of"},
	"another table in Litestream's name": {`CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER AS (id))`, "table _litestream_seq is not part of"},
	"a trigger":                          {`CREATE TRIGGER t AFTER INSERT ON version BEGIN DELETE FROM object; END`, "trigger t is not part of"},
	"a table more":                       {`CREATE TABLE more(x)`, "table more is not part of"},
	"a table with a generated column":    {`ALTER TABLE word ADD COLUMN more TEXT AS (hex(zeroblob(100)))`, "table word is not that of"},
	"an index of an expression":          {`CREATE INDEX more ON word(length(value))`, "index more is not part of"},
	"an index less":                      {`DROP INDEX event_reason`, "index event_reason of schema version"},
	"a view of ours that is another":     {`DROP VIEW pod; CREATE VIEW pod AS SELECT 1`, "view pod is not that of"},
	"statistics":                         {`ANALYZE`, "table sqlite_stat1 is not part of"},
}

// spoil runs statements on a history.
func spoil(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyOurSchemaIsOpened: nothing in a file runs that we did not put there, whatever opens it.
func TestOnlyOurSchemaIsOpened(t *testing.T) {
	good := writeFile(t, change(0, scalehist.OpAdd, pod("a", uid(1))))
	for name, h := range hostile {
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, good)
			spoil(t, path, h.sql)
			before := readText(t, path)
			check := func(what string, err error) {
				t.Helper()
				var foreign *dbfile.ForeignError
				if !errors.As(err, &foreign) || foreign.Path != path || !strings.Contains(err.Error(), h.want) {
					t.Errorf("%s: %v, want a ForeignError that says %q", what, err, h.want)
				}
			}
			db, err := history.Open(t.Context(), path)
			check("open", err)
			if db != nil {
				_ = db.Close()
			}
			w, err := history.Create(t.Context(), path, history.Options{})
			check("write", err)
			if w != nil {
				_ = w.Close()
			}
			_, err = history.Compact(t.Context(), path)
			check("compact", err)
			if readText(t, path) != before {
				t.Error("the file was changed")
			}
		})
	}
}

// TestEveryHistoryWeHaveIsOpened: fixtures, and what a command or a program beside us makes of one.
func TestEveryHistoryWeHaveIsOpened(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/*/recording.db")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d fixtures, %v", len(files), err)
	}
	compacted, shipped := copyOf(t, files[0]), copyOf(t, files[0])
	if _, err := history.Compact(t.Context(), compacted); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	if err := reopen(t, files[0]).CopyTo(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	// What Litestream adds, in the words of its db.go.
	spoil(t, shipped, `CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER); CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);`)
	for _, path := range append(files, compacted, copied, shipped) {
		db, err := history.Open(t.Context(), path)
		if err != nil {
			t.Error(err)
			continue
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
