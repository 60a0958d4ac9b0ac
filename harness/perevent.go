package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/agreement"
	"github.com/scalehist/scalehist/harness/moments"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
)

// ReplayEvents replays each recorded scale-up by itself: the cluster is as it was just before, the autoscaler
// decides, and what it asks for is compared with what the recorded one did. Then the nodes join and the scheduler places pods, which
// shows whether they helped. Each event has a cluster of its own, so a mistake in one does not carry over to the next.
func ReplayEvents(ctx context.Context, dbPath string, opts ...Option) (*scalehist.ReplayReport, error) {
	o := resolve(opts)
	if err := o.check(); err != nil {
		return nil, err
	}
	db, err := history.Open(ctx, dbPath)
	if err != nil {
		return nil, err
	}
	report, err := replayEvents(ctx, db, o)
	if err != nil {
		err = ofHistory(dbPath, err)
	}
	return report, errors.Join(err, db.Close())
}

func replayEvents(ctx context.Context, db *history.DB, o options) (*scalehist.ReplayReport, error) {
	rec := trace.Of(db)
	whole, err := o.input(ctx, rec, db)
	if err != nil {
		return nil, err
	}
	if err := whole.Supported(); err != nil && !o.SkipUnsupported {
		return nil, err
	}
	var events [][]scalehist.RecordedStep
	if whole.Truth != nil {
		events = agreement.ScaleUpEvents(whole.Truth.Steps)
	}
	if len(events) == 0 {
		return nil, errors.New("no scale-up was recorded in the window: there is no event to replay")
	}
	var total *scalehist.ReplayReport
	var kept moments.Builder
	for i, steps := range events {
		one, err := replayEvent(ctx, rec, o, i+1, whole.Truth.Source, steps)
		if err != nil {
			return nil, fmt.Errorf("event %d of %d at %s: %w", i+1, len(events), moment.Stamp(steps[0].At), err)
		}
		if err := kept.AddAll(one.Moments); err != nil {
			return nil, err
		}
		if total == nil {
			total = one
			continue
		}
		addEvent(total, one)
	}
	total.Moments = kept.Moments()
	total.StartTime, total.EndTime = whole.Start, whole.End
	total.Recorded = whole.Truth
	total.Agreement = agreement.OfEvents(total.Events)
	total.Inputs = append(slices.Clone(whole.Hashes), total.Inputs...)
	// Each event has a time of its own, so waits, nodes and costs do not add up: the reports of the events have them.
	total.Pending, total.ScaledUpNodes, total.Cost = scalehist.PendingStats{}, []scalehist.ScaledNode{}, nil
	total.UnschedulableAtEnd = []scalehist.UnschedulablePod{}
	for i := range total.NodeGroups {
		g := &total.NodeGroups[i]
		up, down, final := whole.Truth.ScaledUpNodeGroups[g.Name], whole.Truth.ScaledDownNodeGroups[g.Name], whole.Truth.FinalSizes[g.Name]
		g.RecordedScaledUp, g.RecordedScaledDown, g.RecordedFinal = &up, &down, &final
	}
	return total, nil
}

// replayEvent decides one recorded scale-up again, the nth, and plays what comes of it.
func replayEvent(ctx context.Context, rec *trace.Recording, o options, n int, source string, steps []scalehist.RecordedStep) (_ *scalehist.ReplayReport, err error) {
	in, err := rec.Instant(ctx, steps[0].At)
	if err != nil {
		return nil, err
	}
	if err := o.apply(in); err != nil {
		return nil, err
	}
	r, err := newRun(ctx, in, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.nextLoop = in.Start // decide now: the recorded one was due
	if err := r.play(ctx, in.Start); err != nil {
		return nil, err
	}
	e := scalehist.EventReplay{At: steps[0].At, Recorded: steps, Replayed: nonNil(r.steps()), Agreed: agreement.SameGrowth(steps, r.steps())}
	decided := r.ledger.Batches()
	if err := r.aftermath(ctx); err != nil {
		return nil, err
	}
	r.helped(&e)
	if o.eventReport != nil {
		if err := o.eventReport(n, r.eventReport(e, scalehist.PlaybackPerEvent, source)); err != nil {
			return nil, err
		}
	}
	report := r.eventReport(e, scalehist.PlaybackPerEvent, source)
	report.Batches = report.Batches[:decided] // what came of them is of another time than the next event
	return report, nil
}

// addEvent adds one event's report to the whole: sums, lists, and the last state as the end.
func addEvent(total, one *scalehist.ReplayReport) {
	for name, n := range one.ScaledUpNodeGroups {
		total.ScaledUpNodeGroups[name] += n
	}
	for name, n := range one.ScaledDownNodeGroups {
		total.ScaledDownNodeGroups[name] += n
	}
	for i := range total.NodeGroups {
		for _, g := range one.NodeGroups {
			if g.Name == total.NodeGroups[i].Name {
				t := &total.NodeGroups[i]
				t.ScaledUp += g.ScaledUp
				t.ScaledDown += g.ScaledDown
				t.Final = g.Final // after the last event
				t.Peak = max(t.Peak, g.Peak)
			}
		}
	}
	total.Decisions = append(total.Decisions, one.Decisions...)
	total.Loops += one.Loops
	total.Steps = append(total.Steps, one.Steps...)
	for _, w := range one.Warnings {
		if !slices.Contains(total.Warnings, w) {
			total.Warnings = append(total.Warnings, w)
		}
	}
	total.Batches = append(total.Batches, one.Batches...)
	total.Events = append(total.Events, one.Events...)
	total.End = one.End
	for phase, s := range one.Run.WallTime {
		total.Run.WallTime[phase] += s
	}
	for name, bytes := range one.Run.PeakMemory {
		total.Run.PeakMemory[name] = max(total.Run.PeakMemory[name], bytes)
	}
}
