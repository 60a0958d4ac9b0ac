package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
)

// unremovableReasons says why a node is unremovable, by upstream's word for it (simulator.UnremovableReason).
var unremovableReasons = map[string]string{
	"NotUnderutilized":             "it is used too much",
	"NoPlaceToMovePods":            "its pods fit nowhere else",
	"BlockedByPod":                 "a pod must not be moved",
	"BlockedByOnCompletionPod":     "it waits for a pod to complete",
	"NotUnneededLongEnough":        "it is unneeded, but not for long enough yet",
	"NotUnreadyLongEnough":         "it is not ready, but not for long enough yet",
	"NodeGroupMinSizeReached":      "its group is at its min size",
	"MinimalResourceLimitExceeded": "the cluster would fall below its minimal resources",
	"NotAutoscaled":                "it is of no node group",
	"ScaleDownDisabledAnnotation":  "its annotation turns scale-down off",
	"ScaleDownUnreadyDisabled":     "it is not ready, and nodes that are not are kept",
	"CurrentlyBeingDeleted":        "it is being deleted",
	"AtomicScaleDownFailed":        "its group goes as a whole or not at all",
	"NodeNotInSnapshot":            "the autoscaler did not see it",
	"UnexpectedError":              "of an error",
}

// blocks says why a pod must not be moved (simulator.BlockingPodReason).
var blocks = map[string]string{
	"NotEnoughPdb":             "a PodDisruptionBudget allows no disruption",
	"NotReplicated":            "no controller would make it again",
	"LocalStorageRequested":    "it has local storage",
	"NotSafeToEvictAnnotation": "it says that it is not safe to evict",
	"UnmovableKubeSystemPod":   "it is a system pod without a PodDisruptionBudget",
	"ControllerNotFound":       "its controller is gone",
	"MinReplicasReached":       "its controller has too few replicas",
	"UnexpectedError":          "of an error",
}

// whyUnremovable turns "BlockedByPod: default/web-1 NotEnoughPdb" into words.
func whyUnremovable(reason string) string {
	reason = strings.TrimPrefix(reason, "RecentlyUnremovable: ")
	code, detail, _ := strings.Cut(reason, ": ")
	text, ok := unremovableReasons[code]
	if !ok {
		return reason
	}
	if pod, why, found := strings.Cut(detail, " "); found && code == "BlockedByPod" {
		if words, ok := blocks[why]; ok {
			return fmt.Sprintf("pod %s must not be moved: %s", pod, words)
		}
	}
	if detail != "" {
		text += " (" + detail + ")"
	}
	return text
}

// ExplainNode says when a node came, why it stayed, since when it was unneeded, and how it was removed.
func ExplainNode(r *scalehist.ReplayReport, name string) (*Explanation, error) {
	if known := NodeNames(r); !slices.Contains(known, name) {
		return nil, unknown(r, "node", name, known)
	}
	e := explaining(r, "node "+name)
	for _, n := range r.Start.Nodes {
		if n.Name == name {
			e.say(r.StartTime, "It stood at the start%s, with %s.", ofGroup(n.NodeGroup), plural.Of(n.Pods, "pod"))
		}
	}
	for _, n := range r.ScaledUpNodes {
		if n.Name == name {
			e.say(n.RequestedAt, "It was asked for%s.", ofGroup(n.NodeGroup))
			e.say(n.ReadyAt, "It joined Ready, %s after that.", n.ReadyAt.Sub(n.RequestedAt).Round(time.Millisecond))
		}
	}
	e.nodeDecisions(name)
	for _, b := range r.Batches {
		if slices.Contains(b.NodesGone, name) {
			e.say(b.At, "It was gone.")
		}
	}
	for _, n := range r.End.Nodes {
		if n.Name == name {
			e.say(r.EndTime, "At the end it stands, with %s.", plural.Of(n.Pods, "pod"))
		}
	}
	return e.done(), nil
}

func ofGroup(group string) string {
	if group == "" {
		return ", of no node group"
	}
	return ", of node group " + group
}

// nodeDecisions says what the scale-down planner made of the node whenever that changed.
func (e *explainer) nodeDecisions(name string) {
	last := ""
	var since time.Time
	for _, d := range e.r.Decisions {
		for _, n := range d.Deleting {
			if n.Node != name {
				continue
			}
			what := "empty"
			if len(n.Pods) > 0 {
				what = fmt.Sprintf("with %s to move: %s", plural.Of(len(n.Pods), "pod"), some(n.Pods, 5))
			}
			e.say(d.At, "Loop %d: its removal began: unneeded since %s, %.1f%% utilized, %s.", d.Loop, offset(e.r, n.UnneededSince), 100*n.Utilization, what)
			last = "deleting"
		}
		for _, s := range d.ScaleDowns {
			if s.Node == name {
				e.say(d.At, "It was taken off its group, %d->%d: %s.", s.From, s.To, s.Reason)
				last = "deleting"
			}
		}
		if d.ScaleDown == "" || last == "deleting" && slices.Contains(unremovable(d, name), "CurrentlyBeingDeleted") {
			continue
		}
		unneeded := slices.Contains(d.Unneeded, name)
		if !unneeded {
			since = time.Time{}
		} else if since.IsZero() {
			since = d.At
		}
		text := e.verdict(d, name, unneeded, since)
		if text != "" && text != last {
			e.say(d.At, "Loop %d: %s", d.Loop, text)
		}
		if text != "" {
			last = text
		}
	}
}

func unremovable(d scalehist.Decision, name string) []string {
	var out []string
	for _, n := range d.Unremovable {
		if n.Node == name {
			out = append(out, n.Reason)
		}
	}
	return out
}

// verdict is what a decision says about a node that is not removed.
func (e *explainer) verdict(d scalehist.Decision, name string, unneeded bool, since time.Time) string {
	reasons := unremovable(d, name)
	switch {
	case unneeded && d.ScaleDown == scalehist.ScaleDownInCooldown:
		return fmt.Sprintf("it is unneeded since %s, but scale-down is in cooldown.", offset(e.r, since))
	case unneeded && len(reasons) > 0:
		if code, _, _ := strings.Cut(reasons[0], ":"); code == "NotUnneededLongEnough" {
			return fmt.Sprintf("it is unneeded since %s, not for long enough yet.", offset(e.r, since))
		}
		return fmt.Sprintf("it is unneeded since %s, but unremovable for now: %s.", offset(e.r, since), whyUnremovable(reasons[0]))
	case unneeded && !slices.ContainsFunc(d.Deleting, func(n scalehist.NodeDeletion) bool { return n.Node == name }):
		return fmt.Sprintf("it is unneeded since %s.", offset(e.r, since))
	case len(reasons) > 0:
		return fmt.Sprintf("it is unremovable: %s.", whyUnremovable(reasons[0]))
	}
	return ""
}
