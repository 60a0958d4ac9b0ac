package dbfile_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// TestHistoriesAreDistrusted: the fences behind the check of the schema hold, for readers and writers.
func TestHistoriesAreDistrusted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.db")
	for _, c := range []struct {
		what string
		open func() (*sql.DB, error)
	}{
		{"write", func() (*sql.DB, error) { return dbfile.OpenWrite(path, false) }},
		{"read", func() (*sql.DB, error) { return dbfile.OpenRead(path, path) }},
	} {
		what := c.what
		db, err := c.open()
		if err != nil {
			t.Fatal(err)
		}
		for pragma, want := range map[string]int{"trusted_schema": 0, "cell_size_check": 1} {
			var got int
			if err := db.QueryRowContext(t.Context(), `PRAGMA `+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s: %s is %d, %v; want %d", what, pragma, got, err, want)
			}
		}
		var got int // of a connection that is defensive, it cannot be set
		if _, err := db.ExecContext(t.Context(), `PRAGMA writable_schema = 1`); err != nil {
			t.Error(err)
		}
		if err := db.QueryRowContext(t.Context(), `PRAGMA writable_schema`).Scan(&got); err != nil || got != 0 {
			t.Errorf("%s: writable_schema is %d, %v; want 0", what, got, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
