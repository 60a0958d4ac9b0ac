package history

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// DB reads one history. It is safe for concurrent use.
type DB struct {
	path     string // as it was given to Open
	file     string // its RealPath then
	db       *sql.DB
	from, to time.Time
	private  string // folder of a copy that can be read as it is, "" if the file can
}

// Open opens a history for reading. The file is never modified; it may be read-only, in a read-only directory, and it
// may be written by a recorder at the same time. One whose writer was ended while it made or closed it is read through a
// private copy, as it was when it was opened. Errors: MissingError, CorruptError, ForeignError, VersionError, EmptyError.
func Open(ctx context.Context, path string) (*DB, error) {
	file, err := RealPath(path)
	if err != nil {
		return nil, err
	}
	return openFile(ctx, path, file)
}

// openFile opens a file, its RealPath; path is what it was called, for messages.
func openFile(ctx context.Context, path, file string) (*DB, error) {
	header, err := readHeader(path, file)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", readDSN(file, header))
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	out := &DB{path: path, file: file, db: db}
	err = out.check(ctx)
	if halfDone(err) {
		if err = out.rollBack(ctx); err == nil {
			err = out.check(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, out.Close())
	}
	return out, nil
}

// Close frees the file.
func (db *DB) Close() error {
	err := db.db.Close()
	if db.private != "" {
		err = errors.Join(err, os.RemoveAll(db.private))
	}
	return err
}

// Path is the file as it was given to Open.
func (db *DB) Path() string { return db.path }

// Span goes from the first recorded instant to the last.
func (db *DB) Span() (from, to time.Time) { return db.from, db.to }

func (db *DB) check(ctx context.Context) error {
	var app, version int
	if err := db.db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&app); err != nil {
		return readError(db.path, err)
	}
	if err := db.db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
		return readError(db.path, err)
	}
	if app != applicationID {
		// A new file is a database before it is a history: what ends a writer in between leaves one of nothing.
		if made, err := readSchema(ctx, db.db); app == 0 && version == 0 && err == nil && len(made) == 0 {
			return &EmptyError{Path: db.path}
		} else if err != nil {
			return readError(db.path, err)
		}
		return &ForeignError{Path: db.path, What: "another SQLite database"}
	}
	if version != SchemaVersion {
		return &VersionError{Path: db.path, Have: version}
	}
	if differs, err := checkSchema(ctx, db.db); err != nil { // before anything in it is asked for
		return readError(db.path, err)
	} else if differs != "" {
		return &ForeignError{Path: db.path, What: "a database with another schema (" + differs + ")"}
	}
	var from, to sql.NullInt64
	if err := db.db.QueryRowContext(ctx, spanQuery).Scan(&from, &to); err != nil {
		return readError(db.path, err)
	}
	if !from.Valid {
		return &EmptyError{Path: db.path}
	}
	db.from, db.to = stored.FromNS(from.Int64), stored.FromNS(to.Int64)
	return nil
}

// spanQuery is where a history begins and ends. Each part is one look at an end of an index, but recordings, which are few.
const spanQuery = `SELECT min(f), max(t) FROM (
		SELECT min(from_ns) f, max(coalesce(to_ns, alive_ns)) t FROM recording
	UNION ALL SELECT (SELECT max(at, coalesce((SELECT at FROM base), at)) FROM version ORDER BY seq LIMIT 1),
		(SELECT at FROM version ORDER BY seq DESC LIMIT 1)
	UNION ALL SELECT (SELECT min(at) FROM event_seen WHERE at > coalesce((SELECT at FROM base), -1)), (SELECT max(at) FROM event_seen))`

// header is the part of SQLite's file header that says what a file is (https://www.sqlite.org/fileformat.html).
type header struct {
	size, pageSize, pages int64
	wal                   bool // journal mode: the log may hold newer pages
	hasLog                bool // a non-empty log lies beside it
}

// readHeader judges the file without SQLite, whose words for it ("file is not a database") do not help.
func readHeader(path, file string) (header, error) {
	var h header
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return h, &MissingError{Path: path}
	}
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return h, fmt.Errorf("history: %w", err)
	}
	if info.IsDir() {
		return h, &ForeignError{Path: path, What: "a directory"}
	}
	h.size = info.Size()
	if log, err := os.Stat(file + "-wal"); err == nil {
		h.hasLog = log.Size() > 0
	}
	if h.size == 0 && !h.hasLog {
		return h, &EmptyError{Path: path}
	}
	b := make([]byte, 100)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return h, fmt.Errorf("history %s: %w", path, err)
	}
	const magic = "SQLite format 3\x00"
	if !strings.HasPrefix(string(b[:n]), magic) {
		return h, &ForeignError{Path: path, What: describe(b[:n])}
	}
	if n < len(b) {
		return h, &CorruptError{Path: path, Detail: fmt.Sprintf("%d bytes are less than a header", n)}
	}
	h.pageSize = int64(binary.BigEndian.Uint16(b[16:]))
	if h.pageSize == 1 {
		h.pageSize = 65536
	}
	h.wal = b[19] == 2
	h.pages = int64(binary.BigEndian.Uint32(b[28:]))
	// The page count is valid when both change counters agree. With a log the file may lag behind.
	if binary.BigEndian.Uint32(b[24:]) == binary.BigEndian.Uint32(b[92:]) && !h.hasLog && h.size < h.pages*h.pageSize {
		return h, &CorruptError{Path: path, Detail: fmt.Sprintf("%d of %d bytes", h.size, h.pages*h.pageSize)}
	}
	return h, nil
}

// describe names what people give instead of a history.
func describe(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == 0x1f && b[1] == 0x8b:
		return "a gzip file (an object log is read with 'scalehist import')"
	case strings.HasPrefix(strings.TrimSpace(string(b)), "{"):
		return "JSON (an object log is read with 'scalehist import')"
	}
	return "a file of another format"
}

// checkForWriting says whether a file has yet to become a history, and refuses what is none.
func checkForWriting(ctx context.Context, path, file string, o Options) (fresh bool, err error) {
	if info, err := os.Stat(file); err == nil && namesOf(info) > 1 {
		return false, &LinkedError{Path: path, Names: namesOf(info)}
	}
	var missing *MissingError
	var empty *EmptyError
	if _, err := readHeader(path, file); errors.As(err, &missing) || errors.As(err, &empty) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	db, err := openFile(ctx, path, file)
	switch {
	case err == nil:
		return false, errors.Join(checkOrigin(ctx, db.db, path, o), db.Close())
	case errors.As(err, &empty):
		return true, nil
	}
	return false, err
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

// readError turns SQLite's codes into ours.
func readError(path string, err error) error {
	if altered := alteredError(0); errors.As(err, &altered) || errors.Is(err, errColumn) {
		return &CorruptError{Path: path, Detail: err.Error()}
	}
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
func InUse(err error) bool { return isBusy(err) }

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}
