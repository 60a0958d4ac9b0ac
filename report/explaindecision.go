package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// Part is what is known of one side of a decision: a title and its lines, at least one.
type Part struct {
	Title string   `json:"title"`
	Lines []string `json:"lines"`
}

// PartPods is the title of the part that names pods.
const PartPods = "pods"

// ExplainDecision says what a loop did and why, part by part: what came of it, the option that was chosen with its score, the
// others, the groups that were left out, the nodes that are removed, that are unneeded, and that are unremovable, the pods that asked. Parts with
// nothing to say are left out; the first one is always there.
func ExplainDecision(r *scalehist.ReplayReport, d scalehist.Decision) []Part {
	var out []Part
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			for i, l := range lines {
				lines[i] = plaintext.Escape(l)
			}
			out = append(out, Part{title, lines})
		}
	}
	add("outcome", outcomeLines(r, d))
	for _, chosen := range []bool{true, false} {
		var lines []string
		for _, o := range d.Options {
			if o.Chosen == chosen {
				lines = append(lines, optionLine(o))
			}
		}
		add(map[bool]string{true: "chosen", false: "other options"}[chosen], lines)
	}
	add("skipped: could not grow", reasonLines(d.Skipped))
	add("rejected: would have helped none", reasonLines(d.Rejected))
	add("in backoff", backoffLines(r, d))
	add("nodes to remove", goingLines(r, d))
	if len(d.Unneeded) > 0 {
		add("unneeded nodes", []string{strings.Join(d.Unneeded, ", ")})
	}
	add("unremovable nodes", unremovableLines(d))
	add(PartPods, podLines(d))
	add("notes", slices.Clone(d.Notes))
	var events []string
	for _, e := range d.Events {
		events = append(events, fmt.Sprintf("%s %s: %s", e.Reason, e.Object, e.Message))
	}
	add("events", events)
	return out
}

func outcomeLines(r *scalehist.ReplayReport, d scalehist.Decision) []string {
	head := fmt.Sprintf("%s at %s", loopName(d), offset(r, d.At))
	if title := d.Title(); title != "" {
		head += ": " + title
	}
	if d.ScaleDown != "" {
		head += "; scale-down: " + string(d.ScaleDown)
	}
	out := []string{head + "."}
	if n := len(d.UnschedulablePods); n > 0 {
		out = append(out, plural.Of(n, "pod")+" found no room")
	}
	for _, s := range d.ScaleUps {
		out = append(out, fmt.Sprintf("%s grew %d->%d (max: %d)", s.NodeGroup, s.From, s.To, s.Max))
	}
	for _, f := range d.Failed {
		out = append(out, fmt.Sprintf("%s was asked for %s more and did not deliver: %s", f.NodeGroup, plural.Of(f.Delta, "node"), f.Reason))
	}
	for _, s := range d.ScaleDowns {
		node := "a node that never came"
		if s.Node != "" {
			node = "node " + s.Node
		}
		line := fmt.Sprintf("%s of %s was taken off, %d->%d", node, s.NodeGroup, s.From, s.To)
		if s.Reason != "" {
			line += ": " + s.Reason
		}
		out = append(out, line)
	}
	return out
}

func podLines(d scalehist.Decision) []string {
	var out []string
	if n := len(d.UnschedulablePods); n > 0 {
		out = append(out, "without room: "+strings.Join(d.UnschedulablePods, ", "))
	}
	if n := d.FilteredSchedulable; n > 0 {
		out = append(out, fmt.Sprintf("%s fit on nodes that stand or are on their way", plural.Of(n, "pod")))
	}
	for _, group := range keys(d.Upcoming) {
		if n := d.Upcoming[group]; n > 0 {
			out = append(out, fmt.Sprintf("%s of %s on the way", plural.Of(n, "node"), group))
		}
	}
	if d.PodsTriggered > 0 {
		out = append(out, fmt.Sprintf("%s triggered it, %d wait for another group, %d are left", plural.Of(d.PodsTriggered, "pod"), d.PodsAwaiting, d.PodsRemaining))
	}
	return out
}

func optionLine(o scalehist.Option) string {
	line := o.NodeGroup + ": " + optionText(o)
	if len(o.SimilarNodeGroups) > 0 {
		line += ", similar " + strings.Join(o.SimilarNodeGroups, ", ")
	}
	if o.Reason != "" {
		line += " (" + o.Reason + ")"
	}
	if len(o.PodNames) > 0 {
		line += "; takes " + some(o.PodNames, 5)
	}
	return line
}

func reasonLines(list []scalehist.GroupReason) []string {
	var out []string
	for _, g := range list {
		out = append(out, g.NodeGroup+": "+g.Reason)
	}
	return out
}

func backoffLines(r *scalehist.ReplayReport, d scalehist.Decision) []string {
	var out []string
	for _, b := range d.Backoff {
		out = append(out, fmt.Sprintf("%s until %s: %s", b.NodeGroup, offset(r, b.Until), b.Reason))
	}
	return out
}

func goingLines(r *scalehist.ReplayReport, d scalehist.Decision) []string {
	var out []string
	for _, n := range d.Deleting {
		what := "empty"
		if len(n.Pods) > 0 {
			what = fmt.Sprintf("%s to move: %s", plural.Of(len(n.Pods), "pod"), strings.Join(n.Pods, ", "))
		}
		out = append(out, fmt.Sprintf("%s of %s: unneeded since %s, %.1f%% utilized, %s", n.Node, n.NodeGroup, offset(r, n.UnneededSince), 100*n.Utilization, what))
	}
	return out
}

// unremovableLines names the nodes of one reason once.
func unremovableLines(d scalehist.Decision) []string {
	nodes := map[string][]string{}
	for _, n := range d.Unremovable {
		why := whyUnremovable(n.Reason)
		nodes[why] = append(nodes[why], n.Node)
	}
	var out []string
	for _, why := range keys(nodes) {
		slices.Sort(nodes[why])
		out = append(out, fmt.Sprintf("%s: %s", strings.Join(nodes[why], ", "), why))
	}
	return out
}
