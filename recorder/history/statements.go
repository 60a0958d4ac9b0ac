package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are the writer's prepared statements.
type statements struct {
	insertContent, findContent, insertWord, findWord *sql.Stmt
	insertObject, deleteObject                       *sql.Stmt
	insertVersion, closeVersion                      *sql.Stmt
	findEvent, insertEvent, lastSeen, insertSeen     *sql.Stmt
	all                                              []*sql.Stmt
}

func (s *statements) prepare(ctx context.Context, db *sql.DB) error {
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&s.insertContent, `INSERT INTO content(hash, json) VALUES (?, ?) ON CONFLICT DO NOTHING`},
		{&s.findContent, `SELECT id FROM content WHERE hash = ?`},
		{&s.insertWord, `INSERT INTO word(value) VALUES (?) ON CONFLICT DO NOTHING`},
		{&s.findWord, `SELECT id FROM word WHERE value = ?`},
		{&s.insertObject, `INSERT INTO object(kind, namespace, name, uid, created_at, first_seen, first_seq) VALUES (?, ?, ?, ?, ?, ?, ?)`},
		{&s.deleteObject, `UPDATE object SET deleted_at = ?, deleted_seen = ?, deleted_seq = ?, last_from = ?, last_seq = ? WHERE id = ?`},
		{&s.insertVersion, `INSERT INTO version(valid_from, seq, valid_to, object_id, content_id, state_id, node_id, times, object_at, few)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.closeVersion, `UPDATE version SET valid_to = ? WHERE valid_from = ? AND seq = ?`},
		{&s.findEvent, `SELECT id FROM event WHERE uid = ?`},
		{&s.insertEvent, `INSERT INTO event(uid, api, namespace, name, type, reason, action, component, instance, created_at, event_ns,
			first_ns, regarding_kind, regarding_ns, regarding_name, regarding_uid, regarding_more, related)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.lastSeen, `SELECT s.count, s.last_ns, s.series, s.series_ns,
			coalesce(s.message, (SELECT message FROM event_seen WHERE event_id = s.event_id ORDER BY at, seq LIMIT 1))
			FROM event_seen s WHERE s.event_id = ? ORDER BY s.at DESC, s.seq DESC LIMIT 1`},
		{&s.insertSeen, `INSERT INTO event_seen(at, seq, event_id, count, last_ns, series, series_ns, message) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`},
	} {
		stmt, err := db.PrepareContext(ctx, p.sql)
		if err != nil {
			return fmt.Errorf("%s: %w", p.sql, err)
		}
		*p.to = stmt
		s.all = append(s.all, stmt)
	}
	return nil
}

func (s *statements) close() error {
	var errs []error
	for _, stmt := range s.all {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// load reads what the writer keeps in memory: the living objects and where the history ends.
func (w *Writer) load(ctx context.Context) error {
	w.live = map[key]*liveObject{}
	w.lives = map[key]int{}
	w.contents = map[[16]byte]int64{}
	w.words = map[string]int64{}
	if err := w.db.QueryRowContext(ctx, `SELECT
		max(coalesce((SELECT max(seq) FROM version), 0), coalesce((SELECT max(deleted_seq) FROM object), 0),
			coalesce((SELECT max(seq) FROM event_seen), 0)),
		max(coalesce((SELECT max(valid_from) FROM version), 0), coalesce((SELECT max(deleted_seen) FROM object), 0),
			coalesce((SELECT max(at) FROM event_seen), 0), coalesce((SELECT max(coalesce(to_ns, from_ns)) FROM recording), 0)),
		coalesce((SELECT max(id) FROM recording WHERE to_ns IS NULL), 0)`).Scan(&w.seq, &w.last, &w.recording); err != nil {
		return err
	}
	rows, err := w.db.QueryContext(ctx, `SELECT o.kind, o.namespace, o.name, o.id, o.uid, o.created_at, v.valid_from, v.seq,
		v.content_id, coalesce(v.state_id, 0), coalesce(v.node_id, 0), coalesce(v.times, '')
		FROM version v JOIN object o ON o.id = v.object_id WHERE v.valid_to IS NULL`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		l := &liveObject{}
		var uid any
		var created sql.NullInt64
		if err := rows.Scan(&k.kind, &k.namespace, &k.name, &l.id, &uid, &created, &l.from, &l.seq, &l.content, &l.state, &l.node, &l.times); err != nil {
			return err
		}
		l.uid = uidFrom(uid)
		if created.Valid {
			l.created = fromNS(created.Int64)
		}
		w.live[k] = l
	}
	if err := rows.Err(); err != nil {
		return err
	}
	rows, err = w.db.QueryContext(ctx, `SELECT kind, namespace, name, count(*) FROM object WHERE typeof(uid) = 'text'
		GROUP BY kind, namespace, name`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		var n int
		if err := rows.Scan(&k.kind, &k.namespace, &k.name, &n); err != nil {
			return err
		}
		w.lives[k] = n
	}
	return rows.Err()
}
