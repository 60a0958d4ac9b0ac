package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scalehist/scalehist/internal/durable"
)

// logSuffixes are of the files beside a history from which SQLite takes what is not in it yet, and of the memory that its readers share.
var logSuffixes = []string{"-wal", "-journal", "-shm"}

// Place gives a finished history, a file on the same file system that nobody has open, the name dst; with overwrite in the place of the history
// that has it, or of a link to one. Wherever the power is cut, the one or the other is there, whole. Errors: ExistsError without overwrite,
// LockedError.
func Place(ctx context.Context, finished, dst string, overwrite bool) error {
	return PlaceAt(ctx, finished, dst, dst, overwrite)
}

// PlaceAt is Place for a file that dst leads to, or is.
func PlaceAt(ctx context.Context, finished, dst, file string, overwrite bool) (err error) {
	if _, err := os.Lstat(dst); err == nil && !overwrite {
		return &ExistsError{Path: dst}
	}
	locked, err := RealPath(file)
	if err != nil {
		return err
	}
	lock, err := Lock(dst, locked)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if overwrite {
		return Replace(ctx, finished, dst, file)
	}
	return link(finished, dst)
}

// link names a finished history as no other file is, whose lock is held.
func link(finished, dst string) error {
	if _, err := os.Lstat(dst); err == nil {
		return &ExistsError{Path: dst}
	}
	// Somebody removed a history and left its logs: SQLite would read them into this one. It removes them itself where it makes a file.
	if err := removeLogs(dst); err != nil {
		return fmt.Errorf("write %s: %w", dst, err)
	}
	if err := durable.Sync(finished); err != nil {
		return fmt.Errorf("write %s: sync: %w", dst, durable.WithoutPaths(err))
	}
	err := durable.Link(finished, dst) // unlike a rename, this never replaces a file that came meanwhile
	var unlinked *os.LinkError
	if errors.As(err, &unlinked) {
		if _, err := os.Lstat(dst); err == nil {
			return &ExistsError{Path: dst}
		}
		err = durable.Rename(finished, dst) // no hard links on this file system
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", dst, durable.WithoutPaths(err))
	}
	return nil
}

// Replace puts a finished history in the place of another, whose lock is held: file, which dst leads to.
//
// A power cut may leave any of several changes of a folder, and a log that is there is read whatever the file beside it is: the salts in a log
// (https://www.sqlite.org/fileformat2.html#the_write_ahead_log) tie its frames to its own header, so that leftovers of an earlier round are
// not read, and a journal has a nonce of the same kind; but nothing ties either to its database. A log of the old file beside the new one is a
// mixture of both that passes for whole. So there are three steps, each on the disk before the next one begins:
//
//  1. The old file takes in what lies in its logs, and is complete by itself.
//  2. The logs are removed. Until the folder is synced one may come back, which then holds what the old file has already.
//  3. The new file, synced before, takes the name, and the folder is synced again.
func Replace(ctx context.Context, finished, dst, file string) error {
	if err := durable.Sync(finished); err != nil {
		return fmt.Errorf("write %s: sync: %w", dst, durable.WithoutPaths(err))
	}
	if err := settle(ctx, dst, file); err != nil {
		return err
	}
	if err := removeLogs(file); err != nil {
		return fmt.Errorf("replace %s: %w", dst, err)
	}
	if err := durable.Rename(finished, file); err != nil {
		return fmt.Errorf("replace %s: %w", dst, durable.WithoutPaths(err))
	}
	return nil
}

func removeLogs(file string) error {
	var paths []string
	for _, suffix := range logSuffixes {
		paths = append(paths, file+suffix)
	}
	return durable.WithoutPaths(durable.Remove(paths...))
}

// readersTake is how long readers of an older state are waited for, in milliseconds. Tests lower it.
var readersTake = 5000

// settle makes an old file complete by itself, whose lock is held. One that is no database, or damaged, stays what it is: it is replaced
// because it is.
func settle(ctx context.Context, dst, file string) (err error) {
	if _, err := os.Stat(file); err != nil || !hasLog(file) {
		return nil //nolint:nilerr // SQLite reads no log without a file
	}
	wait := fmt.Sprintf("&_pragma=busy_timeout(%d)", readersTake)
	db, err := sql.Open("sqlite", fileURI(file)+"?mode=rw&_pragma=synchronous(full)&_pragma=temp_store(memory)"+wait+distrust)
	if err != nil {
		return fmt.Errorf("replace %s: %w", dst, err)
	}
	db.SetMaxOpenConns(1)
	complete, err := Checkpoint(ctx, db)
	err = errors.Join(err, db.Close())
	var e *sqlite.Error
	switch {
	case errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB):
		return nil
	case err != nil:
		return fmt.Errorf("replace %s: finish what its writer began: %w", dst, err)
	case !complete:
		return fmt.Errorf("replace %s: somebody reads it as it was before its last changes, which are in its log: try again when that has ended", dst)
	}
	return nil
}

// hasLog says whether something lies beside a file that may not be in it.
func hasLog(file string) bool {
	for _, suffix := range []string{"-wal", "-journal"} {
		if info, err := os.Stat(file + suffix); err == nil && info.Size() > 0 {
			return true
		}
	}
	return false
}

// Checkpoint copies the log into the file, and says whether all of it is there now: a reader of an older state keeps the rest out.
func Checkpoint(ctx context.Context, db *sql.DB) (complete bool, err error) {
	var busy, log, copied int // pages of the log, -1 without one
	if err := db.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &copied); err != nil {
		return false, err
	}
	// Out of WAL mode the file is read by anyone, from a read-only directory too. A reader that is at it right now
	// keeps the mode; then the last connection to close removes the log.
	if _, err := db.ExecContext(ctx, `PRAGMA journal_mode = DELETE`); err != nil && !InUse(err) {
		return false, err
	}
	return log == copied, nil
}
