package virtualca

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/config"
)

// stage says how far the removal of a node is.
type stage uint8

const (
	// stageTainted: the taint is on; the pods are looked at again after --node-delete-delay-after-taint.
	stageTainted stage = iota
	// stageEvicting: evictions were asked for, some were refused and are tried again.
	stageEvicting
	// stageTerminating: all pods of the step are on their way out.
	stageTerminating
	// stageDelayed: the node is empty, annotations ask to wait.
	stageDelayed
	// stageQueued: the node waits for others of its group that go in the same call.
	stageQueued
)

const (
	// evictionTakes is how long the evictions that pass take together: between them and the next one comes what takes no time, such as a replacement
	// that is Ready at once. One took 8 ms in real runs.
	evictionTakes = 10 * time.Millisecond
	// evictionRetry is the time between two tries of a refused eviction, gonePoll between two looks for pods that
	// terminate, terminationHeadroom how much longer than allowed that may take.
	evictionRetry       = 10 * time.Second
	gonePoll            = 5 * time.Second
	terminationHeadroom = 30 * time.Second
)

// deletion is the removal of a node under way. Upstream has a goroutine for each (core/scaledown/actuation); here it is
// a state machine that acts at its own instants of virtual time.
type deletion struct {
	node, group string
	drain       bool
	stage       stage
	// next is when to act next, began when the stage began.
	next, began time.Time
	// tried is when evictions of this step were asked for first, or last again.
	tried time.Time
	// steps are the pods still to evict by priority, the present step first; termination is what that step allows.
	steps []drainStep
	// refused are pods of the present step whose eviction is tried again, leaving those on their way out.
	refused, leaving []*corev1.Pod
	// together is how many nodes of the group go in one call; 0 is no matter.
	together int
}

// deletions are the removals under way, in the order in which they started.
type deletions struct {
	list   []*deletion
	byNode map[string]*deletion
	queues map[string]*queue
}

// queue are nodes of a group that go in one call, at an instant or when they are all there.
type queue struct {
	nodes []*deletion
	at    time.Time
}

func newDeletions() *deletions {
	return &deletions{byNode: map[string]*deletion{}, queues: map[string]*queue{}}
}

func (d *deletions) add(x *deletion) {
	d.list = append(d.list, x)
	d.byNode[x.node] = x
}

// end forgets a removal, done or failed.
func (d *deletions) end(x *deletion) {
	delete(d.byNode, x.node)
	for i := range d.list {
		if d.list[i] == x {
			d.list = append(d.list[:i:i], d.list[i+1:]...)
			return
		}
	}
}

func (d *deletions) of(node string) *deletion { return d.byNode[node] }
func (d *deletions) count() int               { return len(d.list) }

func (d *deletions) inGroup(group string) int {
	n := 0
	for _, x := range d.list {
		if x.group == group {
			n++
		}
	}
	return n
}

// draining lists the nodes with pods to move, in the order in which their removals started.
func (d *deletions) draining() []string {
	var out []string
	for _, x := range d.list {
		if x.drain {
			out = append(out, x.node)
		}
	}
	return out
}

// next is the removal to act on first; of several at an instant the one that started first. False when all wait for
// a queue.
func (d *deletions) next() (*deletion, bool) {
	var first *deletion
	for _, x := range d.list {
		if x.stage != stageQueued && (first == nil || x.next.Before(first.next)) {
			first = x
		}
	}
	return first, first != nil
}

// nextQueue is the group whose queue is due first; of several the one whose first node started first.
func (d *deletions) nextQueue() (string, time.Time, bool) {
	var group string
	var at time.Time
	for _, x := range d.list {
		if q := d.queues[x.group]; q != nil && !q.at.IsZero() && (group == "" || q.at.Before(at)) {
			group, at = x.group, q.at
		}
	}
	return group, at, group != ""
}

// drainStep are the pods evicted together, and how long they may terminate.
type drainStep struct {
	pods, daemonSet []*corev1.Pod
	termination     time.Duration
}

// drainSteps splits pods by --drain-priority-config, the lowest priority first; without it there is one step. A pod
// belongs to the highest step that is not above its priority, or to the lowest.
func drainSteps(s *config.DownSettings, pods, daemonSet []*corev1.Pod) []drainStep {
	if len(s.DrainPriorities) == 0 {
		return []drainStep{{pods, daemonSet, s.MaxGracefulTermination}}
	}
	steps := make([]drainStep, len(s.DrainPriorities))
	for i, p := range s.DrainPriorities {
		steps[i].termination = p.Termination
	}
	of := func(p *corev1.Pod) *drainStep {
		at := 0
		for i, step := range s.DrainPriorities {
			if step.Priority <= priority(p) {
				at = i
			}
		}
		return &steps[at]
	}
	for _, p := range pods {
		of(p).pods = append(of(p).pods, p)
	}
	for _, p := range daemonSet {
		of(p).daemonSet = append(of(p).daemonSet, p)
	}
	var out []drainStep
	for _, st := range steps {
		if len(st.pods)+len(st.daemonSet) > 0 {
			out = append(out, st)
		}
	}
	return out
}
