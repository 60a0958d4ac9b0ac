package history

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// schemaEntry is a row of sqlite_schema: a table, index, view or trigger, and the text that made it.
type schemaEntry struct{ kind, name, table, text string }

func (e schemaEntry) String() string { return e.kind + " " + e.name }

// readSchema reads what a database is made of, and runs nothing of it.
func readSchema(ctx context.Context, q queryer) ([]schemaEntry, error) {
	rows, err := q.QueryContext(ctx, `SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []schemaEntry
	for rows.Next() {
		var e schemaEntry
		if err := rows.Scan(&e.kind, &e.name, &e.table, &e.text); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, rows.Err()
}

// checkSchema refuses a file that is made of anything but what our migrations make, and guests. A schema is a program: a view that
// never ends may have the name of a table, and a trigger runs with our own statements. What differs is said, "" for nothing.
func checkSchema(ctx context.Context, q queryer, version int) (differs string, err error) {
	have, err := readSchema(ctx, q)
	if err != nil {
		return "", err
	}
	want, err := schemaOf(version)
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
			return fmt.Sprintf("%s is not part of schema version %d", e, version), nil
		case want[i] != e:
			return fmt.Sprintf("%s is not that of schema version %d", e, version), nil
		}
	}
	for _, w := range want {
		if !seen[w.name] {
			return fmt.Sprintf("%s of schema version %d is missing", w, version), nil
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

// schemas are those that the first migrations make, by their number. They are worked out when they are first needed.
var schemas struct {
	sync.Mutex
	of map[int][]schemaEntry
}

// schemaOf is what the first migrations make of nothing, in the order in which they make it.
func schemaOf(version int) ([]schemaEntry, error) {
	schemas.Lock()
	defer schemas.Unlock()
	if s, ok := schemas.of[version]; ok {
		return s, nil
	}
	s, err := makeSchema(version)
	if err != nil {
		return nil, fmt.Errorf("schema version %d: %w", version, err)
	}
	if schemas.of == nil {
		schemas.of = map[int][]schemaEntry{}
	}
	schemas.of[version] = s
	return s, nil
}

func makeSchema(version int) (out []schemaEntry, err error) {
	names, err := migrations()
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx := context.Background() // it is of the process, not of the caller
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is kept
	if err := applyScripts(ctx, tx, names[:version]); err != nil {
		return nil, err
	}
	return readSchema(ctx, tx)
}

// newest is the script of what all migrations make of nothing, which takes a fraction of their time. They add no rows.
func newest() (script string, err error) {
	all, err := schemaOf(SchemaVersion())
	if err != nil {
		return "", err
	}
	order := map[string]int{"table": -2, "index": -1} // tables before what is made of them
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b schemaEntry) int { return cmp.Compare(order[a.kind], order[b.kind]) })
	var b strings.Builder
	for _, e := range all {
		if e.text != "" { // SQLite makes the others by itself
			b.WriteString(e.text + ";\n")
		}
	}
	return b.String(), nil
}
