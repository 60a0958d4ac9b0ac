// Package historytest opens histories in tests, and makes them of object logs. It must not know what is in them.
package historytest

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// Open opens a history until the test ends.
func Open(t testing.TB, path string) *history.DB {
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

// Import makes a history of an object log, and opens it until the test ends.
func Import(t testing.TB, log io.Reader, name string) *history.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	if _, err := transfer.Import(t.Context(), log, path, transfer.ImportOptions{Name: name}); err != nil {
		t.Fatal(err)
	}
	return Open(t, path)
}
