package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// statements are the writer's prepared statements.
type statements struct {
	insertContent, findContent, insertWord, findWord *sql.Stmt
	insertScope, findScope, insertObject, countLives *sql.Stmt
	insertVersion, insertKeyframe                    *sql.Stmt
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
		{&s.insertScope, `INSERT INTO scope(kind, namespace, prefix) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`},
		{&s.findScope, `SELECT id FROM scope WHERE kind = ? AND namespace = ? AND prefix = ?`},
		{&s.insertObject, `INSERT INTO object(id, scope_id, name, uid, created_at, first_seen, few) VALUES (?, ?, ?, ?, ?, ?, ?)`},
		{&s.countLives, `SELECT max(count(*), coalesce(max(iif(substr(uid, 1, length(?3)) = ?3, cast(substr(uid, length(?3) + 1) AS INTEGER), 0)), 0))
			FROM object WHERE scope_id = ?1 AND name = ?2 AND typeof(uid) = 'text'`},
		{&s.insertVersion, `INSERT INTO version(seq, at, object_id, content_id, state_id, node_id, times, object_at, few, ends)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&s.insertKeyframe, `INSERT INTO keyframe(seq, at, live) VALUES (?, ?, ?)`},
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

// lastInstants: where the history ends. Each part is one look at the end of an index.
const lastInstants = `SELECT
	max(coalesce((SELECT max(seq) FROM version), 0), coalesce((SELECT seq FROM event_seen ORDER BY at DESC, seq DESC LIMIT 1), 0),
		coalesce((SELECT max(seq) FROM keyframe), 0)),
	max(coalesce((SELECT at FROM version ORDER BY seq DESC LIMIT 1), 0), coalesce((SELECT max(at) FROM event_seen), 0),
		coalesce((SELECT at FROM base), 0), coalesce((SELECT max(coalesce(to_ns, from_ns)) FROM recording), 0)),
	coalesce((SELECT max(id) FROM recording WHERE to_ns IS NULL), 0)`

// load reads what the writer keeps in memory: the living objects and where the history ends.
func (w *Writer) load(ctx context.Context) error {
	w.live = map[stored.Key]*liveObject{}
	w.scopes = map[scope]int64{}
	w.contents = map[[16]byte]int64{}
	w.words = map[string]int64{}
	if err := w.db.QueryRowContext(ctx, lastInstants).Scan(&w.seq, &w.last, &w.recording); err != nil {
		return err
	}
	live, err := liveAt(ctx, w.db, maxInt)
	if err != nil {
		return err
	}
	w.since = live.since
	versions, err := fetch(ctx, w.db, &live)
	if err != nil {
		return err
	}
	for _, v := range versions {
		l := &liveObject{id: v.objectID, uid: v.UID, created: v.Created, seq: v.seq, content: v.contentID, state: v.stateID.Int64, times: v.Times}
		if v.Node != "" {
			if err := w.db.QueryRowContext(ctx, `SELECT id FROM word WHERE value = ?`, v.Node).Scan(&l.node); err != nil {
				return err
			}
		}
		w.live[v.Key] = l
	}
	return nil
}
