package history

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
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

// migrate applies the scripts above user_version, each in its transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	names, err := migrations()
	if err != nil {
		return err
	}
	var have int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return err
	}
	for i := have; i < len(names); i++ {
		if err := applyMigration(ctx, db, names[i], i+1); err != nil {
			return fmt.Errorf("migration %s: %w", path.Base(names[i]), err)
		}
	}
	return nil
}

func applyMigration(ctx context.Context, db *sql.DB, name string, version int) error {
	script, err := migrationFiles.ReadFile(name)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is a no-op
	if _, err := tx.ExecContext(ctx, string(script)); err != nil {
		return err
	}
	if version == 1 {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, applicationID)); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return err
	}
	return tx.Commit()
}
