package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/lives"
)

// ExplainPod says what became of a pod ("namespace/name"; without a namespace it is in "default"): when it came, which
// loops looked at it and what they did about it, when it got a node, why it lost one, and why it is still pending.
func ExplainPod(r *scalehist.ReplayReport, name string) (*Explanation, error) {
	if !strings.Contains(name, "/") {
		name = "default/" + name
	}
	if known := PodNames(r); !slices.Contains(known, name) {
		return nil, unknown(r, "pod", name, known)
	}
	e := explaining(r, "pod "+name)
	for _, p := range r.Start.ScheduledPods {
		if p.Namespace+"/"+p.Name == name {
			e.say(r.StartTime, "It stood on node %s at the start.", p.NodeName)
		}
	}
	e.podLives(name)
	e.podDecisions(name)
	e.podRequests(name)
	for _, p := range r.UnschedulableAtEnd {
		if p.Namespace+"/"+p.Name == name {
			e.say(r.EndTime, "At the end it is still pending: %s", p.Message)
			e.passedOver(name)
		}
	}
	for _, p := range r.End.ScheduledPods {
		if p.Namespace+"/"+p.Name == name {
			e.say(r.EndTime, "At the end it runs on node %s.", p.NodeName)
		}
	}
	return e.done(), nil
}

// podLives says when the pod came, got nodes, lost them, and was gone.
func (e *explainer) podLives(name string) {
	pods, _ := lives.Pods(e.r)
	at := func(d time.Duration) time.Time { return e.r.StartTime.Add(d) }
	batches := map[time.Time]scalehist.Batch{}
	for _, b := range e.r.Batches {
		batches[b.At] = b
	}
	for _, p := range pods {
		if p.Name != name {
			continue
		}
		if p.Deployed != nil {
			came := "It was fed in"
			if by := e.scaledPod(name, at(p.From), true); by != "" {
				came = "It came as " + by
			} else if !p.Deployed.CreatedAt.Equal(at(p.From)) {
				came += fmt.Sprintf("; it was recorded at %s", offset(e.r, p.Deployed.CreatedAt))
			}
			e.say(at(p.From), "%s.", came)
		}
		for _, lost := range p.Lost {
			b := batches[at(lost)]
			if slices.Contains(b.Preempted, name) {
				e.say(b.At, "It was preempted by a pod of higher priority.")
			}
			e.say(at(lost), "It lost its node and was pending again%s.", e.lostBy(name, b))
		}
		for i, got := range p.Placed {
			since := p.From
			for _, lost := range p.Lost {
				if lost <= got.At {
					since = lost
				}
			}
			e.say(at(got.At), "%s", e.placed(p, got, since, i == len(p.Placed)-1))
		}
		if p.End != lives.InStep {
			continue
		}
		switch b := batches[at(p.To)]; {
		case slices.Contains(b.DeletedPods, name):
			why := "as recorded"
			if by := e.scaledPod(name, b.At, false); by != "" {
				why = "as " + by
			}
			e.say(b.At, "It was deleted, %s.", why)
		case slices.Contains(b.Preempted, name):
			e.say(b.At, "It was preempted by a pod of higher priority.")
		}
	}
}

// placed says where the pod got a node, how long it had waited, and at its last one where it ran in the recording.
func (e *explainer) placed(p *lives.Pod, got lives.Placement, since time.Duration, last bool) string {
	text := fmt.Sprintf("It got node %s", got.Node)
	if wait := got.At - since; wait > 0 {
		text += fmt.Sprintf(" after %s", wait.Round(time.Millisecond))
	}
	for _, n := range e.r.ScaledUpNodes {
		if n.Name == got.Node {
			text += fmt.Sprintf("; the node was asked for at %s and Ready at %s", offset(e.r, n.RequestedAt), offset(e.r, n.ReadyAt))
		}
	}
	if d := p.Deployed; last && d != nil && d.RecordedNodeName != "" && d.RecordedNodeName != got.Node {
		text += fmt.Sprintf("; recorded it ran on %s", d.RecordedNodeName)
	}
	return text + "."
}

// lostBy names what the pod was moved for: other requests, or the removal of its node.
func (e *explainer) lostBy(name string, b scalehist.Batch) string {
	for _, d := range e.r.WorkloadDecisions {
		for i := range d.Resizes {
			if s := &d.Resizes[i]; d.At.Equal(b.At) && s.Action == scalehist.Evicted && s.Error == "" && s.Workload.Namespace+"/"+s.Pod == name {
				return fmt.Sprintf(": %s", strings.Join(append([]string{d.Controller + " evicted it"}, resizedBecause(s)...), "; "))
			}
		}
	}
	for i := len(e.r.Decisions) - 1; i >= 0; i-- {
		d := e.r.Decisions[i]
		if d.At.After(b.At) {
			continue
		}
		for _, n := range d.Deleting {
			if slices.Contains(n.Pods, name) {
				return fmt.Sprintf(": node %s was drained, unneeded since %s", n.Node, offset(e.r, n.UnneededSince))
			}
		}
	}
	if len(b.NodesGone) > 0 {
		return ": " + some(b.NodesGone, 5) + " went"
	}
	return ""
}

// podDecisions lists the loops that saw the pod without room. What a loop repeats of the one before is not said again.
func (e *explainer) podDecisions(name string) {
	last := ""
	for _, d := range e.r.Decisions {
		if !slices.Contains(d.UnschedulablePods, name) {
			if len(d.UnschedulablePods) > 0 || d.FilteredSchedulable > 0 {
				last = ""
			}
			continue
		}
		text := e.podDecision(d, name)
		if text != last {
			e.say(d.At, "Loop %d: %s", d.Loop, text)
		}
		last = text
	}
}

func (e *explainer) podDecision(d scalehist.Decision, name string) string {
	head := "it found no room"
	if n := len(d.UnschedulablePods) - 1; n > 0 {
		head += fmt.Sprintf(", with %s", plural.Of(n, "other pod"))
	}
	pick, ok := chosen(d)
	switch {
	case ok && len(d.ScaleUps) > 0:
		text := fmt.Sprintf("%s; %s grew (%s", head, grown(d), optionText(pick))
		if pick.Reason != "" {
			text += ": " + pick.Reason
		}
		text += ")"
		switch {
		case slices.Contains(pick.PodNames, name):
			text += ", which takes it"
		case len(pick.PodNames) == pick.Pods:
			text += ", which does not take it"
		}
		return sentence(text, others(d, pick.NodeGroup))
	case len(d.Failed) > 0:
		var failed []string
		for _, f := range d.Failed {
			failed = append(failed, fmt.Sprintf("%s could not grow by %d: %s", f.NodeGroup, f.Delta, f.Reason))
		}
		return sentence(head, append(failed, others(d, "")...))
	case d.Outcome == scalehist.ScaleUpInCooldown:
		return sentence(head, append([]string{"the autoscaler waited for more pods"}, d.Notes...))
	case d.Outcome == scalehist.ScaleUpLimitedByMaxNodesTotal:
		return sentence(head, []string{"the cluster has as many nodes as --max-nodes-total allows"})
	}
	for _, ev := range d.Events {
		if ev.Reason == "NotTriggerScaleUp" && ev.Object == "Pod/"+name {
			return sentence(head+"; "+ev.Message, others(d, ""))
		}
	}
	return sentence(head+"; no group grew", others(d, ""))
}
