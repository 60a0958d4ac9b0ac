package crank

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// The scheduler tries a pod again when an event may help it. In case no event did and it could be placed all the same, a
// ticker of its queue retries pods that have waited for longer (upstream: flushUnschedulablePodsLeftover). That ticker
// follows the wall clock, so it never starts here; the crank does its work by virtual time.
const (
	// leftoverAfter is upstream's podMaxInUnschedulablePodsDuration.
	leftoverAfter = 5 * time.Minute
	// leftoverTick is the period of upstream's ticker. Its phase, the start of a scheduler nobody recorded, is taken to be
	// the full and half minutes.
	leftoverTick = 30 * time.Second
)

// leftovers remember the last try of every pod that waits.
type leftovers struct {
	// tick is the last one that was looked at.
	tick time.Time
	// changes counts what the scheduler was shown.
	changes int64
	tries   map[types.UID]*try
	// retried are the pods of this Settle that only the clock brought back, with what was said of them before.
	retried map[types.NamespacedName]failure
}

type try struct {
	failure
	changes int64
	// letBe is when it was due again, with nothing changed.
	letBe time.Time
}

// flushLeftovers brings back the pods whose last try was more than leftoverAfter before the last tick. A pod is let be when
// nothing has changed since that try: the scheduler would come to the same end.
func (c *Crank) flushLeftovers() {
	l := &c.leftovers
	l.retried = nil
	tick := c.clock.Now().Truncate(leftoverTick)
	if !tick.After(l.tick) {
		return
	}
	l.tick = tick
	back := map[string]*corev1.Pod{}
	for _, p := range c.sched.SchedulingQueue.UnschedulablePods() {
		last := l.tries[p.UID]
		if last == nil {
			continue // gated
		}
		info, ok := c.sched.SchedulingQueue.GetPod(p.Name, p.Namespace)
		if !ok || tick.Sub(info.Timestamp) <= leftoverAfter || tick.Sub(last.letBe) <= leftoverAfter {
			continue
		}
		if last.changes == l.changes {
			last.letBe = tick
			continue
		}
		name := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		back[name.String()] = p
		if l.retried == nil {
			l.retried = map[types.NamespacedName]failure{}
		}
		l.retried[name] = last.failure
	}
	if len(back) > 0 {
		// The map's order does not matter: the queue has an order of its own.
		c.sched.SchedulingQueue.Activate(klog.Background(), back)
	}
}

// news says whether a failure is worth reporting: a retry that only the clock brought about, and that ended as the one
// before, is not.
func (l *leftovers) news(name types.NamespacedName, f *failure) bool {
	before, retried := l.retried[name]
	return !retried || before != *f
}

func (l *leftovers) failed(pod *corev1.Pod, f failure) {
	if l.tries == nil {
		l.tries = map[types.UID]*try{}
	}
	l.tries[pod.UID] = &try{failure: f, changes: l.changes}
}

func (l *leftovers) placed(uid types.UID) { delete(l.tries, uid) }
