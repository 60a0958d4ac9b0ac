package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recorder/history"
)

// Replayer replays one window of a history, at once or in parts. Close it when done.
type Replayer struct {
	opts options
	db   *history.DB
	in   *trace.Input
	run  *run
	// failed is the error a replay ended with: the cluster is somewhere in the middle of a step.
	failed error
}

// NewReplayer opens a history read-only, boots a virtual cluster and puts it into the recorded state at the window's
// start: nodes, node groups and scheduled pods; nothing unscheduled yet.
func NewReplayer(ctx context.Context, dbPath string, opts ...Option) (*Replayer, error) {
	o := resolve(opts)
	if err := o.check(); err != nil {
		return nil, err
	}
	db, err := history.Open(ctx, dbPath)
	if err != nil {
		return nil, err
	}
	r := &Replayer{opts: o, db: db}
	if r.in, err = r.opts.input(ctx, trace.Of(db), db); err != nil {
		return nil, errors.Join(ofHistory(dbPath, err), r.Close())
	}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", dbPath, err), r.Close())
	}
	return r, nil
}

// ofHistory names the history of an error, unless that is about what was asked for.
func ofHistory(path string, err error) error {
	if _, ok := errors.AsType[*WindowError](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// input reads the window of the settings.
func (o *options) input(ctx context.Context, rec *trace.Recording, db *history.DB) (*trace.Input, error) {
	w, err := o.Window.resolve(db.Span())
	if err != nil {
		return nil, err
	}
	in, err := rec.Input(ctx, w)
	if err != nil || len(o.controllers) == 0 {
		return in, err
	}
	window := trace.Window{From: in.Start, To: in.End}
	if in.StartUps, err = rec.StartUps(ctx, window); err != nil || o.load != nil {
		return in, err
	}
	series, warnings, err := rec.Load(ctx, window)
	if err != nil {
		return nil, err
	}
	o.load, o.recordedLoad = load.Given(series...), true
	in.Warnings = append(in.Warnings, warnings...)
	return in, nil
}

// NewInputReplayer is NewReplayer for causes that come from a script instead of a history.
func NewInputReplayer(ctx context.Context, in *trace.Input, opts ...Option) (*Replayer, error) {
	o := resolve(opts)
	if err := o.check(); err != nil {
		return nil, err
	}
	r := &Replayer{opts: o, in: in}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Replayer) start(ctx context.Context) error {
	if err := r.opts.apply(r.in); err != nil {
		return err
	}
	if err := r.in.Check(); err != nil {
		return err
	}
	var err error
	r.run, err = newRun(ctx, r.in, r.opts)
	return err
}

// RecordStartTime is the instant the replay starts at.
func (r *Replayer) RecordStartTime() time.Time { return r.in.Start }

// RecordDuration is the length of the window.
func (r *Replayer) RecordDuration() time.Duration { return r.in.End.Sub(r.in.Start) }

// ClusterAt is what the history recorded at an instant.
func (r *Replayer) ClusterAt(ctx context.Context, t time.Time) (*scalehist.ClusterSnapshot, error) {
	if r.db == nil {
		return nil, errors.New("there is no history behind this replay, or it is closed")
	}
	return r.db.SnapshotAt(ctx, t)
}

// Plane is the virtual cluster's control plane, for a look at it with a client.
func (r *Replayer) Plane() kvcl.ControlPlane { return r.run.plane }

// Now is the instant up to which it has been played (UTC): RecordStartTime before the first Replay.
func (r *Replayer) Now() time.Time { return r.run.now.UTC() }

// Replay plays duration of virtual time from Now, which may go past the recording's end: then nothing more comes in and
// the autoscaler's timers run on. The report is of all that was played, from the start on. Replay may be called again, which
// continues where the last call ended: a window played in parts ends with the report of the whole, byte for byte but for its
// run section. After an error there is no more to play.
func (r *Replayer) Replay(ctx context.Context, duration time.Duration) (*scalehist.ReplayReport, error) {
	if r.failed != nil {
		return nil, fmt.Errorf("replay %s cannot go on after an error, make a new replayer; it failed with: %w", r.in.Name, r.failed)
	}
	if duration <= 0 {
		return nil, fmt.Errorf("duration %s is not positive", duration)
	}
	end := r.run.now.Add(duration)
	if err := r.run.play(ctx, end); err != nil {
		r.failed = fmt.Errorf("replay %s at +%s: %w", r.in.Name, r.run.now.Sub(r.in.Start), err)
		return nil, r.failed
	}
	if err := r.run.keep(); err != nil {
		return nil, fmt.Errorf("replay %s: %w", r.in.Name, err)
	}
	return r.run.report(end, scalehist.PlaybackContinuous), nil
}

// Close ends the virtual cluster and closes the history.
func (r *Replayer) Close() error {
	var errs []error
	if r.run != nil {
		errs = append(errs, r.run.close())
	}
	if r.db != nil {
		errs = append(errs, r.db.Close())
		r.db = nil
	}
	return errors.Join(errs...)
}

// Play replays a history as the settings say, which may play single events (Settings.Playback), and closes what it opened. length, if it is
// not nil, is asked how long to play from when: it is given Settings.For, or the length of the window.
func Play(ctx context.Context, dbPath string, length func(start time.Time, d time.Duration) (time.Duration, error), opts ...Option) (_ *scalehist.ReplayReport, err error) {
	o := resolve(opts)
	if scalehist.Playback(o.Playback) == scalehist.PlaybackPerEvent {
		return ReplayEvents(ctx, dbPath, opts...)
	}
	r, err := NewReplayer(ctx, dbPath, opts...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	d := cmp.Or(o.For, r.RecordDuration())
	if length != nil {
		if d, err = length(r.RecordStartTime(), d); err != nil {
			return nil, err
		}
	}
	return r.Replay(ctx, d)
}
