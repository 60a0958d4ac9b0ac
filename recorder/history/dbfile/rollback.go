package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// HalfDone says whether a file cannot be read before a change is undone that its writer did not finish. Such changes are
// the two outside of the log, when a file is made and when it is closed: their journal says what was there before.
func HalfDone(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_READONLY_ROLLBACK
}

// RollBack opens a private copy of a file, the RealPath of path, in which the change is undone: a reader changes no file. The next writer
// undoes it in the file. The folder of the copy is the caller's to remove.
func RollBack(ctx context.Context, path, file string) (db *sql.DB, private string, err error) {
	private, err = os.MkdirTemp("", "scalehist-*")
	if err != nil {
		return nil, "", fmt.Errorf("history %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(private))
		}
	}()
	copied := filepath.Join(private, "history.db")
	for _, suffix := range []string{"", "-journal", "-wal"} {
		if e := copyFile(file+suffix, copied+suffix); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if err == nil {
		err = undo(ctx, copied)
	}
	if err != nil {
		return nil, "", fmt.Errorf("history %s: undo a change that its writer did not finish: %w", path, err)
	}
	db, err = OpenRead(path, copied)
	return db, private, err
}

// undo lets SQLite do it, which looks for a journal before it reads.
func undo(ctx context.Context, file string) error {
	w, err := sql.Open("sqlite", fileURI(file)+"?_pragma=synchronous(off)&_pragma=temp_store(memory)"+distrust)
	if err != nil {
		return err
	}
	var n int
	return errors.Join(w.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n), w.Close())
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
