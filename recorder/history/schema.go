package history

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// applicationID marks the file as a history in SQLite's header: "SCLH".
const applicationID = 0x53434c48

// SchemaVersion is the schema of histories, SQLite's user_version: the only one that is read and written. It counts those
// that development went through.
const SchemaVersion = 4

//go:embed tables.sql
var tables string

//go:embed views.sql
var views string

// makeSchema makes a history of an empty file, in one transaction; a file that has a schema keeps it.
func makeSchema(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is a no-op
	var have int
	if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil || have == SchemaVersion {
		return err
	}
	mark := fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, SchemaVersion)
	for _, script := range []string{tables, views, mark} {
		if _, err := tx.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("new schema: %w", err)
		}
	}
	return tx.Commit()
}

// schemaEntry is a row of sqlite_schema: a table, index, view or trigger, and the text that made it.
type schemaEntry struct{ kind, name, table, text string }

func (e schemaEntry) String() string { return e.kind + " " + e.name }

// readSchema reads what a database is made of, and runs nothing of it.
func readSchema(ctx context.Context, q queryer) ([]schemaEntry, error) {
	return readRows(ctx, q, func(rows *sql.Rows) (e schemaEntry, err error) {
		return e, rows.Scan(&e.kind, &e.name, &e.table, &e.text)
	}, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema`)
}

// checkSchema refuses a file that is made of anything but what tables.sql and views.sql make, and guests. A schema is a program: a view that
// never ends may have the name of a table, and a trigger runs with our own statements. What differs is said, "" for nothing.
func checkSchema(ctx context.Context, q queryer) (differs string, err error) {
	have, err := readSchema(ctx, q)
	if err != nil {
		return "", err
	}
	want, err := ownSchema()
	if err != nil {
		return "", err
	}
	seen := map[string]bool{}
	for _, e := range have {
		if slices.Contains(guests, e) {
			continue
		}
		if seen[e.name] {
			return fmt.Sprintf("%s is in it twice", e), nil
		}
		seen[e.name] = true
		switch i := slices.IndexFunc(want, func(w schemaEntry) bool { return w.name == e.name }); {
		case i < 0:
			return fmt.Sprintf("%s is not part of schema version %d", e, SchemaVersion), nil
		case want[i] != e:
			return fmt.Sprintf("%s is not that of schema version %d", e, SchemaVersion), nil
		}
	}
	for _, w := range want {
		if !seen[w.name] {
			return fmt.Sprintf("%s of schema version %d is missing", w, SchemaVersion), nil
		}
	}
	return "", nil
}

// guests are what Litestream adds to each file it ships (docs/ship.md): two tables, which nothing of ours reads. They are
// as its 0.3 and 0.5 make them (db.go there).
var guests = []schemaEntry{
	{"table", "_litestream_seq", "_litestream_seq", "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)"},
	{"table", "_litestream_lock", "_litestream_lock", "CREATE TABLE _litestream_lock (id INTEGER)"},
}

// ownSchema is what tables.sql and views.sql make of nothing, in the order in which they make it.
var ownSchema = sync.OnceValues(func() (out []schemaEntry, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)       // each connection has a database of its own
	ctx := context.Background() // it is of the process, not of the caller
	if _, err := db.ExecContext(ctx, tables+views); err != nil {
		return nil, fmt.Errorf("schema version %d: %w", SchemaVersion, err)
	}
	return readSchema(ctx, db)
})
