package engines

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca"
	"github.com/scalehist/scalehist/virtualca/config"
)

// late is by how much the late autoscaler is late.
const late = 10 * time.Minute

// defect is something that is wrong with an autoscaler, for which it must not be said to agree.
type defect struct {
	name, doc string
	// must are the questions that must differ for a recording; none where the recording cannot show the defect.
	must func(in *trace.Input) []scalehist.Question
	// play are the options of a replay with the defect.
	play func(in *trace.Input) []harness.Option
}

// defects are the columns of the table, in order.
var defects = []defect{
	{
		name: "does nothing", doc: "An autoscaler whose loops decide nothing.", must: asScaled,
		play: func(*trace.Input) []harness.Option {
			return with(func(harness.Env) (scalehist.Autoscaler, error) { return idle{}, nil })
		},
	},
	{
		name: "frozen", doc: "Limits of each node group at the size that it starts with: nothing can be resized.", must: asScaled,
		play: func(in *trace.Input) []harness.Option {
			opts := with(ClusterAutoscaler())
			for _, g := range in.NodeGroups {
				opts = append(opts, harness.With(func(s *harness.Settings) { s.SetBounds(g.Name, g.TargetSize, g.TargetSize) }))
			}
			return opts
		},
	},
	{
		name: "wrong group", doc: "The right number of nodes, all in the node group that grew least in the recording.",
		must: func(in *trace.Input) []scalehist.Question {
			// Where nothing but that group grew, its nodes are the right ones.
			return when(len(without(slices.Collect(maps.Keys(in.Truth.ScaledUpNodeGroups)), leastGrown(in))) > 0, scalehist.QuestionScaledUp)
		},
		play: func(in *trace.Input) []harness.Option {
			wrong := leastGrown(in)
			return misled(nil, func(p *cloudprovider.Provider) virtualca.CloudProvider { return wrongGroup{p, wrong} })
		},
	},
	{
		name: "every step twice", doc: "Each growth is asked for twice, as far as the group's limit allows.",
		must: func(in *trace.Input) []scalehist.Question {
			// All that grew in one step and never reached its limit has room for a second time. Where several steps followed on
			// each other, the second time of one may be the next one.
			return when(len(in.Truth.Steps) == 1 && in.Truth.Steps[0].To > in.Truth.Steps[0].From && !slices.ContainsFunc(in.NodeGroups, func(g scalehist.NodeGroup) bool {
				return in.Truth.ScaledUpNodeGroups[g.Name] > 0 && peakOf(in, g)+in.Truth.ScaledUpNodeGroups[g.Name] > g.MaxSize
			}), scalehist.QuestionSteps)
		},
		play: func(*trace.Input) []harness.Option {
			return misled(nil, func(p *cloudprovider.Provider) virtualca.CloudProvider { return twice{p} })
		},
	},
	{
		name: "never down", doc: "Growth as it should be, but no node is ever removed and no target size lowered.",
		must: func(in *trace.Input) []scalehist.Question {
			return when(len(in.Truth.ScaledDownNodeGroups) > 0, scalehist.QuestionScaledDown)
		},
		play: func(*trace.Input) []harness.Option {
			return misled(nil, func(p *cloudprovider.Provider) virtualca.CloudProvider { return neverDown{p} })
		},
	},
	{
		name: "10 minutes late", doc: "Pods must be ten minutes old before groups grow for them, and nodes unneeded for ten minutes more before they are removed.",
		must: func(in *trace.Input) []scalehist.Question {
			return when(len(in.Truth.Steps) > 0, scalehist.QuestionSteps)
		},
		play: func(*trace.Input) []harness.Option {
			return misled(func(s *config.Settings) {
				s.NewPodScaleUpDelay += late
				s.Down.UnneededTime += late
			}, nil)
		},
	},
	{
		name: "oscillates", doc: "A group grows by a node that is taken back with the next loop, three times; it ends as it should.",
		must: func(in *trace.Input) []scalehist.Question {
			return when(roomy(in) != "", scalehist.QuestionScaledUp, scalehist.QuestionScaledDown)
		},
		play: func(in *trace.Input) []harness.Option {
			group := roomy(in)
			return with(func(env harness.Env) (scalehist.Autoscaler, error) {
				a, err := built(env, env.Provider, nil)
				return &oscillating{Autoscaler: a, provider: env.Provider, group: group}, err
			})
		},
	},
}

// asScaled: where the recording grew, or shrank, that cannot be as recorded any more.
func asScaled(in *trace.Input) []scalehist.Question {
	return append(when(len(in.Truth.ScaledUpNodeGroups) > 0, scalehist.QuestionScaledUp),
		when(len(in.Truth.ScaledDownNodeGroups) > 0, scalehist.QuestionScaledDown)...)
}

func when(possible bool, questions ...scalehist.Question) []scalehist.Question {
	if !possible {
		return nil
	}
	return questions
}

func with(a harness.NewAutoscaler) []harness.Option {
	return []harness.Option{harness.WithAutoscaler(a)}
}

// misled is the virtual cluster autoscaler with other settings, or with a cloud provider that does not do as asked.
func misled(change func(*config.Settings), mislead func(*cloudprovider.Provider) virtualca.CloudProvider) []harness.Option {
	return with(func(env harness.Env) (scalehist.Autoscaler, error) {
		var provider virtualca.CloudProvider = env.Provider
		if mislead != nil {
			provider = mislead(env.Provider)
		}
		return built(env, provider, change)
	})
}

func built(env harness.Env, provider virtualca.CloudProvider, change func(*config.Settings)) (*virtualca.Autoscaler, error) {
	settings, _, err := config.ParseSettings(env.Settings)
	if err != nil {
		return nil, err
	}
	settings.Seed = env.Seed
	if change != nil {
		change(&settings)
	}
	return virtualca.New(env.Cluster, provider, settings)
}

// leastGrown is the node group that grew least in a recording, the first of those.
func leastGrown(in *trace.Input) string {
	return slices.MinFunc(in.NodeGroups, func(a, b scalehist.NodeGroup) int {
		return in.Truth.ScaledUpNodeGroups[a.Name] - in.Truth.ScaledUpNodeGroups[b.Name]
	}).Name
}

// peakOf is the largest size a group had in a recording.
func peakOf(in *trace.Input, g scalehist.NodeGroup) int {
	peak := g.TargetSize
	for _, s := range in.Truth.Steps {
		if s.NodeGroup == g.Name {
			peak = max(peak, s.From, s.To)
		}
	}
	return peak
}

// roomy is the first group that is never at its limit in a recording: a node more always has room. Empty: there is none.
func roomy(in *trace.Input) string {
	i := slices.IndexFunc(in.NodeGroups, func(g scalehist.NodeGroup) bool { return peakOf(in, g) < g.MaxSize })
	if i < 0 {
		return ""
	}
	return in.NodeGroups[i].Name
}

// idle decides nothing.
type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) RunOnce(_ context.Context, now time.Time) (scalehist.Decision, error) {
	return scalehist.Decision{At: now}, nil
}

// wrongGroup grows one group, whichever is asked for.
type wrongGroup struct {
	*cloudprovider.Provider
	wrong string
}

func (p wrongGroup) IncreaseSize(ctx context.Context, now time.Time, _ string, delta int) error {
	return p.Provider.IncreaseSize(ctx, now, p.wrong, delta)
}

// twice grows groups by twice what is asked for, or up to their limit.
type twice struct{ *cloudprovider.Provider }

func (p twice) IncreaseSize(ctx context.Context, now time.Time, group string, delta int) error {
	if err := p.Provider.IncreaseSize(ctx, now, group, delta); err != nil {
		return err
	}
	g, _ := p.Group(group)
	if again := min(delta, g.MaxSize-g.TargetSize); again > 0 {
		return p.Provider.IncreaseSize(ctx, now, group, again)
	}
	return nil
}

// neverDown says yes to every removal and does none.
type neverDown struct{ *cloudprovider.Provider }

func (neverDown) DeleteNodes(context.Context, time.Time, string, []string) error   { return nil }
func (neverDown) DecreaseTargetSize(context.Context, time.Time, string, int) error { return nil }

// oscillating grows a group after a loop, and takes that back before the next.
type oscillating struct {
	*virtualca.Autoscaler
	provider *cloudprovider.Provider
	group    string
	times    int
	up       bool
}

// RunOnce implements scalehist.Autoscaler.
func (o *oscillating) RunOnce(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	if o.up {
		o.up = false
		if err := o.takeBack(ctx, now); err != nil {
			return scalehist.Decision{}, err
		}
	}
	d, err := o.Autoscaler.RunOnce(ctx, now)
	if err != nil || d.Again || o.times == 3 {
		return d, err
	}
	o.times++
	o.up = true
	return d, o.provider.IncreaseSize(ctx, now, o.group, 1)
}

// takeBack cancels the node, or deletes it if it is there already.
func (o *oscillating) takeBack(ctx context.Context, now time.Time) error {
	instances := o.provider.Instances(o.group)
	last := instances[len(instances)-1]
	if last.State == cloudprovider.InstanceCreating {
		return o.provider.DecreaseTargetSize(ctx, now, o.group, 1)
	}
	return o.provider.DeleteNodes(ctx, now, o.group, []string{last.NodeName})
}
