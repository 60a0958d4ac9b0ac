package harness

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/agreement"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// report puts the ledger into its final form. It shares nothing with the ledger that changes when more is played, and changes
// nothing there.
func (r *run) report(end time.Time, playback scalehist.Playback) *scalehist.ReplayReport {
	out := &scalehist.ReplayReport{
		Version: scalehist.ReportVersion, Scenario: r.in.Name, Autoscaler: r.engine.Name(), Playback: playback, Origin: r.in.Origin,
		StartTime: r.in.Start, EndTime: end.UTC(), BatchInterval: scalehist.Duration(r.batch),
		Inputs: r.inputs(),
	}
	r.ledger.Fill(out, end, r.opts.FullSnapshots)
	for _, f := range r.opts.Faults {
		out.Faults = append(out.Faults, f.String())
	}
	out.ScaledUpNodeGroups, out.ScaledDownNodeGroups = map[string]int{}, map[string]int{}
	steps := r.steps()
	for _, s := range steps {
		if s.To > s.From {
			out.ScaledUpNodeGroups[s.NodeGroup] += s.To - s.From
		} else {
			out.ScaledDownNodeGroups[s.NodeGroup] += s.From - s.To
		}
	}
	out.NodeGroups = r.groupResults(steps, r.truth(end))
	if p := r.opts.prices; p != nil {
		var warnings []string
		out.Cost, warnings = r.ledger.Cost(end, p.Currency)
		out.Warnings = append(out.Warnings, warnings...)
	}
	out.Warnings = append(out.Warnings, guessedBounds(out.NodeGroups)...)
	out.Warnings = append(out.Warnings, assumedDelays(out.NodeGroups)...)
	r.compare(out, steps, end)
	r.ledger.Controllers(out, r.meter.Balances(end))
	out.Run = r.watch.Info(r.opts.ControlPlane)
	if p, ok := r.plane.(interface{ PeakMemory() map[string]int64 }); ok {
		maps.Copy(out.Run.PeakMemory, p.PeakMemory())
	}
	return out
}

// compare holds the replay against what was recorded up to where both go. The batch into which the recording's end falls
// counts as a whole: what answers its last changes comes at the boundary that ends it.
func (r *run) compare(out *scalehist.ReplayReport, steps []scalehist.RecordedStep, end time.Time) {
	truth := r.truth(end)
	if truth == nil {
		return
	}
	until := r.boundary(r.in.End)
	if end.Before(until) {
		until = end
	}
	var upTo []scalehist.RecordedStep
	for _, s := range steps {
		if !s.At.After(until) {
			upTo = append(upTo, s)
		}
	}
	out.Recorded = truth
	reached := r.ledger.ReachedBy(end)
	c := agreement.Comparison{
		Truth: truth, Replayed: upTo, Decisions: out.Decisions, Groups: r.in.NodeGroups, Start: r.in.Start, Until: until, Scan: r.scan,
		Pending: reached.Pending, Left: reached.Left, Cut: end.Before(r.in.End),
	}
	for _, name := range slices.Sorted(maps.Keys(truth.ScaledUpNodeGroups)) {
		if _, from := r.provisionDelay(name); from == "default" {
			c.Assumed = append(c.Assumed, name)
		}
	}
	out.Agreement = c.Agreement()
	if end.After(until) {
		until = until.UTC()
		out.Agreement.Until = &until
	}
	if out.Loops == 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the replay ended before the autoscaler's first loop, one scan interval (%s) after the start", r.scan))
	}
	if !out.Agreement.Agreed && closer(truth.Steps, r.batch) {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"recorded steps are closer together than the batch interval %s: with --batch-interval 0s each change comes at its own instant", r.batch))
	}
}

// truth is what was recorded up to the end of the replay; nil when nothing was.
func (r *run) truth(end time.Time) *scalehist.RecordedTruth {
	if r.in.Truth == nil || !end.Before(r.in.End) {
		return r.in.Truth
	}
	return r.in.TruthUntil(end)
}

// closer says whether two steps of different instants fall into one batch.
func closer(steps []scalehist.RecordedStep, batch time.Duration) bool {
	for i := 1; i < len(steps); i++ {
		if gap := steps[i].At.Sub(steps[i-1].At); gap > 0 && gap < batch {
			return true
		}
	}
	return false
}

// steps are the granted changes of target sizes; those of one instant and group are taken together when they go the
// same way, as the recording shows them.
func (r *run) steps() []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, s := range r.provider.Resizes() {
		if n := len(out); n > 0 && out[n-1].NodeGroup == s.Group && out[n-1].At.Equal(s.At) &&
			(out[n-1].To > out[n-1].From) == (s.To > s.From) {
			out[n-1].To = s.To
			continue
		}
		out = append(out, scalehist.RecordedStep{At: s.At.UTC(), NodeGroup: s.Group, From: s.From, To: s.To})
	}
	return out
}

func (r *run) groupResults(steps []scalehist.RecordedStep, truth *scalehist.RecordedTruth) []scalehist.NodeGroupResult {
	var out []scalehist.NodeGroupResult
	for _, g := range r.ledger.Groups() {
		now, _ := r.provider.Group(g.Name)
		res := scalehist.NodeGroupResult{
			Name: g.Name, MachineType: g.MachineType, Zone: g.Zone, MinSize: now.MinSize, MaxSize: now.MaxSize, GuessedMax: now.GuessedMax,
			Initial: g.TargetSize, Final: now.TargetSize, Peak: g.TargetSize,
			Sizes: []scalehist.SizeAt{{Offset: 0, Size: g.TargetSize}},
		}
		for _, s := range steps {
			if s.NodeGroup != g.Name {
				continue
			}
			res.Peak = max(res.Peak, s.To)
			res.ScaledUp += max(0, s.To-s.From)
			res.ScaledDown += max(0, s.From-s.To)
			res.Sizes = append(res.Sizes, scalehist.SizeAt{Offset: scalehist.Duration(s.At.Sub(r.in.Start)), Size: s.To})
		}
		r.ledger.Lived(&res, r.in.Start)
		res.ProvisionDelay, res.ProvisionDelayFrom = r.provisionDelay(g.Name)
		if truth != nil {
			final, up, down := truth.FinalSizes[g.Name], truth.ScaledUpNodeGroups[g.Name], truth.ScaledDownNodeGroups[g.Name]
			res.RecordedFinal, res.RecordedScaledUp, res.RecordedScaledDown = &final, &up, &down
		}
		out = append(out, res)
	}
	slices.SortFunc(out, func(a, b scalehist.NodeGroupResult) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// assumedDelays names the groups that grew with a delay nobody recorded or gave.
func assumedDelays(groups []scalehist.NodeGroupResult) []string {
	var names []string
	var delay scalehist.Duration
	for _, g := range groups {
		if g.ScaledUp > 0 && g.ProvisionDelayFrom == "default" {
			names, delay = append(names, g.Name), g.ProvisionDelay
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the recording does not show how long nodes of %s take: %s is assumed (--provision-delay)", strings.Join(names, ", "), delay)}
}

// provisionDelay is how long a group's nodes take here, and how that is known.
func (r *run) provisionDelay(group string) (scalehist.Duration, string) {
	d, known := r.in.ProvisionDelays[group]
	switch {
	case slices.Contains(r.in.GivenDelays, group):
		return scalehist.Duration(d), "given"
	case known:
		return scalehist.Duration(d), "recorded"
	case r.opts.ProvisionDelay != nil:
		return scalehist.Duration(*r.opts.ProvisionDelay), "default"
	}
	return scalehist.Duration(cloudprovider.DefaultProvisionDelay), "default"
}

func namedNode(name string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// guessedBounds is the warning about groups whose limit is a guess; none if there are none.
func guessedBounds(groups []scalehist.NodeGroupResult) []string {
	var list []string
	first := ""
	for _, g := range groups {
		if g.GuessedMax {
			list = append(list, fmt.Sprintf("%s %d", g.Name, g.MaxSize))
			if first == "" {
				first = g.Name
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the recording does not show how large node groups may be, and their max sizes are guesses, the most nodes seen: %s; "+
		"where one decides, the real autoscaler may have gone on (--bounds %s=MIN:MAX)", strings.Join(list, ", "), first)}
}
