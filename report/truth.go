package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// TruthText says how a report compares with everything a real autoscaler was seen to do; empty without a verdict.
func TruthText(r *scalehist.ReplayReport) string {
	r = plaintext.Values(r)
	v := r.Truth
	if v == nil {
		return ""
	}
	var b strings.Builder
	word := "agrees"
	if !v.Agreed {
		word = "differs"
	}
	fmt.Fprintf(&b, "truth: %s with what the autoscaler was seen to do in %s (%s of %s)\n", word, plural.Of(v.Runs, "run"), plural.Of(v.Outcomes, "outcome"), v.Scenario)
	switch {
	case v.Outcome > 0:
		fmt.Fprintf(&b, "  outcome: number %d of those seen: %s\n", v.Outcome, OutcomeText(v.Replayed))
	case v.Nearest != nil:
		fmt.Fprintf(&b, "  outcome: none of those seen: %s\n", OutcomeText(v.Replayed))
		fmt.Fprintf(&b, "  nearest: number %d: %s\n", v.Nearest.Number, OutcomeText(v.Nearest.Outcome))
		for _, p := range v.Nearest.Parts {
			what := p.What
			if p.NodeGroup != "" {
				what += " of " + p.NodeGroup
			}
			fmt.Fprintf(&b, "    %s: seen %d, replayed %d\n", what, p.Seen, p.Replayed)
		}
	}
	d := v.FirstDifference
	switch {
	case d == nil && v.FirstSteps > 0:
		fmt.Fprintf(&b, "  steps: %s that every run took alike, taken\n", plural.Of(v.FirstSteps, "first step"))
	case d != nil:
		fmt.Fprintf(&b, "  steps: step %d of the %d that every run took alike parts (%s): %s\n", d.Number, v.FirstSteps, d.Kind, d.Reason)
		fmt.Fprintf(&b, "    seen     %s\n", stepText(r, &d.Seen))
		fmt.Fprintf(&b, "    replayed %s\n", stepText(r, d.Replayed))
		if d.Decision != nil {
			fmt.Fprintf(&b, "    decided  %s\n", strings.ReplaceAll(Explain(r, *d.Decision), "\n", "\n    "))
		}
	}
	return b.String()
}

func stepText(r *scalehist.ReplayReport, s *scalehist.SizeStep) string {
	if s == nil {
		return "nothing"
	}
	var parts []string
	for _, c := range s.Changes {
		parts = append(parts, fmt.Sprintf("%s %d->%d", c.NodeGroup, c.From, c.To))
	}
	return fmt.Sprintf("%s at %s", strings.Join(parts, ", "), offset(r, s.At))
}

// OutcomeText is an outcome on one line: "std +5 =6, big +2 -1 =1; none unschedulable".
func OutcomeText(o scalehist.Outcome) string {
	o = plaintext.Values(o)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(o.FinalSizes)) {
		text := name
		if n := o.ScaledUp[name]; n > 0 {
			text += fmt.Sprintf(" +%d", n)
		}
		if n := o.ScaledDown[name]; n > 0 {
			text += fmt.Sprintf(" -%d", n)
		}
		parts = append(parts, fmt.Sprintf("%s =%d", text, o.FinalSizes[name]))
	}
	left := "none"
	if o.UnschedulableAtEnd > 0 {
		left = fmt.Sprint(o.UnschedulableAtEnd)
	}
	return strings.Join(parts, ", ") + "; " + left + " unschedulable"
}
