package doctor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/intake"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/dbfile"
	"github.com/scalehist/scalehist/recorder/history/fsck"
	"github.com/scalehist/scalehist/virtualca/config"
)

// Input is a window of a history as the rules see it.
type Input struct {
	Path string
	// OpenErr is why the store refuses the file, LoadErr why it cannot be read to its end; both nil if it can.
	OpenErr, LoadErr error
	// Problems are what is wrong with the tables.
	Problems []fsck.Problem

	// First and Last are the whole history, From and To the window.
	First, Last, From, To time.Time
	Recordings            []history.Recording
	// Gaps are those that overlap the window.
	Gaps []history.Gap
	// Initial is the state at From, Changes what came after it until To, in recorded order.
	Initial *scalehist.ClusterSnapshot
	Changes []scalehist.Change
	// Groups are the node groups at From as they were recorded, by name.
	Groups []*v1alpha1.NodeGroup
	// Events were seen in the window.
	Events []history.Event
	// Settings are the autoscaler's over time, those at From first.
	Settings []scalehist.SettingsChange
	// Metrics says when usages and samples of each series were recorded.
	Metrics []metric
	// Clock is what the recorder noted of its own clock, with the skew in force at From.
	Clock []clockNote
	// Replay is what a replay would warn about, ReplayErr why it would refuse the window.
	Replay    []string
	ReplayErr error
	// Refused are objects that an API server would not take from a replay.
	Refused []intake.Refusal

	scene *scene
}

// metric is the instants at which one series (or "usage", of all pods) was recorded, in order.
type metric struct {
	name  string
	times []time.Time
}

// clockNote is a value of one of the recorder's two series about its clock, in seconds.
type clockNote struct {
	at     time.Time
	series string
	value  float64
}

// The series in which a recorder keeps what is wrong with its clock: how far it is behind the API server's from an
// instant on (ahead: negative), and by how much it was set forward (back: negative).
const (
	skewSeries = "recorder_clock_skew_seconds"
	jumpSeries = "recorder_clock_jump_seconds"
)

// readable says whether there is a history to look into.
func (in *Input) readable() bool { return in.OpenErr == nil && in.LoadErr == nil }

// load reads what the rules look at. A file that is damaged or no history is no error here, but in OpenErr or LoadErr.
func load(ctx context.Context, path string, window func(first, last time.Time) (from, to time.Time, err error)) (in *Input, err error) {
	in = &Input{Path: path}
	db, err := history.Open(ctx, path)
	var missing *dbfile.MissingError
	switch {
	case errors.As(err, &missing) || ctx.Err() != nil:
		return nil, err
	case err != nil:
		in.OpenErr = err
		return in, nil
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if in.Problems, err = fsck.Check(ctx, path); err != nil {
		return nil, err
	}
	in.First, in.Last = db.Span()
	in.From, in.To = in.First, in.Last
	if window != nil {
		if in.From, in.To, err = window(in.First, in.Last); err != nil {
			return nil, err
		}
		if in.To.Before(in.From) {
			return nil, fmt.Errorf("window from %s to %s: it ends before it begins", moment.Stamp(in.From), moment.Stamp(in.To))
		}
	}
	if err := in.read(ctx, db); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		in.LoadErr = err
		return in, nil
	}
	in.scene = newScene(in)
	return in, nil
}

func (in *Input) read(ctx context.Context, db *history.DB) (err error) {
	if err := in.askReplay(ctx, db); err != nil { // first: what it reads is let go again
		return err
	}
	if in.Recordings, err = db.Recordings(ctx); err != nil {
		return err
	}
	if in.Gaps, err = trace.Gaps(ctx, db, trace.Window{From: in.From, To: in.To}); err != nil {
		return err
	}
	if in.Initial, err = db.SnapshotAt(ctx, in.From); err != nil {
		return err
	}
	if err := in.readGroups(ctx, db); err != nil {
		return err
	}
	for ch, err := range db.Changes(ctx, in.From, in.To) {
		if err != nil {
			return err
		}
		in.Changes = append(in.Changes, ch)
	}
	if in.Events, err = db.Events(ctx, history.EventFilter{To: in.To}); err != nil {
		return err
	}
	in.Events = slices.DeleteFunc(in.Events, func(e history.Event) bool { return e.LastObservedAt.Before(in.From) })
	changes, err := db.SettingsChanges(ctx, in.From, in.To)
	if err != nil {
		return err
	}
	in.Settings = append([]scalehist.SettingsChange{{At: in.From, Settings: in.Initial.CASettings}}, changes...)
	if in.ReplayErr == nil {
		in.ReplayErr = harness.CheckLoops(in.To.Sub(in.From), in.scanInterval())
	}
	return in.readMetrics(ctx, db)
}

// askReplay keeps what a replay says of the window before it starts, and what of it would be refused.
func (in *Input) askReplay(ctx context.Context, db *history.DB) error {
	replayed, err := trace.FromHistory(ctx, db, trace.Window{From: in.From, To: in.To})
	if err != nil {
		in.ReplayErr = err
		return ctx.Err()
	}
	in.Replay = replayed.Warnings
	in.Refused, err = intake.Refusals(ctx, replayed)
	return err
}

// readGroups reads the node groups at From with their annotations, which a snapshot leaves out.
func (in *Input) readGroups(ctx context.Context, db *history.DB) error {
	last := map[string]*v1alpha1.NodeGroup{}
	take := func(ch scalehist.Change) {
		g, ok := ch.Object.(*v1alpha1.NodeGroup)
		switch {
		case !ok:
		case ch.Op == scalehist.OpDelete:
			delete(last, g.Name)
		default:
			last[g.Name] = g
		}
	}
	for ch, err := range db.Changes(ctx, time.Time{}, in.From) {
		if err != nil {
			return err
		}
		take(ch)
	}
	for _, g := range in.Initial.NodeGroups { // in name order
		if o := last[g.Name]; o != nil {
			in.Groups = append(in.Groups, o)
		}
	}
	return nil
}

func (in *Input) readMetrics(ctx context.Context, db *history.DB) error {
	usage := metric{name: "usage"}
	for u, err := range db.Usages(ctx, in.From, in.To) {
		if err != nil {
			return err
		}
		if n := len(usage.times); n == 0 || !usage.times[n-1].Equal(u.At) {
			usage.times = append(usage.times, u.At)
		}
	}
	if len(usage.times) > 0 {
		in.Metrics = append(in.Metrics, usage)
	}
	series := map[string]int{}
	for s, err := range db.Samples(ctx, time.Time{}, in.To) {
		if err != nil {
			return err
		}
		clock := s.Series == skewSeries || s.Series == jumpSeries
		switch {
		case clock && (math.IsNaN(s.Value) || math.IsInf(s.Value, 0)):
			continue // of an object log: no clock is off by that
		case s.Series == skewSeries && !s.At.After(in.From):
			in.Clock = []clockNote{{in.From, s.Series, s.Value}} // until the next one
			continue
		case !s.At.After(in.From) && s.Series != jumpSeries:
			continue
		case s.Series == skewSeries, s.Series == jumpSeries:
			if !s.At.Before(in.From) {
				in.Clock = append(in.Clock, clockNote{s.At, s.Series, s.Value})
			}
			continue
		}
		i, ok := series[s.Series]
		if !ok {
			i = len(in.Metrics)
			series[s.Series] = i
			in.Metrics = append(in.Metrics, metric{name: "series " + s.Series})
		}
		m := &in.Metrics[i]
		if n := len(m.times); n == 0 || !m.times[n-1].Equal(s.At) {
			m.times = append(m.times, s.At)
		}
	}
	return nil
}

// scanInterval is the autoscaler's at the start; upstream's default where its flags cannot be read.
func (in *Input) scanInterval() time.Duration {
	s, _, err := config.ParseSettings(in.Settings[0].Settings)
	if err != nil {
		return config.DefaultSettings().ScanInterval
	}
	return s.ScanInterval
}

// inGap gives the gap in which pods or nodes were not watched at t.
func (in *Input) inGap(t time.Time) (history.Gap, bool) {
	for _, g := range in.Gaps {
		if trace.Blind(g) && !t.Before(g.From) && t.Before(g.To) {
			return g, true
		}
	}
	return history.Gap{}, false
}
