package main

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver: a history is broken as a stranger would
)

// page is the size of a page of a history, in bytes.
const page = 4096

func shufflePages(r *rand.Rand, in []byte) ([]byte, string) {
	n := len(in) / page
	if n < 3 {
		return in, "too few pages to shuffle"
	}
	out := bytes.Clone(in)
	a, b := 1+r.IntN(n-1), 1+r.IntN(n-1)
	copy(out[a*page:(a+1)*page], in[b*page:(b+1)*page])
	copy(out[b*page:(b+1)*page], in[a*page:(a+1)*page])
	return out, fmt.Sprintf("swap pages %d and %d", a, b)
}

// headerField sets a field of the file's header (https://sqlite.org/fileformat2.html#the_database_header).
func headerField(r *rand.Rand, in []byte) ([]byte, string) {
	if len(in) < 100 {
		return in, "no header"
	}
	out := bytes.Clone(in)
	at := pick(r, []int{16, 18, 19, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68, 92, 96})
	value := byte(r.IntN(256))
	out[at] = value
	return out, fmt.Sprintf("header byte %d is %d", at, value)
}

// hostileRow sets one value of one row to something hostile.
func hostileRow(r *rand.Rand, in []byte) ([]byte, string) {
	return inSQL(in, func(db *sql.DB) (string, error) {
		table, columns, err := someTable(r, db)
		if err != nil {
			return "", err
		}
		row, err := someRow(r, db, table)
		if err != nil {
			return "", err
		}
		column := pick(r, columns)
		value := pick(r, hostileNumbers)
		switch r.IntN(3) {
		case 0:
			value = "CAST(x'" + hex.EncodeToString([]byte(pick(r, hostileText))) + "' AS TEXT)"
		case 1:
			value = pick(r, []string{"NULL", "x'00ff'", "9e999", "-9e999", "zeroblob(100000)", "-" + quote(column), quote(column) + " + 86400000000000 * 365 * 20", quote(column) + " - 3600000000000", quote(column) + " * 1000000"})
		}
		statement := "UPDATE " + quote(table) + " SET " + quote(column) + " = " + value + " WHERE " + row
		_, err = db.Exec(statement)
		return short(statement), err
	})
}

// dropRows removes a row, or all rows, of a table.
func dropRows(r *rand.Rand, in []byte) ([]byte, string) {
	return inSQL(in, func(db *sql.DB) (string, error) {
		table, _, err := someTable(r, db)
		if err != nil {
			return "", err
		}
		where := "1"
		if r.IntN(3) > 0 {
			if where, err = someRow(r, db, table); err != nil {
				return "", err
			}
		}
		statement := "DELETE FROM " + quote(table) + " WHERE " + where
		_, err = db.Exec(statement)
		return statement, err
	})
}

// otherSchema makes a program of a history, or another format.
func otherSchema(r *rand.Rand, in []byte) ([]byte, string) {
	return inSQL(in, func(db *sql.DB) (string, error) {
		table, columns, err := someTable(r, db)
		if err != nil {
			return "", err
		}
		t, c := quote(table), quote(columns[0])
		statement := pick(r, []string{
			"DROP TABLE " + t,
			"ALTER TABLE " + t + " RENAME TO gone; CREATE VIEW " + t + " AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM n) SELECT x AS " + c + " FROM n",
			"ALTER TABLE " + t + " RENAME TO gone; CREATE VIEW " + t + " AS SELECT zeroblob(1000000000) AS " + c,
			"CREATE TRIGGER planted AFTER INSERT ON " + t + " BEGIN DELETE FROM " + t + "; END",
			"ALTER TABLE " + t + " ADD COLUMN planted AS (randomblob(100000000))",
			"CREATE TABLE planted(x)", "PRAGMA user_version = 3", "PRAGMA user_version = 2", "PRAGMA user_version = 0", "PRAGMA user_version = 1000000", "PRAGMA user_version = -1", "PRAGMA application_id = 7",
			"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE TABLE x(' || hex(zeroblob(100000)) || ')' WHERE name = '" + table + "'",
			"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = 2 WHERE type = 'table'", "CREATE INDEX planted ON " + t + "(" + c + ")",
		})
		_, err = db.Exec(statement)
		return short(statement), err
	})
}

// inSQL lets change work on in as a database. What SQLite refuses is said, and leaves the input as it is.
func inSQL(in []byte, change func(*sql.DB) (string, error)) ([]byte, string) {
	dir, err := os.MkdirTemp("", "attack")
	if err != nil {
		panic(err) // the machine has no place for temporary files: nothing can be attacked
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "x.db")
	if err := os.WriteFile(path, in, 0o600); err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=foreign_keys(0)&_pragma=journal_mode(delete)&_pragma=synchronous(off)&_pragma=ignore_check_constraints(1)")
	if err != nil {
		return in, "SQL is refused"
	}
	db.SetMaxOpenConns(1)
	what, err := change(db)
	if closing := db.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return in, strings.TrimSpace("refused: " + what)
	}
	out, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return out, what
}

// someTable chooses a table and gives the columns that can be set.
func someTable(r *rand.Rand, db *sql.DB) (table string, columns []string, err error) {
	tables, err := texts(db, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil || len(tables) == 0 {
		return "", nil, fmt.Errorf("no tables: %w", err)
	}
	table = pick(r, tables)
	columns, err = texts(db, `SELECT name FROM pragma_table_info('`+table+`') ORDER BY cid`)
	if err != nil || len(columns) == 0 {
		return "", nil, fmt.Errorf("no columns: %w", err)
	}
	return table, columns, nil
}

// someRow chooses a row of a table, as a condition on its primary key. A table without rows has a condition that none meets.
func someRow(r *rand.Rand, db *sql.DB, table string) (string, error) {
	var n int
	if err := db.QueryRow(`SELECT count(*) FROM ` + quote(table)).Scan(&n); err != nil || n == 0 {
		return "0", err
	}
	keys, err := texts(db, `SELECT name FROM pragma_table_info('`+table+`') WHERE pk > 0 ORDER BY pk`)
	if err != nil {
		return "", err
	}
	if len(keys) == 0 {
		keys = []string{"rowid"}
	}
	for i := range keys {
		keys[i] = quote(keys[i])
	}
	list := strings.Join(keys, ", ")
	return fmt.Sprintf("(%s) IN (SELECT %s FROM %s ORDER BY %s LIMIT 1 OFFSET %d)", list, list, quote(table), list, r.IntN(n)), nil
}

func texts(db *sql.DB, query string) ([]string, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
