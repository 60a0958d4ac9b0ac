package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/agreement"
	"github.com/scalehist/scalehist/harness/gpu"
	"github.com/scalehist/scalehist/harness/moments"
	"github.com/scalehist/scalehist/harness/runinfo"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// ReplaySnapshots decides again about each cluster that a report keeps (WithMoments): the autoscaler sees what that of the
// report saw, and what both ask for is compared. Decisions of one instant are one event, as an autoscaler that looks again at once
// goes on with the same plan. Then the nodes join and the scheduler places pods, on a cluster in memory, which shows whether they helped.
// Nothing is carried over from one event to the next; nothing fails either, so a scale-up that was refused counts as asked for. Of the options those that choose and configure the autoscaler have an
// effect, and the prices.
func ReplaySnapshots(ctx context.Context, from *scalehist.ReplayReport, opts ...Option) (*scalehist.ReplayReport, error) {
	o := resolve(opts)
	if o.autoscaler == nil {
		return nil, o.check()
	}
	if from.Moments == nil || len(from.Moments.Moments) == 0 {
		return nil, errors.New("the report keeps no clusters to decide about: make it with 'scalehist replay --full-snapshots' (harness.WithMoments in Go), from a recording in which pods wait for nodes")
	}
	p, err := newSnapshotPlayback(from, o)
	if err != nil {
		return nil, err
	}
	moments := from.Moments.Moments
	for i := 0; i < len(moments); {
		n := 1
		for i+n < len(moments) && moments[i+n].At.Equal(moments[i].At) {
			n++
		}
		if err := p.event(ctx, i, n); err != nil {
			return nil, fmt.Errorf("event at %s: %w", moment.Stamp(moments[i].At), err)
		}
		i += n
	}
	return p.finish(), nil
}

// snapshotPlayback is a playback under way.
type snapshotPlayback struct {
	from  *scalehist.ReplayReport
	opts  options
	out   *scalehist.ReplayReport
	watch *runinfo.Stopwatch
	// moments are those of its own decisions.
	moments moments.Builder
}

func newSnapshotPlayback(from *scalehist.ReplayReport, o options) (*snapshotPlayback, error) {
	hash, err := reportHash(from)
	if err != nil {
		return nil, err
	}
	return &snapshotPlayback{from: from, opts: o, watch: runinfo.Start(), out: &scalehist.ReplayReport{
		Version: scalehist.ReportVersion, Scenario: from.Scenario, Playback: scalehist.PlaybackSnapshots,
		StartTime: from.StartTime, EndTime: from.EndTime, BatchInterval: from.BatchInterval,
		ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{}, ScaledUpNodes: []scalehist.ScaledNode{},
		Decisions: []scalehist.Decision{}, Steps: []scalehist.SizeStep{}, Batches: []scalehist.Batch{}, UnschedulableAtEnd: []scalehist.UnschedulablePod{},
		Inputs: []scalehist.InputHash{{Name: "report of " + from.Autoscaler, SHA256: hash}},
		Start:  from.Start.Summary(), End: from.End.Summary(),
		Recorded: &scalehist.RecordedTruth{Source: "decisions of " + from.Autoscaler, ScaledUpNodeGroups: map[string]int{},
			ScaledDownNodeGroups: map[string]int{}, FinalSizes: map[string]int{}, Steps: []scalehist.RecordedStep{}},
	}}, nil
}

// reportHash is that of all that a replay of the same input gives again.
func reportHash(r *scalehist.ReplayReport) (string, error) {
	same := *r
	same.Run = nil
	b, err := json.Marshal(&same)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// event decides about the first of n moments of one instant, and compares with what was decided in all of them.
func (p *snapshotPlayback) event(ctx context.Context, first, n int) (err error) {
	state, err := moments.State(p.from.Moments, first)
	if err != nil {
		return err
	}
	provider, err := p.standing(&state)
	if err != nil {
		return err
	}
	engine, settings, err := p.engine(&state, provider)
	if err != nil {
		return err
	}
	r, err := p.aside(ctx, &state, provider)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.engine = engine
	r.ledger.Settings(state.At, settings)
	e := scalehist.EventReplay{At: state.At, Recorded: nonNil(p.asked(first, n, &state))}
	for loop := range maxLoopsAtOnce {
		before := stateNow(state.At, state.Objects, provider, state.Backoff)
		done := p.watch.Time("decide")
		d, err := engine.RunOnce(ctx, state.At)
		done()
		if err != nil {
			return fmt.Errorf("%s: %w", engine.Name(), err)
		}
		p.out.Loops++
		r.ledger.Decided(d)
		d.Loop = p.out.Loops        // each event has an autoscaler of its own, which counts from 1
		if loop == 0 || d.Acted() { // the last look finds nothing left to ask for
			p.out.Decisions = append(p.out.Decisions, d)
			decided(before, d)
			p.moments.Add(*before)
		}
		if !d.Again {
			break
		}
	}
	e.Replayed = nonNil(agreement.Increases(resized(provider)))
	e.Agreed = agreement.SameGrowth(e.Recorded, e.Replayed)
	if err := p.place(ctx, r, &e); err != nil {
		return err
	}
	p.out.Events = append(p.out.Events, e)
	p.sum(&e)
	return nil
}

// standing is a provider of the node groups as they were. Groups in backoff may not grow.
func (p *snapshotPlayback) standing(s *scalehist.ClusterState) (*cloudprovider.Provider, error) {
	groups := make([]scalehist.NodeGroup, 0, len(s.NodeGroups))
	pods := map[string][]*corev1.Pod{}
	requested := map[string][]time.Time{}
	leaving := map[string]bool{}
	for _, g := range s.NodeGroups {
		g.TargetSize = max(0, g.TargetSize-len(g.Failed)) // an observer gives up on those first
		if slices.ContainsFunc(s.Backoff, func(b scalehist.GroupBackoff) bool { return b.NodeGroup == g.Name }) {
			g.MaxSize = max(g.MinSize, min(g.MaxSize, g.TargetSize))
		}
		groups = append(groups, g.NodeGroup)
		pods[g.Name] = g.TemplatePods
		for _, u := range g.Upcoming {
			requested[g.Name] = append(requested[g.Name], u.RequestedAt)
		}
		for _, name := range g.Deleting {
			leaving[name] = true
		}
	}
	gpus := gpu.RuleOf(p.opts.GPULabel, p.from.Settings.Flags, groups, s.Objects.Nodes)
	provider, err := cloudprovider.New(groups, cloudprovider.Options{Start: s.At, Prices: p.opts.prices, TemplatePods: pods,
		ProvisionDelay: delaysOf(p.from.NodeGroups, groups), GPULabel: gpus.Label, IgnoreGPUs: gpus.Ignored})
	if err != nil {
		return nil, err
	}
	for _, n := range s.Objects.Nodes {
		if _, grouped := provider.GroupForNode(n); !grouped || leaving[n.Name] {
			continue
		}
		if err := provider.Adopt(n); err != nil {
			return nil, err
		}
	}
	provider.Resume(s.At, requested)
	return provider, nil
}

// engine is a fresh autoscaler that sees one cluster, with the settings in force then.
func (p *snapshotPlayback) engine(s *scalehist.ClusterState, provider *cloudprovider.Provider) (scalehist.Autoscaler, scalehist.CASettings, error) {
	settings := p.from.Settings
	for _, c := range p.from.SettingsChanges {
		if !c.At.After(s.At) {
			settings = c.Settings
		}
	}
	settings.Flags = slices.Concat(settings.Flags, p.opts.Flags)
	inForce := settings
	engine, err := p.opts.autoscaler(Env{
		Cluster: still{s.Objects}, Provider: provider, Settings: settings, Seed: p.opts.Seed, NamelessTies: p.opts.Ties == TiesByCreation, NodesAsStored: p.opts.Ties == TiesUpstream,
		Warn: func(w string) {
			if !slices.Contains(p.out.Warnings, w) {
				p.out.Warnings = append(p.out.Warnings, w)
			}
		},
		InForce: func(changed scalehist.CASettings) { inForce = changed },
	})
	if err != nil {
		return nil, inForce, fmt.Errorf("build the autoscaler: %w", err)
	}
	if len(p.out.Events) == 0 {
		p.out.Autoscaler, p.out.Settings = engine.Name(), inForce
	}
	resumeUpcoming(engine, provider, s.At)
	return engine, inForce, nil
}

// asked are the growths that the report's autoscaler asked for in n moments from the first on, refused ones included.
func (p *snapshotPlayback) asked(first, n int, s *scalehist.ClusterState) []scalehist.RecordedStep {
	size := map[string]int{}
	for _, g := range s.NodeGroups {
		size[g.Name] = g.TargetSize - len(g.Failed)
	}
	var out []scalehist.RecordedStep
	grow := func(group string, by int) {
		if i := slices.IndexFunc(out, func(o scalehist.RecordedStep) bool { return o.NodeGroup == group }); i >= 0 {
			out[i].To += by
			return
		}
		out = append(out, scalehist.RecordedStep{At: s.At, NodeGroup: group, From: size[group], To: size[group] + by})
	}
	for _, m := range p.from.Moments.Moments[first : first+n] {
		for _, d := range p.from.Decisions {
			if d.Loop != m.Loop || !d.At.Equal(m.At) {
				continue
			}
			for _, up := range d.ScaleUps {
				grow(up.NodeGroup, up.To-up.From)
			}
			for _, f := range d.Failed {
				grow(f.NodeGroup, f.Delta)
			}
		}
	}
	return out
}

// sum adds an event to the totals.
func (p *snapshotPlayback) sum(e *scalehist.EventReplay) {
	for _, s := range e.Recorded {
		p.out.Recorded.ScaledUpNodeGroups[s.NodeGroup] += s.To - s.From
	}
	step := scalehist.SizeStep{At: e.At}
	for _, s := range e.Replayed {
		p.out.ScaledUpNodeGroups[s.NodeGroup] += s.To - s.From
		step.Changes = append(step.Changes, scalehist.SizeChange{NodeGroup: s.NodeGroup, From: s.From, To: s.To})
	}
	p.out.Recorded.Steps = append(p.out.Recorded.Steps, e.Recorded...)
	if len(step.Changes) > 0 {
		p.out.Steps = append(p.out.Steps, step)
	}
}

func (p *snapshotPlayback) finish() *scalehist.ReplayReport {
	r := p.out
	for _, g := range p.from.NodeGroups {
		up, down, final := r.Recorded.ScaledUpNodeGroups[g.Name], 0, g.Initial
		// Each event begins with the sizes that there were: growth adds up, sizes do not.
		g.Final, g.Peak, g.ScaledUp, g.ScaledDown = g.Initial, g.Initial, r.ScaledUpNodeGroups[g.Name], 0
		for _, e := range r.Events {
			for _, s := range e.Replayed {
				if s.NodeGroup == g.Name {
					g.Peak = max(g.Peak, s.To)
				}
			}
		}
		g.Sizes = []scalehist.SizeAt{{Size: g.Initial}}
		r.Recorded.FinalSizes[g.Name] = final
		g.RecordedFinal, g.RecordedScaledUp, g.RecordedScaledDown = &final, &up, &down
		r.NodeGroups = append(r.NodeGroups, g)
	}
	if p.opts.moments {
		r.Moments = p.moments.Moments()
	}
	r.Agreement = agreement.OfEvents(r.Events)
	r.Run = p.watch.Info(Memory) // whatever else is chosen
	return r
}

// resized are a provider's changes as steps, one for each group.
func resized(provider *cloudprovider.Provider) []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, s := range provider.Resizes() {
		i := slices.IndexFunc(out, func(o scalehist.RecordedStep) bool { return o.NodeGroup == s.Group })
		if i >= 0 {
			out[i].To = s.To
			continue
		}
		out = append(out, scalehist.RecordedStep{At: s.At.UTC(), NodeGroup: s.Group, From: s.From, To: s.To})
	}
	return out
}

// still is a cluster in which nothing happens.
type still struct{ objects *scalehist.Objects }

// Objects implements scalehist.Cluster.
func (c still) Objects() *scalehist.Objects { return c.objects }

// Evict implements scalehist.Cluster: it refuses.
func (c still) Evict(_ context.Context, namespace, name string) error {
	return fmt.Errorf("pod %s/%s stays: the cluster is a snapshot, in which nothing moves", namespace, name)
}

// SetTaints implements scalehist.Cluster; nobody looks again.
func (c still) SetTaints(context.Context, string, []corev1.Taint) error { return nil }

// Cordon implements scalehist.Cluster; nobody looks again.
func (c still) Cordon(context.Context, string, bool) error { return nil }
