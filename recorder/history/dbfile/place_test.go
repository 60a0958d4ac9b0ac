package dbfile_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
)

// TestReplaceWaitsForOlderReaders: what only the log holds cannot be copied into the file while somebody reads an older state. The file
// is not replaced then, and nothing of it is removed.
func TestReplaceWaitsForOlderReaders(t *testing.T) {
	defer dbfile.SetReadersTake(dbfile.SetReadersTake(1))
	dir := t.TempDir()
	path := filepath.Join(dir, "h.db")
	w, err := history.Create(t.Context(), path, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	// As a recorder that was killed leaves it, with a reader before its last change.
	killed := filepath.Join(dir, "killed.db")
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(killed+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := dbfile.OpenRead(killed, killed)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tx, err := reader.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(`SELECT count(*) FROM meta`).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	last, err := sql.Open("sqlite", killed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := last.Exec(`INSERT INTO meta(key, value) VALUES ('last', 'change')`); err != nil {
		t.Fatal(err)
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := history.Compact(t.Context(), killed); err == nil || !strings.Contains(err.Error(), "somebody reads it as it was before its last changes") {
		t.Errorf("with a reader before the last change: %v", err)
	}
	if info, err := os.Stat(killed + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("the log was removed: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := history.Compact(t.Context(), killed); err != nil {
		t.Errorf("without the reader: %v", err)
	}
	db, err := history.Open(t.Context(), killed)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if meta, err := db.Meta(t.Context()); err != nil || meta["last"] != "change" {
		t.Errorf("meta %v, %v: the last change is lost", meta, err)
	}
}
