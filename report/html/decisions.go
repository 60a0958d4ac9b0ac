package html

import (
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

func (b *builder) decisions() {
	b.run.Decisions = []decided{}
	for _, e := range report.Entries(b.r) {
		if e.Node == nil {
			b.run.Decisions = append(b.run.Decisions, b.controlled(e))
			continue
		}
		b.run.Decisions = append(b.run.Decisions, b.decision(e.Node))
	}
}

func (b *builder) decision(d *scalehist.Decision) decided {
	at := b.at(d.At)
	out := decided{At: at, Loop: d.Loop, Outcome: string(d.Outcome), Summary: d.Summary(), Kind: kind(d), Fit: d.FilteredSchedulable,
		Upcoming: d.Upcoming, Awaiting: d.PodsAwaiting, Helpless: d.PodsRemaining, Down: string(d.ScaleDown), Notes: d.Notes}
	out.Short = b.podRows(d.UnschedulablePods)
	for _, o := range d.Options {
		out.Options = append(out.Options, option{Group: o.NodeGroup, Nodes: o.NodeCount, Pods: o.Pods, Names: b.podRows(o.PodNames),
			Similar: o.SimilarNodeGroups, Scores: o.Scores, Chosen: o.Chosen, Reason: o.Reason})
	}
	out.Skipped, out.Rejected = b.groupReasons(d.Skipped), b.groupReasons(d.Rejected)
	for _, s := range d.ScaleUps {
		out.Ups = append(out.Ups, change{Group: s.NodeGroup, Node: -1, From: s.From, To: s.To, Max: s.Max})
	}
	for _, s := range d.ScaleDowns {
		c := change{Group: s.NodeGroup, Node: -1, From: s.From, To: s.To, Reason: s.Reason}
		if s.Node != "" {
			c.Node = b.node(s.Node, at)
		}
		out.Downs = append(out.Downs, c)
	}
	for _, f := range d.Failed {
		out.Failed = append(out.Failed, change{Group: f.NodeGroup, Node: -1, To: f.Delta, Reason: f.Reason})
	}
	for _, x := range d.Backoff {
		out.Backoff = append(out.Backoff, backoff{Group: x.NodeGroup, Until: b.at(x.Until), Reason: x.Reason})
	}
	for _, n := range d.Unneeded {
		out.Unneeded = append(out.Unneeded, b.node(n, at))
	}
	for _, n := range d.Unremovable {
		out.Unremovable = append(out.Unremovable, [2]int{b.node(n.Node, at), b.text(n.Reason)})
	}
	for _, n := range d.Deleting {
		out.Deleting = append(out.Deleting, deleting{Group: n.NodeGroup, Node: b.node(n.Node, at), Since: b.at(n.UnneededSince),
			Used: n.Utilization, Pods: b.podRows(n.Pods)})
	}
	for _, e := range d.Events {
		if name, ok := strings.CutPrefix(e.Object, "Pod/"); ok && e.Reason == "NotTriggerScaleUp" {
			out.Why = append(out.Why, [2]int{b.pod(name), b.text(e.Message)})
		}
	}
	return out
}

// kind is what a list of decisions marks a decision with.
func kind(d *scalehist.Decision) string {
	switch {
	case len(d.Failed) > 0 || d.Outcome == scalehist.ScaleUpError:
		return "failed"
	case len(d.ScaleUps) > 0:
		return "up"
	case len(d.ScaleDowns) > 0 || len(d.Deleting) > 0:
		return "down"
	case d.Outcome == scalehist.ScaleUpInCooldown:
		return "none" // it waits for more pods: nobody is stuck yet
	case len(d.UnschedulablePods) > 0:
		return "stuck"
	}
	return "none"
}

func (b *builder) podRows(names []string) []int {
	var out []int
	for _, n := range names {
		out = append(out, b.pod(n))
	}
	return out
}

// groupReasons are numbers of texts: a group's name and why.
func (b *builder) groupReasons(list []scalehist.GroupReason) [][2]int {
	var out [][2]int
	for _, s := range list {
		out = append(out, [2]int{b.text(s.NodeGroup), b.text(s.Reason)})
	}
	return slices.Clip(out)
}
