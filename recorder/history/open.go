package history

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
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
// private copy, as it was when it was opened. Errors: dbfile.MissingError, dbfile.CorruptError, dbfile.ForeignError, VersionError, dbfile.EmptyError.
func Open(ctx context.Context, path string) (*DB, error) {
	file, err := dbfile.RealPath(path)
	if err != nil {
		return nil, err
	}
	return openFile(ctx, path, file)
}

// openFile opens a file, its RealPath; path is what it was called, for messages.
func openFile(ctx context.Context, path, file string) (*DB, error) {
	db, err := dbfile.OpenRead(path, file)
	if err != nil {
		return nil, err
	}
	out := &DB{path: path, file: file, db: db}
	err = out.check(ctx)
	if dbfile.HalfDone(err) {
		whole, private, undone := dbfile.RollBack(ctx, path, file)
		if undone != nil {
			return nil, errors.Join(undone, db.Close())
		}
		out.db, out.private = whole, private
		if err = db.Close(); err == nil {
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
			return &dbfile.EmptyError{Path: db.path}
		} else if err != nil {
			return readError(db.path, err)
		}
		return &dbfile.ForeignError{Path: db.path, What: "another SQLite database"}
	}
	if version != SchemaVersion {
		return &VersionError{Path: db.path, Have: version}
	}
	if differs, err := checkSchema(ctx, db.db); err != nil { // before anything in it is asked for
		return readError(db.path, err)
	} else if differs != "" {
		return &dbfile.ForeignError{Path: db.path, What: "a database with another schema (" + differs + ")"}
	}
	var from, to sql.NullInt64
	if err := db.db.QueryRowContext(ctx, spanQuery).Scan(&from, &to); err != nil {
		return readError(db.path, err)
	}
	if !from.Valid {
		return &dbfile.EmptyError{Path: db.path}
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

// checkForWriting says whether a file has yet to become a history, and refuses what is none.
func checkForWriting(ctx context.Context, path, file string, o Options) (fresh bool, err error) {
	if err := dbfile.OneName(path, file); err != nil {
		return false, err
	}
	var missing *dbfile.MissingError
	var empty *dbfile.EmptyError
	if err := dbfile.Recognize(path, file); errors.As(err, &missing) || errors.As(err, &empty) {
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

// readError turns SQLite's codes into ours, and what a content or a column should not be into a dbfile.CorruptError.
func readError(path string, err error) error {
	if altered := alteredError(0); errors.As(err, &altered) || errors.Is(err, errColumn) {
		return &dbfile.CorruptError{Path: path, Detail: err.Error()}
	}
	return dbfile.ReadError(path, err)
}
