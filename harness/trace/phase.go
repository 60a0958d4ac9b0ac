package trace

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/observed"
)

// priorityConfigMap is what upstream's priority expander reads (--expander=priority).
const priorityConfigMap = "cluster-autoscaler-priority-expander"

// loopReasons are the events that a cluster-autoscaler writes within a loop, not from the removals it has under way between
// loops (upstream: core/scaleup, core/scaledown/actuation, eventing_scale_up_processor).
var loopReasons = map[string]bool{
	"TriggeredScaleUp": true, "NotTriggerScaleUp": true, "ScaledUpGroup": true, "FailedToScaleUpGroup": true,
	"MaxNodesTotalReached": true, "ClusterUnhealthy": true, "ScaleUpTimedOut": true, "DeleteUnregistered": true,
}

// loopsSeen is how far from the start of a window loops are looked for: farther away the phase is no guide any more, since loops
// drift by the time they take and pods wake them.
const loopsSeen = 30 * time.Second

// seenLoops are the instants around the start of the window at which the recorded autoscaler was in a loop, in order: it wrote
// its status ConfigMap, or an event of a loop. started is when it wrote its first status, before any loop; zero when that does not
// show after the start.
func (r *recorded) seenLoops() (seen []time.Time, started time.Time) {
	from, to := r.start.Add(-loopsSeen), r.start.Add(loopsSeen)
	for _, ch := range r.changes {
		// Only its status and the priorities of its expander are recorded.
		c, ok := ch.Object.(*corev1.ConfigMap)
		switch {
		case !ok || ch.Op == scalehist.OpDelete || c.Name == priorityConfigMap || ch.At.After(to):
		case strings.Contains(c.Data["status"], "autoscalerStatus: Initializing"):
			if started.IsZero() {
				started = ch.At
			}
		default:
			seen = append(seen, ch.At)
		}
	}
	for _, e := range r.events {
		inLoop := loopReasons[e.Reason] && strings.Contains(e.Component, "cluster-autoscaler") || e.Reason == "ScaleDown" && e.Message == observed.MarkedForRemoval
		if inLoop && e.ObservedAt.After(from) && !e.ObservedAt.After(to) {
			seen = append(seen, e.ObservedAt)
		}
	}
	slices.SortFunc(seen, time.Time.Compare)
	return seen, started
}

// FirstLoop is when the autoscaler of a replay loops first: one scan interval after it started, where the recording shows that;
// with the first loop that the recording shows within the first interval; an interval after the last one it shows before. Else one
// scan interval after the start, as if it had started then.
func (in *Input) FirstLoop(scan time.Duration) time.Time {
	next := in.Start.Add(scan)
	if s := in.AutoscalerStarted; !s.IsZero() {
		return s.Add(scan)
	}
	for _, at := range in.LoopsSeen {
		if at.After(in.Start) {
			if !at.After(next) {
				return at
			}
			break
		}
		for next = at.Add(scan); !next.After(in.Start); {
			next = next.Add(scan)
		}
	}
	return next
}
