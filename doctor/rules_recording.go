package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
)

var recordingRules = []Rule{
	{Code: "SH101", Title: "gap in pods or nodes", Severity: Error, run: blindGap,
		Doc: "Within the window there is a stretch in which pods or nodes were not watched. What came and went in it is unknown, so a replay " +
			"refuses the window.",
		Advice: "choose a window before or after the gap: --from, --to"},
	{Code: "SH102", Title: "gap in other kinds", Severity: Warning, run: otherGap,
		Doc:    "Within the window some kinds other than pods and nodes were not watched for a while: their changes then are missing.",
		Advice: "choose a window before or after the gap, or know that these kinds may be stale after it"},
	{Code: "SH103", Title: "recording without an end", Severity: Warning, run: openRecording,
		Doc: "A recording was never closed: its recorder died, or still runs. The history ends with its last sign of life, and what came " +
			"after that is not in it.",
		Advice: "end the recorder with Ctrl-C or SIGTERM; of one that died, the next `scalehist record` into the file notes the gap"},
	{Code: "SH104", Title: "kinds that were not recorded", Severity: Error, run: missingKinds,
		Doc: "A recording names the kinds it watched. Without pods or nodes (or both) a replay means nothing: an error. Without others it guesses: " +
			"a warning that says what.",
		Advice: "record with an account that may get, list and watch these kinds, and without --kinds"},
	{Code: "SH105", Title: "shorter than a scan interval", Severity: Warning, run: short,
		Doc: "The autoscaler's first loop comes one scan interval after the start. In a shorter window it never decides, unless pods that " +
			"are unschedulable wake it.",
		Advice: "choose a longer window, or record for longer"},
	{Code: "SH106", Title: "no pods", Severity: Warning, run: noPods,
		Doc:    "There is no pod in the window, so nothing asks for nodes.",
		Advice: "check that the account may read pods, and that the window is the right one"},
	{Code: "SH107", Title: "no nodes", Severity: Warning, run: noNodes,
		Doc:    "There is no node in the window, and no node group has a template a node could be made from.",
		Advice: "check that the account may read nodes; record with a node-group source or a mapping file that gives templates"},
	{Code: "SH108", Title: "a replay refuses the window", Severity: Error, run: refusedByReplay,
		Doc:    "What `scalehist replay` needs before it starts is not there. Gaps have a rule of their own.",
		Advice: "do what the message says"},
}

func gapFindings(in *Input, want bool) []Finding {
	var out []Finding
	for _, g := range trace.JoinGaps(slices.DeleteFunc(slices.Clone(in.Gaps), func(g history.Gap) bool { return trace.Blind(g) != want })) {
		kinds := "nothing was"
		if len(g.Kinds) > 0 {
			kinds = strings.Join(g.Kinds, ", ") + " were not"
		}
		out = append(out, Finding{At: g.From, Message: fmt.Sprintf("%s watched for %s, until %s: %s", kinds, g.To.Sub(g.From), moment.Stamp(g.To), g.Why)})
	}
	return out
}

func blindGap(_ context.Context, in *Input) ([]Finding, error) { return gapFindings(in, true), nil }
func otherGap(_ context.Context, in *Input) ([]Finding, error) { return gapFindings(in, false), nil }

func openRecording(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, r := range in.Recordings {
		if r.To.IsZero() && !r.From.After(in.To) {
			out = append(out, Finding{At: r.From, Message: fmt.Sprintf("the recording of %s has no end; the last sign of life in the history is of %s", moment.Stamp(r.From), moment.Stamp(in.Last))})
		}
	}
	return out, nil
}

// consequences say what a replay does without a kind. Kinds that are not here only refine what others say.
var consequences = []struct {
	kind     string
	severity Severity
	what     string
}{
	{"Pod", Error, "there is no demand to replay"},
	{"Node", Error, "there is no room to fill"},
	{"Event", Info, "failed scale-ups are not known, nor the pods that triggered one"},
	{"DaemonSet", Warning, "new nodes come without DaemonSet pods, and so with too much room"},
	{"PodDisruptionBudget", Warning, "evictions that were blocked are allowed"},
	{"PriorityClass", Warning, "pods that name one without spec.priority are refused"},
	{"PersistentVolumeClaim", Warning, "pods that use one wait for ever"},
	{"PersistentVolume", Warning, "claims of standing volumes cannot be bound to their zone"},
	{"StorageClass", Warning, "claims that wait for a pod are not provisioned"},
	{"Deployment", Info, "the autoscaler's flags are not known, unless it runs otherwise"},
	{"ReplicaSet", Info, "its pods have an owner that is not there"},
}

func missingKinds(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, r := range in.Recordings {
		if len(r.Kinds) == 0 || r.From.After(in.To) || !r.To.IsZero() && r.To.Before(in.From) {
			continue // no kinds means all
		}
		for _, c := range consequences {
			if !slices.Contains(r.Kinds, c.kind) {
				out = append(out, Finding{At: r.From, Severity: c.severity, Message: fmt.Sprintf("%s was not recorded: %s", c.kind, c.what)})
			}
		}
	}
	return out, nil
}

func short(_ context.Context, in *Input) ([]Finding, error) {
	interval, length := in.scanInterval(), in.To.Sub(in.From)
	if length >= interval {
		return nil, nil
	}
	return []Finding{{At: in.From, Message: fmt.Sprintf("the window is %s long, the scan interval %s", length.Round(time.Millisecond), interval)}}, nil
}

func noPods(_ context.Context, in *Input) ([]Finding, error) {
	if len(in.scene.pods) > 0 {
		return nil, nil
	}
	return []Finding{{At: in.From, Message: "no pod was seen from here to the end of the window"}}, nil
}

func noNodes(_ context.Context, in *Input) ([]Finding, error) {
	if len(in.scene.nodes) > 0 {
		return nil, nil
	}
	for _, g := range in.scene.groups {
		if g.object.Spec.Template != nil {
			return nil, nil // everything comes from zero
		}
	}
	return []Finding{{At: in.From, Message: "no node was seen from here to the end of the window, and no node group has a template"}}, nil
}

func refusedByReplay(_ context.Context, in *Input) ([]Finding, error) {
	if in.ReplayErr == nil || slices.ContainsFunc(in.Gaps, trace.Blind) {
		return nil, nil
	}
	return []Finding{{At: in.From, Message: in.ReplayErr.Error()}}, nil
}
