package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/report"
)

// matcher is Gomega's, as harness/expect makes them.
type matcher interface {
	Match(actual any) (bool, error)
	FailureMessage(actual any) string
	NegatedFailureMessage(actual any) string
}

// expectation is one matcher and where it is; not turns it around.
type expectation struct {
	path    string
	matcher matcher
	not     bool
}

// what is the key of the file, for titles.
func (x expectation) what() string { return strings.TrimPrefix(x.path, "expect.") }

func (x expectation) failure() string {
	if x.not {
		return x.matcher.NegatedFailureMessage(nil)
	}
	return x.matcher.FailureMessage(nil)
}

// expectations are those of the file, in the order of the fields of Expect.
func (s *Scenario) expectations(j Judging) []expectation {
	var out []expectation
	add := func(path string, m matcher) { out = append(out, expectation{path: "expect." + path, matcher: m}) }
	e := s.Expect
	if e.ScaledUp != nil {
		add("scaledUp", expect.HaveChanged(report.Up, counts(e.ScaledUp)))
	}
	if e.ScaledDown != nil {
		add("scaledDown", expect.HaveChanged(report.Down, counts(e.ScaledDown)))
	}
	if e.FinalSizes != nil {
		add("finalSizes", expect.HaveFinalSizes(counts(e.FinalSizes)))
	}
	if u := e.Unschedulable; u != nil {
		switch {
		case u.Count == nil:
			add("unschedulable", expect.LeaveUnschedulable(u.Pods...))
		case *u.Count == expect.Exactly(0):
			add("unschedulable", expect.LeaveUnschedulable())
		default:
			add("unschedulable", expect.LeaveUnschedulableCount(*u.Count))
		}
	}
	switch {
	case e.Recording.Word == differs && len(e.Recording.Questions) > 0:
		add("recording", expect.DifferFromRecordingIn(e.Recording.Questions...))
	case e.Recording.Word != "":
		add("recording", expect.AgreeWithRecording(e.Recording.Questions...))
		out[len(out)-1].not = e.Recording.Word == differs
	}
	if e.Truth != "" {
		add("truth", expect.AgreeWithTruth(s.Path(e.Truth)))
	}
	if e.Workloads != nil {
		add("workloads", expect.HaveReplicas(replicas(e.Workloads)))
	}
	for i, d := range e.Decisions {
		add(fmt.Sprintf("decisions[%d]", i), expect.Decide(d.decided()))
	}
	if e.KeepNodes != nil {
		add("keepNodes", expect.KeepNodesBecause(*e.KeepNodes))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Metrics)) {
		add("metrics."+name, expect.KeepMetric(name, string(e.Metrics[name])))
	}
	if e.Cost != nil {
		add("cost", expect.KeepMetric("cost", string(*e.Cost)))
	}
	if e.Golden != "" {
		add("golden", expect.MatchGoldenOr(s.Path(e.Golden), j.Update, s.Rerun()+" --update"))
	}
	return out
}

func counts(want map[string]Count) expect.Counts {
	out := expect.Counts{}
	for name, c := range want {
		out[name] = c.Count
	}
	return out
}

// replicas are workloads as the matcher takes them.
func replicas(want map[string]Workload) map[string]expect.Replicas {
	out := map[string]expect.Replicas{}
	for name, w := range want {
		out[name] = expect.Replicas{
			Final: wanted(w.Final), Peak: wanted(w.Peak), Ready: wanted(w.Ready), ScaledUp: wanted(w.ScaledUp), ScaledDown: wanted(w.ScaledDown), Controller: w.Controller,
			SizedBy: w.SizedBy, Requests: amounts(w.Requests), PeakRequests: amounts(w.PeakRequests), Slack: w.Slack.limits(),
			Evicted: wanted(w.Evicted), Resized: wanted(w.Resized), OOMKills: wanted(w.OOMKills),
		}
	}
	return out
}

// amounts are requests as the matcher takes them.
func amounts(want map[string]Amounts) expect.Requests {
	if want == nil {
		return nil
	}
	out := expect.Requests{}
	for container, a := range want {
		out[container] = map[corev1.ResourceName]expect.Amount{}
		if a.CPU != nil {
			out[container][corev1.ResourceCPU] = a.CPU.Amount
		}
		if a.Memory != nil {
			out[container][corev1.ResourceMemory] = a.Memory.Amount
		}
	}
	return out
}

func (s *Slack) limits() map[corev1.ResourceName]string {
	if s == nil {
		return nil
	}
	out := map[corev1.ResourceName]string{}
	for name, limit := range map[corev1.ResourceName]Percent{corev1.ResourceCPU: s.CPU, corev1.ResourceMemory: s.Memory} {
		if limit != "" {
			out[name] = string(limit)
		}
	}
	return out
}

// wanted is a count as the matchers take it.
func wanted(c *Count) *expect.Count {
	if c == nil {
		return nil
	}
	return &c.Count
}

// decided is the decision as the matcher takes it.
func (d Decision) decided() expect.Decided {
	out := expect.Decided{
		From: d.At.From, To: d.At.To, Timed: d.At.Set, Loop: d.Loop, NodeGroup: d.NodeGroup, Because: d.Because, Which: expect.SomeDecision,
		Outcome: scalehist.ScaleUpOutcome(d.Outcome), Nodes: wanted(d.Nodes), Controller: d.Controller, Workload: d.Workload, Replicas: wanted(d.Replicas),
	}
	switch {
	case d.First == scaleUp:
		out.Which = expect.FirstScaleUp
	case d.First == scaleDown:
		out.Which = expect.FirstScaleDown
	case d.Last == scaleUp:
		out.Which = expect.LastScaleUp
	case d.Last == scaleDown:
		out.Which = expect.LastScaleDown
	}
	return out
}

// truthLength is how long to play for a truth file: the run that was recorded went on after the last change in its log.
func (s *Scenario) truthLength(start time.Time, length time.Duration) (time.Duration, error) {
	if s.Expect.Truth == "" {
		return length, nil
	}
	file, err := truth.Read(s.Path(s.Expect.Truth))
	if err != nil {
		return 0, fmt.Errorf("expect.truth: %w", err)
	}
	return file.Length(start, length), nil
}

// Where is where a problem with the replay itself is: the window, when it is about that, else the history.
func (s *Scenario) Where(err error) (line, column int) {
	path := "history"
	if w, ok := errors.AsType[*harness.WindowError](err); ok {
		path = "window." + w.Bound
	} else if strings.Contains(err.Error(), "fault ") {
		path = "faults"
	}
	if errors.Is(err, context.Canceled) {
		path = ""
	}
	p := s.pos(path)
	return p.line, p.column
}
