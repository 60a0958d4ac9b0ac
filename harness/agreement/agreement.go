package agreement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// Comparison is a replay beside its recording, up to where both go.
type Comparison struct {
	// Truth is the recording's side, never nil.
	Truth *scalehist.RecordedTruth
	// Replayed are the steps of the replay up to Until, in the order of time; Decisions are those behind them, which reasons quote.
	Replayed  []scalehist.RecordedStep
	Decisions []scalehist.Decision
	// Groups are the node groups at the start.
	Groups []scalehist.NodeGroup
	// Start is where both begin, Until where the comparison ends.
	Start, Until time.Time
	// Pending are the waits of the replay's pods up to Until, Left counts its pods without a node then.
	Pending scalehist.PendingStats
	Left    int
	// Scan is the autoscaler's scan interval, and the tolerance of times: the loops of a replay need not come at the instants at
	// which those of the recorded autoscaler came, so what one of them decides may come up to one interval earlier or later.
	Scan time.Duration
	// Cut: the replay ended before the recording.
	Cut bool
	// Assumed are the node groups that grew in the recording and of which it does not show how long their nodes take.
	Assumed []string
}

// Agreement answers all questions, in their order.
func (c Comparison) Agreement() *scalehist.Agreement {
	a := &scalehist.Agreement{Differences: c.differences()}
	recorded, replayed := c.beforeEdge(a.Differences)
	a.Groups = differing(Net(recorded), Net(replayed))
	recordedUp, recordedDown := moved(recorded)
	up, down := moved(replayed)
	a.Questions = []scalehist.Answer{
		scaled(scalehist.QuestionScaledUp, "grew", "+", recordedUp, up),
		scaled(scalehist.QuestionScaledDown, "shrank", "-", recordedDown, down),
		c.unschedulable(),
		c.peaks(recorded, replayed),
		c.steps(a.Differences, len(recorded), len(replayed)),
		c.waits(),
	}
	a.Agreed = a.Agrees()
	return a
}

// beforeEdge are the recorded and the replayed steps without those that only one side took, and so late that the other may
// have taken them after the end: within the tolerance of it. Their differences are marked as being within it.
func (c Comparison) beforeEdge(differences []scalehist.Difference) (recorded, replayed []scalehist.RecordedStep) {
	edge := c.Until.Add(-c.Scan)
	var left []*scalehist.RecordedStep
	for i := range differences {
		d := &differences[i]
		step := cmp.Or(d.Recorded, d.Replayed)
		if d.Kind != "missing" && d.Kind != "extra" || !step.At.After(edge) {
			continue
		}
		d.Within = true
		d.Reason = fmt.Sprintf("within one scan interval (%s) of the end, where the comparison cannot tell late from missing", c.Scan)
		left = append(left, step)
	}
	without := func(steps []scalehist.RecordedStep, side func(scalehist.Difference) *scalehist.RecordedStep) []scalehist.RecordedStep {
		var out []scalehist.RecordedStep
		for _, s := range steps {
			if !slices.ContainsFunc(differences, func(d scalehist.Difference) bool {
				x := side(d)
				return x != nil && slices.Contains(left, x) && x.At.Equal(s.At) && sameStep(*x, s)
			}) {
				out = append(out, s)
			}
		}
		return out
	}
	return without(c.Truth.Steps, func(d scalehist.Difference) *scalehist.RecordedStep { return d.Recorded }),
		without(c.Replayed, func(d scalehist.Difference) *scalehist.RecordedStep { return d.Replayed })
}

// moved sums up by how many nodes groups grew, and by how many they shrank.
func moved(steps []scalehist.RecordedStep) (up, down map[string]int) {
	up, down = map[string]int{}, map[string]int{}
	for _, s := range steps {
		if s.To > s.From {
			up[s.NodeGroup] += s.To - s.From
		} else {
			down[s.NodeGroup] += s.From - s.To
		}
	}
	return up, down
}

// scaled compares growth, or shrinkage, group by group.
func scaled(q scalehist.Question, verb, sign string, recorded, replayed map[string]int) scalehist.Answer {
	out := byGroup(q, sign, recorded, replayed)
	if out.Verdict == scalehist.AnswerAgreed {
		out.Text = "each node group " + verb + " by as many nodes"
		return out
	}
	out.Text = fmt.Sprintf("%s %s by another number of nodes", plural.Of(len(out.Groups), "node group"), verb)
	return out
}

// peaks compares the largest size of each group.
func (c Comparison) peaks(before, after []scalehist.RecordedStep) scalehist.Answer {
	peak := func(steps []scalehist.RecordedStep) map[string]int {
		out := map[string]int{}
		for _, g := range c.Groups {
			out[g.Name] = g.TargetSize
		}
		for _, s := range steps {
			out[s.NodeGroup] = max(out[s.NodeGroup], s.From, s.To)
		}
		return out
	}
	recorded, replayed := peak(before), peak(after)
	for _, g := range c.Groups { // those that stayed as they were on both sides say nothing
		if recorded[g.Name] == g.TargetSize && replayed[g.Name] == g.TargetSize {
			delete(recorded, g.Name)
			delete(replayed, g.Name)
		}
	}
	out := byGroup(scalehist.QuestionPeakSize, "", recorded, replayed)
	if len(recorded)+len(replayed) == 0 {
		out.Recorded, out.Replayed = "as at the start", "as at the start"
	}
	out.Text = "each node group was as large at most"
	if out.Verdict != scalehist.AnswerAgreed {
		out.Text = fmt.Sprintf("%s had another largest size", plural.Of(len(out.Groups), "node group"))
	}
	return out
}

// unschedulable compares how many pods have no node, both at the instant where the comparison ends.
func (c Comparison) unschedulable() scalehist.Answer {
	out := scalehist.Answer{Question: scalehist.QuestionUnschedulable, Verdict: scalehist.AnswerUnknown, Replayed: plural.Of(c.Left, "pod")}
	if c.Truth.Pending == nil && c.Cut {
		out.Text = "the replay ended before the recording, and how many pods had no node by then was not recorded"
		return out
	}
	out.Recorded = plural.Of(c.Truth.UnschedulableAtEnd, "pod")
	if len(c.Assumed) > 0 {
		out.Text = c.assumption()
		return out
	}
	out.Verdict, out.Text = scalehist.AnswerAgreed, "as many pods have no node at the end"
	if c.Truth.UnschedulableAtEnd != c.Left {
		out.Verdict, out.Text = scalehist.AnswerDiffers, "another number of pods has no node at the end"
	}
	return out
}

// assumption says why it is not known when pods got a node.
func (c Comparison) assumption() string {
	return fmt.Sprintf("the recording does not show how long nodes of %s take, and when pods get one depends on it (--provision-delay-of)", strings.Join(c.Assumed, ", "))
}

// steps says whether sizes were reached in the same order and at the same time, within one scan interval.
func (c Comparison) steps(differences []scalehist.Difference, recorded, replayed int) scalehist.Answer {
	out := scalehist.Answer{
		Question: scalehist.QuestionSteps, Verdict: scalehist.AnswerAgreed,
		Recorded: plural.Of(recorded, "step"), Replayed: plural.Of(replayed, "step"),
		Text: fmt.Sprintf("each within one scan interval (%s) of the recording", c.Scan),
	}
	if recorded+replayed == 0 {
		out.Text = "nothing scaled"
	}
	var parts []string
	for _, k := range []struct{ kind, text string }{
		{"missing", "missing"}, {"extra", "extra"}, {"size", "of another size"}, {"order", "in another order"}, {"time", fmt.Sprintf("more than one scan interval (%s) earlier or later", c.Scan)},
	} {
		n := 0
		for _, d := range differences {
			if d.Kind == k.kind && !d.Within {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k.text))
		}
	}
	if len(parts) > 0 {
		out.Verdict, out.Text = scalehist.AnswerDiffers, strings.Join(parts, ", ")
	}
	return out
}

// magnitude is up to which factor waits are of the same magnitude. It is a choice, there is no upstream number: replays of the
// recordings of the real autoscaler come within a factor of 1.7 of the recorded waits, those of autoscalers that leave pods
// waiting are off by several times (docs/verdict.md). What comes on top, the time to the next loop, is c.Scan.
const magnitude = 2

// waits compares the waits of pods for a node by their magnitude: the median and the 95th percentile.
func (c Comparison) waits() scalehist.Answer {
	out := scalehist.Answer{Question: scalehist.QuestionWaits, Verdict: scalehist.AnswerUnknown, Replayed: waitText(c.Pending)}
	recorded := c.Truth.Pending
	if recorded == nil {
		out.Text = "how long pods waited was not recorded"
		return out
	}
	out.Recorded = waitText(*recorded)
	if len(c.Assumed) > 0 {
		out.Text = c.assumption()
		return out
	}
	out.Verdict = scalehist.AnswerAgreed
	out.Text = fmt.Sprintf("the larger wait is at most %d times the smaller and one scan interval (%s)", magnitude, c.Scan)
	if recorded.Of+c.Pending.Of == 0 {
		out.Text = "no pod arrived or lost its node"
	}
	var parts []string
	for _, p := range []struct {
		name               string
		recorded, replayed float64
	}{{"p50", recorded.P50, c.Pending.P50}, {"p95", recorded.P95, c.Pending.P95}} {
		if max(p.recorded, p.replayed) > magnitude*min(p.recorded, p.replayed)+c.Scan.Seconds() {
			parts = append(parts, p.name)
		}
	}
	if len(parts) > 0 {
		out.Verdict = scalehist.AnswerDiffers
		out.Text = fmt.Sprintf("%s: the larger is more than %d times the smaller and one scan interval (%s)", strings.Join(parts, " and "), magnitude, c.Scan)
	}
	return out
}

// byGroup compares numbers of nodes group by group.
func byGroup(q scalehist.Question, sign string, recorded, replayed map[string]int) scalehist.Answer {
	out := scalehist.Answer{Question: q, Verdict: scalehist.AnswerAgreed, Groups: differing(recorded, replayed)}
	if len(out.Groups) > 0 {
		out.Verdict = scalehist.AnswerDiffers
	}
	var first []string // those that differ are shown in any case
	for _, g := range out.Groups {
		first = append(first, g.NodeGroup)
	}
	names := first
	for _, name := range unionKeys(recorded, replayed) {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	out.Recorded, out.Replayed = groupText(names, sign, recorded), groupText(names, sign, replayed)
	return out
}

// differing are the groups whose numbers are not the same.
func differing(recorded, replayed map[string]int) []scalehist.GroupDifference {
	var out []scalehist.GroupDifference
	for _, name := range unionKeys(recorded, replayed) {
		if recorded[name] != replayed[name] {
			out = append(out, scalehist.GroupDifference{NodeGroup: name, Recorded: recorded[name], Replayed: replayed[name]})
		}
	}
	return out
}

// mostGroups bounds the groups that an answer names.
const mostGroups = 6

// groupText is "batch +3, std +4", in the order of names; without a sign "batch 3, std 5".
func groupText(names []string, sign string, sizes map[string]int) string {
	var parts []string
	more := 0
	for _, name := range names {
		n, known := sizes[name]
		switch {
		case !known || n == 0 && sign != "":
		case len(parts) == mostGroups:
			more++
		default:
			parts = append(parts, fmt.Sprintf("%s %s%d", name, sign, n))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	text := strings.Join(parts, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// waitText is "p50 0s, p95 1m18s".
func waitText(p scalehist.PendingStats) string {
	seconds := func(s float64) time.Duration {
		return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond)
	}
	return fmt.Sprintf("p50 %s, p95 %s", seconds(p.P50), seconds(p.P95))
}

// Net sums up by how many nodes each node group grew; less than nothing is a group that shrank.
func Net(steps []scalehist.RecordedStep) map[string]int {
	out := map[string]int{}
	for _, s := range steps {
		out[s.NodeGroup] += s.To - s.From
	}
	return out
}

func unionKeys(maps ...map[string]int) []string {
	var names []string
	for _, m := range maps {
		for k := range m {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
