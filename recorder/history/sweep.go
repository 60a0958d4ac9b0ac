package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ids is a set of row numbers.
type ids []uint64

func (s *ids) add(id int64) {
	word := int(id >> 6)
	for len(*s) <= word {
		*s = append(*s, 0)
	}
	(*s)[word] |= 1 << (id & 63)
}

func (s ids) has(id int64) bool {
	word := int(id >> 6)
	return word < len(s) && s[word]&(1<<(id&63)) != 0
}

// sweep deletes contents, node names, scopes and series that nothing refers to, and says how many. What is in use is
// read page by page; deletions go in small transactions.
func (w *Writer) sweep(ctx context.Context) (int64, error) {
	var contents, words, scopes, series ids
	for after := int64(0); ; {
		n, err := w.page(ctx, `SELECT seq, coalesce(content_id, 0), coalesce(state_id, 0), coalesce(node_id, 0) FROM version WHERE seq > ? ORDER BY seq LIMIT ?`, after, func(rows *sql.Rows) error {
			var content, state, node int64
			if err := rows.Scan(&after, &content, &state, &node); err != nil {
				return err
			}
			contents.add(content)
			contents.add(state)
			words.add(node)
			return nil
		})
		if err != nil {
			return 0, err
		}
		if n < retainChunk {
			break
		}
	}
	for after := int64(0); ; {
		n, err := w.page(ctx, `SELECT id, scope_id FROM object WHERE id > ? ORDER BY id LIMIT ?`, after, func(rows *sql.Rows) error {
			var id int64
			if err := rows.Scan(&after, &id); err != nil {
				return err
			}
			scopes.add(id)
			return nil
		})
		if err != nil {
			return 0, err
		}
		if n < retainChunk {
			break
		}
	}
	sampled, err := readRows(ctx, w.db, scanOne[int64], `SELECT DISTINCT series_id FROM sample`) // no index leads from a series to its samples
	if err != nil {
		return 0, err
	}
	for _, id := range sampled {
		series.add(id)
	}
	total := int64(0)
	for _, s := range []struct {
		table string
		used  ids
	}{{"content", contents}, {"word", words}, {"scope", scopes}, {"series", series}} {
		n, err := w.sweepTable(ctx, s.table, s.used)
		if err != nil {
			return total, fmt.Errorf("sweep %s: %w", s.table, err)
		}
		total += n
	}
	if total > 0 { // what the writer knows by heart may be gone
		clear(w.contents)
		clear(w.words)
		clear(w.scopes)
	}
	return total, nil
}

// page runs f for up to retainChunk rows behind after and says how many there were.
func (w *Writer) page(ctx context.Context, query string, after int64, f func(*sql.Rows) error) (int, error) {
	rows, err := w.db.QueryContext(ctx, query, after, retainChunk)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		if err := f(rows); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

// sweepTable deletes the rows that are not used. The check of foreign keys is off meanwhile: for each row it would look
// through a whole table, the samples for a series.
func (w *Writer) sweepTable(ctx context.Context, table string, used ids) (total int64, err error) {
	if _, err := w.db.ExecContext(ctx, `PRAGMA foreign_keys = 0`); err != nil {
		return 0, err
	}
	defer func() {
		_, on := w.db.ExecContext(context.WithoutCancel(ctx), `PRAGMA foreign_keys = 1`)
		err = errors.Join(err, on)
	}()
	for after := int64(0); ; {
		var dead []int64
		n, err := w.page(ctx, `SELECT id FROM `+table+` WHERE id > ? ORDER BY id LIMIT ?`, after, func(rows *sql.Rows) error {
			if err := rows.Scan(&after); err != nil {
				return err
			}
			if !used.has(after) {
				dead = append(dead, after)
			}
			return nil
		})
		if err != nil {
			return total, err
		}
		if len(dead) > 0 {
			if _, err := w.db.ExecContext(ctx, `DELETE FROM `+table+` WHERE id IN (SELECT value FROM json_each(?))`, seqsJSON(dead)); err != nil {
				return total, err
			}
			total += int64(len(dead))
		}
		if n < retainChunk {
			return total, nil
		}
	}
}
