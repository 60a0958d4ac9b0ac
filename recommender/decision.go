package recommender

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
)

// mostNames bounds the pods an option names, as scalehist.Option has it.
const mostNames = 20

// explain carries a recommendation over to the decision, so that reports say why without it.
func (l *loop) explain(r *Recommendation) {
	d := l.d
	d.FilteredSchedulable = len(r.Fits)
	for _, up := range r.ScaleUps {
		for _, n := range up.Nodes {
			d.UnschedulablePods = append(d.UnschedulablePods, n.Pods...)
			d.PodsTriggered += len(n.Pods)
		}
	}
	for _, u := range r.Unplaced {
		d.UnschedulablePods = append(d.UnschedulablePods, u.Pod)
	}
	d.PodsRemaining = len(r.Unplaced)
	slices.Sort(d.UnschedulablePods)
	d.Options = options(r)
	for _, s := range r.Skipped {
		d.Skipped = append(d.Skipped, scalehist.GroupReason(s))
	}
	if len(r.Steps) > 0 {
		for _, s := range r.Steps[0].Rejected {
			if !slices.ContainsFunc(r.Skipped, func(o GroupReason) bool { return o.NodeGroup == s.NodeGroup }) {
				d.Rejected = append(d.Rejected, scalehist.GroupReason(s))
			}
		}
	}
	d.Notes = append(d.Notes, r.Notes...)
	if o := r.Optimality; len(r.ScaleUps) > 0 && o.Cost > 0 {
		d.Notes = append(d.Notes, o.String())
		d.Optimality = &o
	}
	for _, s := range r.ScaleDowns {
		d.Unneeded = append(d.Unneeded, s.Node)
	}
	slices.Sort(d.Unneeded)
	for _, s := range r.Unremovable {
		d.Unremovable = append(d.Unremovable, scalehist.NodeReason(s))
	}
}

// options are the groups of a recommendation: those that grow as they were planned, the others as they stood in the first
// step.
func options(r *Recommendation) []scalehist.Option {
	var out []scalehist.Option
	grown := map[string]bool{}
	for _, up := range r.ScaleUps {
		grown[up.NodeGroup] = true
		o := scalehist.Option{NodeGroup: up.NodeGroup, NodeCount: up.Count, Chosen: true}
		var reasons []string
		for _, n := range up.Nodes {
			o.Pods += len(n.Pods)
			o.PodNames = append(o.PodNames, n.Pods...)
			if n.Reason != "" && !slices.Contains(reasons, n.Reason) {
				reasons = append(reasons, n.Reason)
			}
		}
		for i, s := range r.Steps {
			if s.NodeGroup != up.NodeGroup {
				continue
			}
			reasons = append(reasons, fmt.Sprintf("first taken in step %d of %d: %s", i+1, len(r.Steps), s.Reason))
			if len(s.Candidates) > 0 {
				o.Scores = map[string]float64{r.Scoring: s.Candidates[0].Score}
			}
			break
		}
		o.Reason = strings.Join(reasons, "; ")
		slices.Sort(o.PodNames)
		o.PodNames = o.PodNames[:min(len(o.PodNames), mostNames)]
		out = append(out, o)
	}
	if len(r.Steps) > 0 {
		for _, c := range r.Steps[0].Candidates {
			if grown[c.NodeGroup] {
				continue
			}
			out = append(out, scalehist.Option{NodeGroup: c.NodeGroup, NodeCount: 1, Pods: c.Pods,
				Scores: map[string]float64{r.Scoring: c.Score}, Reason: "one node in step 1: " + r.Steps[0].Reason})
		}
	}
	return out
}

// events writes to pods what came of them, in upstream's words.
func (l *loop) events(r *Recommendation, granted map[string]scalehist.ScaleUp) {
	var plan []string
	for _, s := range l.d.ScaleUps {
		plan = append(plan, s.String())
	}
	for _, up := range r.ScaleUps {
		if _, ok := granted[up.NodeGroup]; !ok {
			continue
		}
		for _, n := range up.Nodes {
			for _, pod := range n.Pods {
				l.d.Events = append(l.d.Events, scalehist.Event{Reason: "TriggeredScaleUp", Object: "Pod/" + pod,
					Message: "pod triggered scale-up: [" + strings.Join(plan, " ") + "]"})
			}
		}
	}
	said := make(map[string]string, len(r.Unplaced))
	for _, u := range r.Unplaced {
		var why []string
		for _, g := range u.Groups {
			why = append(why, g.NodeGroup+": "+g.Reason)
		}
		message := "pod didn't trigger scale-up: " + strings.Join(why, ", ")
		if said[u.Pod] = message; l.said[u.Pod] == message {
			continue // as long as the reason is the same, once
		}
		l.d.Events = append(l.d.Events, scalehist.Event{Reason: "NotTriggerScaleUp", Object: "Pod/" + u.Pod, Message: message})
	}
	l.said = said
}
