package history

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// applicationID marks the file as a history in SQLite's header: "SCLH".
const applicationID = 0x53434c48

// migrations are the embedded scripts in name order; user_version counts the applied ones.
func migrations() ([]string, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	return names, nil
}

// SchemaVersion is the newest schema this build reads and writes.
func SchemaVersion() int {
	names, err := migrations()
	if err != nil {
		panic(fmt.Sprintf("embedded migrations: %v", err)) // only a bad glob pattern fails
	}
	return len(names)
}

// migrate applies the scripts above user_version in one transaction: the file has the old schema or the new one.
func migrate(ctx context.Context, db *sql.DB) error {
	names, err := migrations()
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is a no-op
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return err
	}
	if have < 0 {
		return fmt.Errorf("schema version %d: the file is damaged", have)
	}
	if have >= len(names) {
		return nil
	}
	if have == 0 {
		script, err := newest()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("new schema: %w", err)
		}
	} else if err := applyScripts(ctx, tx, names[have:]); err != nil {
		return err
	}
	for _, pragma := range []string{fmt.Sprintf(`PRAGMA application_id = %d`, applicationID), fmt.Sprintf(`PRAGMA user_version = %d`, len(names))} {
		if _, err := tx.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func applyScripts(ctx context.Context, tx *sql.Tx, names []string) error {
	for _, name := range names {
		script, err := migrationFiles.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("migration %s: %w", path.Base(name), err)
		}
	}
	return nil
}

// migratedCopy makes a private copy of an open history with the newest schema, in a folder of its own that the caller
// removes. The history itself is only read, and may be written by a recorder meanwhile.
func migratedCopy(ctx context.Context, db *sql.DB) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "scalehist-*"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	copied := filepath.Join(dir, copyName)
	if err := copyInto(ctx, db, copied); err != nil {
		return "", err
	}
	w, err := sql.Open("sqlite", fileURI(copied)+"?_txlock=immediate&_pragma=synchronous(off)&_pragma=temp_store(memory)"+distrust)
	if err != nil {
		return "", err
	}
	return dir, errors.Join(migrate(ctx, w), w.Close())
}

// copyName is the file in a folder that migratedCopy makes.
const copyName = "history.db"

// copyInto writes a consistent copy without a log, whoever writes to the original meanwhile. dst must not exist.
func copyInto(ctx context.Context, db *sql.DB, dst string) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	// The pragma forbids every write, that of another file too; the connection is opened read-only all the same.
	if _, err := conn.ExecContext(ctx, `PRAGMA query_only = 0`); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, `VACUUM INTO ?`, dst)
	if _, back := conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA query_only = 1`); err == nil {
		err = back
	}
	return err
}
