package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/internal/stored"
)

// Writer adds to one history. It holds the only connection and an exclusive lock on the file. It is not safe for
// concurrent use.
//
// Observed time never goes back in a history: an entry older than the last one takes its instant and is counted.
type Writer struct {
	path     string
	identity string // of the cluster, "" if not known
	db       *sql.DB
	lock     *dbfile.WriterLock
	stmts    statements

	recording int64 // open recording, 0 for none
	seq       int64 // last used
	last      int64 // observed time of the last entry, in nanoseconds
	live      map[stored.Key]*liveObject
	since     int64 // rows of the journal since the last keyframe
	scopes    map[scope]int64
	contents  map[[16]byte]int64
	words     map[string]int64
	counts    WriteCounts
}

// scope is what many objects share, stored once.
type scope struct{ kind, namespace, prefix string }

// liveObject is the current version of an object that is not deleted.
type liveObject struct {
	id      int64
	uid     types.UID
	created time.Time
	seq     int64
	content int64
	state   int64 // 0 for none
	node    int64 // 0 for none
	times   string
}

// maxCached bounds the caches of content and word ids; a miss costs one indexed query.
const maxCached = 1 << 14

// Create makes a history at path, or continues the one that is there. A second writer is refused with dbfile.LockedError,
// through whatever link it comes, a file with hard links with dbfile.LinkedError, and one that is no history with dbfile.ForeignError,
// dbfile.CorruptError or VersionError; it is not touched then.
func Create(ctx context.Context, path string, o Options) (*Writer, error) {
	file, err := dbfile.RealPath(path)
	if err != nil {
		return nil, err
	}
	lock, err := dbfile.Lock(path, file)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, lock: lock}
	if err := w.open(ctx, file, o); err != nil {
		return nil, errors.Join(err, w.closeFiles())
	}
	return w, nil
}

func (w *Writer) open(ctx context.Context, file string, o Options) error {
	fresh, err := checkForWriting(ctx, w.path, file, o)
	if err != nil {
		return err
	}
	if w.db, err = dbfile.OpenWrite(file, !o.unsynced); err != nil {
		return fmt.Errorf("history %s: %w", w.path, err)
	}
	if err := makeSchema(ctx, w.db); err != nil {
		return fmt.Errorf("history %s: %w", w.path, err)
	}
	// One in which nothing was recorded was not looked into before.
	if err := checkOrigin(ctx, w.db, w.path, o); err != nil {
		return err
	}
	w.identity = o.Identity
	if fresh {
		for k, v := range map[string]string{"cluster": o.Cluster, "source": o.Source, OriginKey: string(o.origin())} {
			if v == "" {
				continue
			}
			if _, err := w.db.ExecContext(ctx, `INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, k, v); err != nil {
				return fmt.Errorf("history %s: %w", w.path, err)
			}
		}
	}
	if err := w.stmts.prepare(ctx, w.db); err != nil {
		return fmt.Errorf("history %s: %w", w.path, err)
	}
	if err := w.load(ctx); err != nil {
		return fmt.Errorf("history %s: %w", w.path, err)
	}
	return nil
}

// Path is the file written to, as it was given to Create.
func (w *Writer) Path() string { return w.path }

// Counts says what was done since Create.
func (w *Writer) Counts() WriteCounts {
	c := w.counts
	c.Left = maps.Clone(c.Left)
	return c
}

// Begin opens a recording of kinds (kind names; none means all). A recording that was left open, because the recorder
// died, ends at its last sign of life. What lies between the previous recording and this one becomes a Gap.
func (w *Writer) Begin(ctx context.Context, at time.Time, kinds []string) (Recording, error) {
	ns, err := stored.Instant(at)
	if err != nil {
		return Recording{}, fmt.Errorf("history %s: begin: %w", w.path, err)
	}
	if ns < w.last {
		return Recording{}, fmt.Errorf("history %s: begin at %s, but it goes on until %s already: check the clock of this machine",
			w.path, stored.FromNS(ns).Format(time.RFC3339Nano), stored.FromNS(w.last).Format(time.RFC3339Nano))
	}
	var id int64
	begin := func(tx *sql.Tx) error {
		var previous sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT max(coalesce(to_ns, alive_ns)) FROM recording`).Scan(&previous); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE recording SET to_ns = max(from_ns, alive_ns) WHERE to_ns IS NULL`); err != nil {
			return err
		}
		if previous.Valid && previous.Int64 < ns {
			g := Gap{From: stored.FromNS(previous.Int64), To: stored.FromNS(ns), Why: "no recorder was running"}
			if err := insertGap(ctx, tx, g); err != nil {
				return err
			}
		}
		if w.identity != "" {
			if _, err := tx.ExecContext(ctx, `INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT DO NOTHING`, identityKey, w.identity); err != nil {
				return err
			}
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO recording(from_ns, alive_ns, kinds) VALUES (?, ?, ?)`, ns, ns, kindsJSON(kinds))
		if err != nil {
			return err
		}
		id, err = res.LastInsertId()
		return err
	}
	if err := w.durably(ctx, func() error { return w.inTx(ctx, begin) }); err != nil {
		return Recording{}, fmt.Errorf("history %s: begin: %w", w.path, err)
	}
	w.recording, w.last = id, ns
	return Recording{ID: id, From: stored.FromNS(ns), Kinds: kinds}, nil
}

// Alive notes that the recorder was watching at an instant, so that a quiet stretch before a crash is no gap. It is synced:
// neither it nor what was written before it is lost when the power is.
func (w *Writer) Alive(ctx context.Context, at time.Time) error {
	ns, err := stored.Instant(at)
	if err == nil {
		err = w.durably(ctx, func() error {
			return w.inTx(ctx, func(tx *sql.Tx) error {
				// SQLite writes, and syncs, nothing where a row becomes what it is: it becomes something else first.
				if _, err := tx.ExecContext(ctx, `UPDATE recording SET alive_ns = -1 - alive_ns WHERE id = ?`, w.recording); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, `UPDATE recording SET alive_ns = max(-1 - alive_ns, ?) WHERE id = ?`, ns, w.recording)
				return err
			})
		})
	}
	if err != nil {
		return fmt.Errorf("history %s: alive: %w", w.path, err)
	}
	return nil
}

// End closes the open recording.
func (w *Writer) End(ctx context.Context, at time.Time) error {
	if w.recording == 0 {
		return fmt.Errorf("history %s: end: no recording is open", w.path)
	}
	ns, err := stored.Instant(at)
	if err == nil {
		ns = max(ns, w.last)
		_, err = w.db.ExecContext(ctx, `UPDATE recording SET to_ns = max(from_ns, ?), alive_ns = max(from_ns, ?) WHERE id = ?`, ns, ns, w.recording)
	}
	if err != nil {
		return fmt.Errorf("history %s: end: %w", w.path, err)
	}
	w.recording, w.last = 0, ns
	return nil
}

// Gap notes that some kinds were not watched for a while.
func (w *Writer) Gap(ctx context.Context, g Gap) error {
	if g.To.Before(g.From) {
		return fmt.Errorf("history %s: gap from %s ends before, at %s", w.path, g.From.Format(time.RFC3339Nano), g.To.Format(time.RFC3339Nano))
	}
	if err := insertGap(ctx, w.db, g); err != nil {
		return fmt.Errorf("history %s: gap: %w", w.path, err)
	}
	return nil
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func insertGap(ctx context.Context, x execer, g Gap) error {
	from, err := stored.Instant(g.From)
	if err != nil {
		return err
	}
	to, err := stored.Instant(g.To)
	if err != nil {
		return err
	}
	_, err = x.ExecContext(ctx, `INSERT INTO gap(from_ns, to_ns, kinds, why) VALUES (?, ?, ?, ?)`, from, to, kindsJSON(g.Kinds), g.Why)
	return err
}

// AddRecording writes a closed recording as it is, for imports.
func (w *Writer) AddRecording(ctx context.Context, r Recording) error {
	from, err := stored.Instant(r.From)
	if err != nil {
		return err
	}
	alive := from
	if !r.To.IsZero() {
		if alive, err = stored.Instant(r.To); err != nil {
			return err
		}
	}
	_, err = w.db.ExecContext(ctx, `INSERT INTO recording(from_ns, to_ns, alive_ns, kinds) VALUES (?, ?, ?, ?)`,
		from, stored.NS(r.To), alive, kindsJSON(r.Kinds))
	return err
}

func kindsJSON(kinds []string) string {
	if len(kinds) == 0 {
		return "[]"
	}
	b, err := json.Marshal(kinds)
	if err != nil {
		panic(fmt.Sprintf("marshal strings: %v", err)) // cannot fail
	}
	return string(b)
}

// compact rewrites the file without the room that pages left for rows to grow.
func (w *Writer) compact(ctx context.Context) error {
	if _, err := w.db.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("history %s: compact: %w", w.path, err)
	}
	return nil
}

// Close checkpoints into a single file and gives the lock back. A recording that is still open stays so: the next
// Begin ends it at its last sign of life.
func (w *Writer) Close() error {
	if w.db == nil {
		return nil
	}
	ctx := context.Background() // the data must reach the file however the caller's context ended
	_, err := dbfile.Checkpoint(ctx, w.db)
	if err != nil {
		err = fmt.Errorf("history %s: checkpoint: %w", w.path, err)
	}
	return errors.Join(err, w.closeFiles())
}

func (w *Writer) closeFiles() error {
	var errs []error
	if w.db != nil {
		errs = append(errs, w.stmts.close(), w.db.Close())
		w.db = nil
	}
	if w.lock != nil {
		errs = append(errs, w.lock.Release())
		w.lock = nil
	}
	return errors.Join(errs...)
}

// inTx runs f in a transaction; when it fails, what the writer knows in memory is read again from the file.
func (w *Writer) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	err = f(tx)
	if err == nil {
		err = tx.Commit()
	}
	if err == nil {
		return nil
	}
	rollback := tx.Rollback()
	if errors.Is(rollback, sql.ErrTxDone) {
		rollback = nil
	}
	return errors.Join(err, rollback, w.load(context.WithoutCancel(ctx)))
}
