package harness

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// priorityConfigMap is what upstream's priority expander reads (--expander=priority).
const priorityConfigMap = "cluster-autoscaler-priority-expander"

// loopReasons are the events that a cluster-autoscaler writes within a loop, not from the removals it has under way between
// loops (upstream: core/scaleup, core/scaledown/actuation, eventing_scale_up_processor).
var loopReasons = map[string]bool{
	"TriggeredScaleUp": true, "NotTriggerScaleUp": true, "ScaledUpGroup": true, "FailedToScaleUpGroup": true,
	"MaxNodesTotalReached": true, "ClusterUnhealthy": true, "ScaleUpTimedOut": true, "DeleteUnregistered": true,
}

// sawLoop is an instant in the window at which the recorded autoscaler was in a loop, the first that shows: it wrote its status
// ConfigMap, or an event of a loop. Zero when none shows.
func (r *recorded) sawLoop() time.Time {
	var first time.Time
	see := func(at time.Time) {
		if at.After(r.start) && !at.After(r.end) && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	for _, ch := range r.changes {
		// Only its status and the priorities of its expander are recorded. The first status is written before the first loop.
		if c, ok := ch.Object.(*corev1.ConfigMap); ok && ch.Op != scalehist.OpDelete && c.Name != priorityConfigMap && !strings.Contains(c.Data["status"], "Initializing") {
			see(ch.At)
			break
		}
	}
	for _, e := range r.eventsAfter() {
		if loopReasons[e.Reason] && strings.Contains(e.Component, "cluster-autoscaler") ||
			e.Reason == "ScaleDown" && e.Message == markedToBeDeleted {
			see(e.ObservedAt)
			break
		}
	}
	return first
}

// firstLoop is when the autoscaler of a replay loops first: in phase with a recorded loop, within one scan interval of the
// start; one scan interval after the start, as upstream's first loop comes, when no loop was recorded.
func firstLoop(start, recorded time.Time, scan time.Duration) time.Time {
	if recorded.IsZero() || scan <= 0 {
		return start.Add(scan)
	}
	phase := recorded.Sub(start) % scan
	if phase == 0 {
		phase = scan
	}
	return start.Add(phase)
}
