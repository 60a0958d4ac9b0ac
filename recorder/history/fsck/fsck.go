package fsck

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// Class says what kind of damage a Problem is.
type Class string

// The classes of problems.
const (
	// Damage: pages, rows or indexes are not what SQLite wrote.
	Damage Class = "damage"
	// Dangling: a row refers to one that is not there.
	Dangling Class = "dangling"
	// Order: the versions of an object overlap, are inverted, or do not end with it.
	Order Class = "order"
	// Altered: a content is not the one that its hash is of.
	Altered Class = "altered"
)

// Problem is one thing that is wrong with the tables.
type Problem struct {
	Class Class
	// At is the instant in the history it is about, zero if none.
	At time.Time
	// Object is "Kind namespace/name", "" if the problem is about no single object.
	Object string
	What   string
}

// most is how many problems of one query are kept: a broken file has thousands, and nobody reads them.
const most = 100

// Check reads the tables of the history at path, which is not modified and may be written by a recorder meanwhile.
// It has the schema of package history, as that made sure. The problems come in a fixed order. An error means that the
// file could not be looked at at all.
func Check(ctx context.Context, path string) (problems []Problem, err error) {
	file, err := filepath.EvalSymlinks(path) // its log lies beside the file, not beside a link to it
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	db, err := sql.Open("sqlite", dsn(file))
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil) // one state, also while others write
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", path, err)
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	c := checker{ctx: ctx, tx: tx}
	c.integrity()
	if c.err == nil && len(c.problems) == 0 { // what SQLite cannot read, queries cannot either
		c.references()
		c.contents()
		c.run(journalQueries)
		c.journal()
	}
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("check %s: %w", path, ctx.Err())
	case c.err != nil:
		c.add(Problem{Class: Damage, What: c.err.Error()})
	}
	return c.problems, nil
}

// dsn opens read-only. A file in WAL mode that no writer has open and that has no log is immutable: SQLite needs no
// shared-memory file beside it then, which a read-only directory would refuse.
func dsn(path string) string {
	out := "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)&_pragma=temp_store(memory)" +
		"&_defensive=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)"
	log, err := os.Stat(path + "-wal")
	_, lockErr := os.Stat(path + ".lock")
	if (err != nil || log.Size() == 0) && errors.Is(lockErr, os.ErrNotExist) {
		out += "&immutable=1"
	}
	return out
}

type checker struct {
	ctx      context.Context
	tx       *sql.Tx
	problems []Problem
	err      error
	names    map[int64]string
}

// each runs a query and hands each row to f; scan fills the row.
func (c *checker) each(query string, f func(scan func(...any) error) error) {
	if c.err != nil {
		return
	}
	rows, err := c.tx.QueryContext(c.ctx, query)
	if err != nil {
		c.err = err
		return
	}
	defer rows.Close()
	for rows.Next() {
		if c.err = f(rows.Scan); c.err != nil {
			return
		}
	}
	c.err = rows.Err()
}

func (c *checker) add(p Problem) { c.problems = append(c.problems, p) }

// integrity runs SQLite's own check of pages, indexes, NOT NULL, UNIQUE and CHECK constraints.
func (c *checker) integrity() {
	c.each(fmt.Sprintf(`PRAGMA integrity_check(%d)`, most), func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" && line != "ok" && !strings.HasPrefix(line, "*** in database") {
				c.add(Problem{Class: Damage, What: line})
			}
		}
		return nil
	})
}

// references finds rows whose foreign keys lead nowhere, counted by table and parent.
func (c *checker) references() {
	type pair struct{ table, parent string }
	count := map[pair]int{}
	c.each(`PRAGMA foreign_key_check`, func(scan func(...any) error) error {
		var p pair
		var row, key sql.NullInt64
		if err := scan(&p.table, &row, &p.parent, &key); err != nil {
			return err
		}
		count[p]++
		return nil
	})
	pairs := slices.SortedFunc(maps.Keys(count), func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(a.parent, b.parent))
	})
	for _, p := range pairs {
		c.add(Problem{Class: Dangling, What: fmt.Sprintf("%d rows of table %s refer to rows of table %s that are not there", count[p], p.table, p.parent)})
	}
}

// query is one check: it selects an instant, kind, namespace and name of each object that is wrong. %d is most.
type query struct {
	class     Class
	what, sql string
}

func (c *checker) run(queries []query) {
	for _, q := range queries {
		c.each(fmt.Sprintf(q.sql, most), func(scan func(...any) error) error {
			var at sql.NullInt64
			var kind, namespace, name string
			if err := scan(&at, &kind, &namespace, &name); err != nil {
				return err
			}
			p := Problem{Class: q.class, Object: object(kind, namespace, name), What: q.what}
			if at.Valid {
				p.At = instant(at.Int64)
			}
			c.add(p)
			return nil
		})
	}
}

// instant reads a column in nanoseconds since 1970.
func instant(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// object is "Kind namespace/name", "" for none.
func object(kind, namespace, name string) string {
	switch {
	case kind == "":
		return ""
	case namespace != "":
		return kind + " " + namespace + "/" + name
	}
	return kind + " " + name
}
