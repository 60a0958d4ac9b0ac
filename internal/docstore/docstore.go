// Package docstore keeps the state of a small service as JSON documents in a SQLite file: in buckets, by key. What Update wrote is on the disk when it
// returns, whole or not at all; one process has the file at a time. The package must not know what documents hold.
package docstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"

	_ "modernc.org/sqlite" // the driver
)

// application marks the files of this package (PRAGMA application_id): "shds".
const application = 0x73686473

// version is that of the tables.
const version = 1

// Store is an open file. It is safe for concurrent use.
type Store struct {
	db   *sql.DB
	path string
}

// Open opens a file, or makes it, readable by its owner alone. kind names what it holds: a file of another kind is refused, as is one that another
// process has open.
func Open(ctx context.Context, path, kind string) (*Store, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	// An exclusive lock is held until the file is closed, or the process gone.
	dsn := "file:" + (&url.URL{Path: path}).EscapedPath() + "?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=locking_mode(exclusive)" +
		"&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_defensive=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("state %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db, path: path}
	if err := s.prepare(ctx, kind); err != nil {
		return nil, errors.Join(fmt.Errorf("state %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context, kind string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("it cannot be written, or another process has it: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	var id, had, tables int
	if err := errors.Join(tx.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id), tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&had),
		tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables)); err != nil {
		return err
	}
	switch {
	case tables == 0 && id == 0:
		for _, statement := range []string{
			fmt.Sprintf(`PRAGMA application_id = %d`, application), fmt.Sprintf(`PRAGMA user_version = %d`, version),
			`CREATE TABLE document (bucket TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (bucket, key)) STRICT, WITHOUT ROWID`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		if err := (&Tx{ctx, tx}).Put(own, kindKey, kind); err != nil {
			return err
		}
	case id != application:
		return errors.New("it is no state of a service: give another file")
	case had != version:
		return fmt.Errorf("its version is %d, and this program reads %d", had, version)
	default:
		var is string
		if _, err := (&Tx{ctx, tx}).Get(own, kindKey, &is); err != nil {
			return err
		}
		if is != kind {
			return fmt.Errorf("it is the state of %s, and not of %s: give another file", is, kind)
		}
	}
	return tx.Commit()
}

// own is the bucket of the store itself.
const own, kindKey = "", "kind"

// Close frees the file.
func (s *Store) Close() error { return s.db.Close() }

// Tx is a transaction. Keys of a bucket are in byte order.
type Tx struct {
	ctx context.Context //nolint:containedctx // it ends with the transaction
	tx  *sql.Tx
}

// Update runs f in a transaction that nothing else is in. An error of f takes everything back.
func (s *Store) Update(ctx context.Context, f func(*Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("state %s: %w", s.path, err)
	}
	defer func() { _ = tx.Rollback() }() // of what was not committed
	if err := f(&Tx{ctx, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("state %s: %w", s.path, err)
	}
	return nil
}

// Get reads a document into what into points to; false when there is none.
func (t *Tx) Get(bucket, key string, into any) (bool, error) {
	var value []byte
	err := t.tx.QueryRowContext(t.ctx, `SELECT value FROM document WHERE bucket = ? AND key = ?`, bucket, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(value, into)
	}
	if err != nil {
		return false, fmt.Errorf("state: read %s %s: %w", bucket, key, err)
	}
	return true, nil
}

// Put writes a document.
func (t *Tx) Put(bucket, key string, document any) error {
	value, err := json.Marshal(document)
	if err == nil {
		_, err = t.tx.ExecContext(t.ctx, `INSERT INTO document (bucket, key, value) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value`, bucket, key, string(value))
	}
	if err != nil {
		return fmt.Errorf("state: write %s %s: %w", bucket, key, err)
	}
	return nil
}

// Delete removes a document; one that is not there is no error.
func (t *Tx) Delete(bucket, key string) error {
	if _, err := t.tx.ExecContext(t.ctx, `DELETE FROM document WHERE bucket = ? AND key = ?`, bucket, key); err != nil {
		return fmt.Errorf("state: delete %s %s: %w", bucket, key, err)
	}
	return nil
}

// All reads the documents of a bucket, in the order of their keys.
func All[T any](t *Tx, bucket string) (keys []string, out []T, err error) {
	rows, err := t.tx.QueryContext(t.ctx, `SELECT key, value FROM document WHERE bucket = ? ORDER BY key`, bucket)
	if err != nil {
		return nil, nil, fmt.Errorf("state: read %s: %w", bucket, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var key string
		var value []byte
		if err := rows.Scan(&key, &value); err != nil {
			return nil, nil, fmt.Errorf("state: read %s: %w", bucket, err)
		}
		var one T
		if err := json.Unmarshal(value, &one); err != nil {
			return nil, nil, fmt.Errorf("state: read %s %s: %w", bucket, key, err)
		}
		keys, out = append(keys, key), append(out, one)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("state: read %s: %w", bucket, err)
	}
	return keys, out, nil
}
