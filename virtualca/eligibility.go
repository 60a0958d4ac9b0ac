package virtualca

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist/internal/plural"
)

// Reasons for which a node is unremovable, in upstream's words (simulator.UnremovableReason).
const (
	nodeNotInSnapshot        = "NodeNotInSnapshot"
	nodeRecentlyUnremovable  = "RecentlyUnremovable"
	nodeBeingDeleted         = "CurrentlyBeingDeleted"
	nodeScaleDownDisabled    = "ScaleDownDisabledAnnotation"
	nodeNotAutoscaled        = "NotAutoscaled"
	nodeUnexpectedError      = "UnexpectedError"
	nodeUnreadyNotAllowed    = "ScaleDownUnreadyDisabled"
	nodeNotUnderutilized     = "NotUnderutilized"
	nodeNoPlaceToMovePods    = "NoPlaceToMovePods"
	nodeBlockedByPod         = "BlockedByPod"
	nodeWaitsForCompletion   = "BlockedByOnCompletionPod"
	nodeNotUnneededLong      = "NotUnneededLongEnough"
	nodeNotUnreadyLong       = "NotUnreadyLongEnough"
	nodeGroupMinSizeReached  = "NodeGroupMinSizeReached"
	nodeMinimalResourceLimit = "MinimalResourceLimitExceeded"
	nodeAtomicScaleDown      = "AtomicScaleDownFailed"
)

const (
	// noScaleDownAnnotation ("true") on a node keeps it.
	noScaleDownAnnotation = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// deletionTaintTime is how long a deletion taint is taken for a deletion under way.
	deletionTaintTime = 5 * time.Minute
)

// eligible splits the candidates: those worth a simulation, in order; and why others are unremovable. It notes the utilization of
// all it looks at (core/scaledown/eligibility).
func (l *loop) eligible(candidates []*corev1.Node) []*corev1.Node {
	s := l.a.checker.Snapshot()
	var out []*corev1.Node
	for _, n := range candidates {
		at, ok := s.Index(n.Name)
		if !ok {
			l.unremovable(n.Name, nodeNotInSnapshot)
			continue
		}
		if m, ok := l.a.down.unremovable[n.Name]; ok {
			l.unremovable(n.Name, nodeRecentlyUnremovable+": "+m.reason)
			continue
		}
		if why := l.ineligible(n, s.NodeInfo(at)); why != "" {
			l.unremovable(n.Name, why)
			continue
		}
		out = append(out, n)
	}
	return out
}

// ineligible says why a node is needed at first sight; "" when it is not.
func (l *loop) ineligible(n *corev1.Node, info *framework.NodeInfo) string {
	if since, ok := deletionTime(n); ok && l.now.Sub(since) < deletionTaintTime {
		return nodeBeingDeleted
	}
	if n.Annotations[noScaleDownAnnotation] == "true" {
		return nodeScaleDownDisabled
	}
	group, ok := l.groupOf[n.Name]
	if !ok {
		return nodeNotAutoscaled
	}
	t := l.a.thresholds(group)
	f := l.facts(info)
	if n := f.claims; n > 0 {
		l.note("node %s: %s with resource claims: dynamic resources are not counted in its utilization", info.Node().Name, plural.Of(n, "pod"))
	}
	u, err := l.knownUtilization(info, f, t.ignoreDaemonSets, l.a.settings.Down.IgnoreMirrorPods)
	if err != nil {
		return nodeUnexpectedError + ": " + err.Error()
	}
	l.a.down.utilization[n.Name] = u.value
	if isReady, _ := ready(n); !isReady && !l.a.settings.Down.UnreadyEnabled {
		return nodeUnreadyNotAllowed
	}
	limit := t.utilization
	if slices.Contains(gpuResources, u.resource) {
		limit = t.gpuUtilization
	}
	if u.value > limit {
		return f.why(overuse{u, limit})
	}
	return ""
}

// deletionTime is when the deletion taint was put on a node; false without one that says.
func deletionTime(n *corev1.Node) (time.Time, bool) {
	for _, t := range n.Spec.Taints {
		if t.Key != toBeDeletedTaint {
			continue
		}
		seconds, err := strconv.ParseInt(t.Value, 10, 64)
		return time.Unix(seconds, 0), err == nil
	}
	return time.Time{}, false
}

// unremovable notes why a candidate is not removed.
func (l *loop) unremovable(node, reason string) { l.reasons[node] = reason }
