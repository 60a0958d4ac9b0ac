package history

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestReplaceWaitsForOlderReaders: what only the log holds cannot be copied into the file while somebody reads an older state. The file
// is not replaced then, and nothing of it is removed.
func TestReplaceWaitsForOlderReaders(t *testing.T) {
	defer func(ms int) { readersTake = ms }(readersTake)
	readersTake = 1
	dir := t.TempDir()
	path := filepath.Join(dir, "h.db")
	w, err := Create(t.Context(), path, Options{})
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
		if err := copyFile(path+suffix, killed+suffix); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	reader, err := Open(t.Context(), killed)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tx, err := reader.db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.QueryRow(`SELECT count(*) FROM meta`).Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	last, err := sql.Open("sqlite", fileURI(killed))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := last.Exec(`INSERT INTO meta(key, value) VALUES ('last', 'change')`); err != nil {
		t.Fatal(err)
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), killed); err == nil || !strings.Contains(err.Error(), "somebody reads it as it was before its last changes") {
		t.Errorf("with a reader before the last change: %v", err)
	}
	if info, err := os.Stat(killed + "-wal"); err != nil || info.Size() == 0 {
		t.Errorf("the log was removed: %v", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), killed); err != nil {
		t.Errorf("without the reader: %v", err)
	}
	db, err := Open(t.Context(), killed)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if meta, err := db.Meta(t.Context()); err != nil || meta["last"] != "change" {
		t.Errorf("meta %v, %v: the last change is lost", meta, err)
	}
}
