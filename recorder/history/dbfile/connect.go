package dbfile

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// OpenRead opens a file, the RealPath of path, read-only. Errors: those of Recognize.
func OpenRead(path, file string) (*sql.DB, error) {
	h, err := readHeader(path, file)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", readDSN(file, h))
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	return db, nil
}

// OpenWrite opens a file for one writer, and makes it where there is none. Not synced, a crash may damage it.
func OpenWrite(file string, synced bool) (*sql.DB, error) {
	db, err := sql.Open("sqlite", writeDSN(file, synced))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func fileURI(path string) string { return "file:" + (&url.URL{Path: path}).EscapedPath() }

// distrust is for files that others wrote: functions in a schema may do nothing but compute, a schema cannot be changed
// behind SQLite's back, and cells are looked at before they are believed. checkSchema is the fence; this is behind it.
const distrust = "&_defensive=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"

// writeDSN carries the pragmas, so that every connection has them.
func writeDSN(path string, synced bool) string {
	synchronous := "normal"
	if !synced {
		synchronous = "off"
	}
	return fileURI(path) + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)" +
		"&_pragma=synchronous(" + synchronous + ")&_pragma=foreign_keys(1)&_pragma=temp_store(memory)" + distrust
}

// readDSN opens read-only. A file in WAL mode without a log was left by a crash after a checkpoint, or copied: nobody
// writes to it, and immutable spares SQLite the shared-memory file that it could not make in a read-only directory.
func readDSN(path string, h header) string {
	dsn := fileURI(path) + "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)&_pragma=temp_store(memory)" + distrust
	if h.wal && !h.hasLog && !isLocked(path) {
		dsn += "&immutable=1"
	}
	return dsn
}

// isLocked says whether a writer may be at work.
func isLocked(path string) bool {
	_, err := os.Stat(path + ".lock")
	return err == nil
}

// ReadError turns SQLite's codes into ours.
func ReadError(path string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return &CorruptError{Path: path, Detail: strings.TrimSpace(e.Error())}
		case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
			return fmt.Errorf("history %s has changes in its log (%s-wal) and cannot be opened where it is: copy both to a folder that can be written: %w",
				path, path, err)
		}
	}
	return fmt.Errorf("history %s: %w", path, err)
}

// InUse says that a history could not be opened for writing because somebody reads it at this moment: one that was left in good order has no
// log beside which readers and a writer do not meet, until a writer has made one.
func InUse(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// Passing says whether an error of a Writer may pass by itself, so that the same call may succeed later: the disk is
// full or refuses a write, or somebody holds the file. Nothing of the call was written then, and the Writer knows what
// the file holds. After any other error the Writer is to be closed.
func Passing(err error) bool {
	full, others := 0, 0
	walk(err, func(e *sqlite.Error) {
		switch code := e.Code(); {
		case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_WRITE, code == sqlite3.SQLITE_IOERR_FSYNC,
			code == sqlite3.SQLITE_IOERR_TRUNCATE, code == sqlite3.SQLITE_IOERR_SHMSIZE,
			code&0xff == sqlite3.SQLITE_BUSY, code&0xff == sqlite3.SQLITE_LOCKED:
			full++
		case code == sqlite3.SQLITE_ERROR: // the rollback of what SQLite had rolled back by itself
		default:
			others++
		}
	})
	// A second failure is that of reading the file again: what the Writer knows is then not what the file holds.
	return full == 1 && others == 0
}

// walk calls f for each error of SQLite in err, errors that were joined included.
func walk(err error, f func(*sqlite.Error)) {
	if e, ok := err.(*sqlite.Error); ok { //nolint:errorlint // the tree is walked here
		f(e)
		return
	}
	switch e := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		walk(e.Unwrap(), f)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			walk(one, f)
		}
	}
}
