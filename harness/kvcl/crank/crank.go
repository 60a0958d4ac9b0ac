package crank

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/kvcl/recall"
)

// maxErrors bounds how often one pod may fail by error, not for want of a node, in one Settle.
const maxErrors = 10

// Options are what the crank needs of a control plane.
type Options struct {
	Scoring profile.Scoring
	// TieBreak is that of profile.Options.
	TieBreak profile.TieBreak
	// Ordinal is the creation number of a pod by its UID.
	Ordinal func(types.UID) int64
	// Flush carries out writes and feeds what became of them, with Set and Remove, before it returns.
	Flush func(ctx context.Context, writes []Write) error
	// EmitEvents asks for the scheduler's events among the writes.
	EmitEvents bool
	// Recall lets the scheduler remember, per shape of pod and node, what it has worked out already. Its answers are the same.
	Recall bool
}

// Result is what the scheduler did in one Settle, in the order it happened.
type Result struct {
	Bindings []Binding
	// Unschedulable lists the pods that were tried and found no node, once each with the last message, in queue order.
	Unschedulable []Unschedulable
	// Victims were preempted. They terminate, as the write said that took them, and hold their room until they are removed.
	Victims []Victim
}

// Binding is a pod that got a node.
type Binding struct {
	Pod  types.NamespacedName
	Node string
}

// Unschedulable is a pod no node can take now, with the scheduler's message
// ("0/3 nodes are available: 3 Insufficient cpu.").
type Unschedulable struct {
	Pod     types.NamespacedName
	Message string
	// Nominated is the node preemption made room on, if any.
	Nominated string
}

// Victim is a pod preempted in favour of another.
type Victim struct {
	Pod       types.NamespacedName
	Node      string
	Preemptor types.NamespacedName
}

// Crank is a scheduler and the objects it sees. Not safe for concurrent use.
type Crank struct {
	opts      Options
	sched     *scheduler.Scheduler
	recall    *recall.Recall
	interest  *interest // with recall
	clock     *clocktesting.FakeClock
	informers map[string]*informer
	pods      *informer
	cancel    context.CancelFunc

	// current is the pod of the cycle that runs; open says that its binding cycle was opened, done that it has ended.
	current types.NamespacedName
	open    bool
	done    chan struct{}
	// preempted ends a round early: the next pod is tried when the scheduler has seen that the victims terminate, and a preemptor
	// whose victims end at once goes first.
	preempted bool
	events    int64
	// fault is of the scheduler's queue or client, which neither should have.
	fault error

	result Result
	// failed maps the pods that found no node in this Settle to their place in the queue and their last message.
	failed map[types.NamespacedName]*failure
	order  []types.NamespacedName
	errors map[types.NamespacedName]int
	// leftovers are retried by the clock.
	leftovers leftovers
	// twins need not be tried; with recall. popped is for the next cycle.
	twins  twins
	popped *popped

	mu     sync.Mutex
	writes []Write
}

type failure struct {
	message   string
	nominated string
}

// New returns a scheduler that has seen nothing yet, at virtual time now. Close ends its goroutines.
func New(ctx context.Context, now time.Time, opts Options) (*Crank, error) {
	if err := profile.SetGates(); err != nil {
		return nil, fmt.Errorf("scheduler feature gates: %w", err)
	}
	c := &Crank{opts: opts, clock: clocktesting.NewFakeClock(now), done: make(chan struct{}, 1)}
	ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	sopts, err := profile.SchedulerOptions(profile.Options{
		Clock:       c.clock,
		Scoring:     opts.Scoring,
		TieBreak:    opts.TieBreak,
		Ordinal:     opts.Ordinal,
		BindVolumes: c.bindVolumes,
		Reserved:    func(*corev1.Pod) { c.open = true },
		Bound:       c.bound,
	})
	if err != nil {
		c.cancel()
		return nil, err
	}
	cl := &client{c: c}
	factory, informers := newFactory(cl)
	c.informers, c.pods = informers, informers[typeName(&corev1.Pod{})]
	rec := &recorder{c: c, emit: opts.EmitEvents}
	c.sched, err = scheduler.New(ctx, cl, factory, nil, func(string) events.EventRecorderLogger { return rec }, sopts...)
	if err != nil {
		c.cancel()
		return nil, fmt.Errorf("create scheduler: %w", err)
	}
	profile.Wrap(c.sched, opts.TieBreak, opts.Ordinal)
	if opts.Recall {
		c.recall, err = recall.Install(ctx, c.sched, recall.Options{Scoring: opts.Scoring, TieBreak: opts.TieBreak, Ordinal: opts.Ordinal})
		if err != nil {
			c.Close()
			return nil, err
		}
		c.interest, err = newInterest(ctx, c.sched.SchedulingQueue, c.sched.Profiles[corev1.DefaultSchedulerName].EnqueueExtensions())
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("create scheduler: %w", err)
		}
		c.sched.SchedulingQueue = c.interest
	}
	pop, fail := c.sched.NextPod, c.sched.FailureHandler
	c.sched.NextPod = c.next(pop)
	c.sched.FailureHandler = c.failureHandler(fail)
	return c, nil
}

// Close ends the scheduler's goroutines.
func (c *Crank) Close() {
	c.sched.SchedulingQueue.Close()
	c.cancel()
}

// RecallStats says what the memory was good for; zero without Options.Recall.
func (c *Crank) RecallStats() recall.Stats {
	if c.recall == nil {
		return recall.Stats{}
	}
	s := c.recall.Stats()
	s.Spared = c.twins.spared
	return s
}

// SetNow moves the clock. Pods fed from now on enter the queue at this instant.
func (c *Crank) SetNow(now time.Time) { c.clock.SetTime(now) }

// Set adds obj, or replaces the object of its name, and lets the scheduler see it. A pod that has ended is no longer
// the scheduler's concern and counts as removed; one of another scheduler counts as one of ours. Objects of kinds the scheduler does not look at are ignored.
func (c *Crank) Set(obj scalehist.Object) error {
	i := c.informers[typeName(obj)]
	if i == nil {
		return nil
	}
	c.leftovers.changes++
	if p, ok := obj.(*corev1.Pod); ok {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			return i.remove(obj)
		}
		obj = adopted(p)
		c.twins.forget(p.UID)
	}
	if old, ok := i.current(obj).(scalehist.Object); ok && old.GetUID() != obj.GetUID() {
		c.forget(old.GetUID())
		if err := i.remove(old); err != nil {
			return err
		}
	}
	return i.set(obj)
}

// adopted is the pod as one of the scheduler's own. Pods that name another scheduler are scheduled by the one there is:
// left alone they would stay pending, with nobody saying why.
func adopted(p *corev1.Pod) *corev1.Pod {
	if p.Spec.SchedulerName == corev1.DefaultSchedulerName {
		return p
	}
	c := *p
	c.Spec.SchedulerName = corev1.DefaultSchedulerName
	return &c
}

// Remove takes an object away from the scheduler.
func (c *Crank) Remove(obj scalehist.Object) error {
	i := c.informers[typeName(obj)]
	if i == nil {
		return nil
	}
	if old, ok := i.current(obj).(scalehist.Object); ok && old.GetUID() != obj.GetUID() {
		return nil // another object took the name
	}
	c.leftovers.changes++
	c.forget(obj.GetUID())
	return i.remove(obj)
}

// forget drops what is remembered of a pod that waits no more.
func (c *Crank) forget(uid types.UID) {
	c.leftovers.placed(uid)
	c.twins.forget(uid)
	if c.interest != nil {
		c.interest.placed(uid)
	}
}

// Settle schedules until every queued pod has a node or a reason.
func (c *Crank) Settle(ctx context.Context) (Result, error) {
	c.result = Result{}
	c.failed = map[types.NamespacedName]*failure{}
	c.errors = map[types.NamespacedName]int{}
	c.order = nil
	c.flushLeftovers()
	for {
		if w := c.takeWrites(); len(w) > 0 {
			if err := c.opts.Flush(ctx, w); err != nil {
				return Result{}, err
			}
		}
		queued := c.queued()
		if queued == 0 {
			return c.takeResult(), nil
		}
		if err := c.round(ctx, queued); err != nil {
			return Result{}, err
		}
	}
}

// checkShare: counting lists the whole queue, so a long one is counted again only after a sixteenth of it was popped.
// Nothing but a few strays leaves a queue without being popped.
const checkShare = 16

func (c *Crank) queued() int {
	return len(c.sched.SchedulingQueue.PodsInActiveQ()) + len(c.sched.SchedulingQueue.PodsInBackoffQ())
}

// round schedules the pods that are queued now, fewer when one of them preempted others.
func (c *Crank) round(ctx context.Context, queued int) error {
	c.preempted = false
	unchecked := 0
	for range queued {
		if err := ctx.Err(); err != nil {
			return err
		}
		if unchecked == 0 {
			n := c.queued()
			if n == 0 {
				return nil // popping would wait for ever
			}
			unchecked = n / checkShare
		} else {
			unchecked--
		}
		c.open = false
		c.once(ctx)
		if c.open {
			select {
			case <-c.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// A cycle that failed before its binding part has said so as well.
		select {
		case <-c.done:
		default:
		}
		if c.fault != nil {
			return c.fault
		}
		if c.errors[c.current] >= maxErrors {
			return fmt.Errorf("schedule pod %s: %s", c.current, c.failed[c.current].message)
		}
		if c.preempted {
			return nil
		}
	}
	return nil
}

func (c *Crank) takeResult() Result {
	r := c.result
	for _, name := range c.order {
		if f := c.failed[name]; f != nil && c.leftovers.news(name, f) {
			r.Unschedulable = append(r.Unschedulable, Unschedulable{Pod: name, Message: f.message, Nominated: f.nominated})
			delete(c.failed, name) // a pod that was bound and failed again is in order twice
		}
	}
	return r
}

type popFunc = func(logger klog.Logger) (*framework.QueuedPodInfo, error)

// next remembers which pod is being scheduled.
func (c *Crank) next(pop popFunc) popFunc {
	return func(logger klog.Logger) (*framework.QueuedPodInfo, error) {
		if p := c.popped; p != nil {
			c.popped = nil
			return p.info, p.err
		}
		info, err := pop(logger)
		if info != nil && info.Pod != nil {
			c.current = types.NamespacedName{Namespace: info.Pod.Namespace, Name: info.Pod.Name}
		}
		return info, err
	}
}

// bound ends a binding cycle well.
func (c *Crank) bound(pod *corev1.Pod, node string) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	delete(c.failed, name)
	c.forget(pod.UID)
	c.result.Bindings = append(c.result.Bindings, Binding{Pod: name, Node: node})
	c.end()
}

func (c *Crank) end() {
	select {
	case c.done <- struct{}{}:
	default:
	}
}

// failureHandler remembers why a pod found no node, then lets the scheduler requeue it.
func (c *Crank) failureHandler(inner scheduler.FailureHandlerFn) scheduler.FailureHandlerFn {
	return func(ctx context.Context, f framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, start time.Time) {
		name := types.NamespacedName{Namespace: info.Pod.Namespace, Name: info.Pod.Name}
		status = profile.Park(info.Pod, status)
		if !status.IsRejected() {
			c.errors[name]++
		}
		f0 := &failure{message: status.Message(), nominated: info.Pod.Status.NominatedNodeName}
		if nominating != nil && nominating.Mode() == fwk.ModeOverride {
			f0.nominated = nominating.NominatedNodeName
		}
		c.noteFailure(info.Pod, *f0)
		if c.recall != nil && c.recall.Refused() {
			c.twins.failed(info.Pod, status, nominating)
		}
		inner(ctx, f, info, status, nominating, start)
		if c.interest != nil {
			c.interest.failed(info)
		}
		c.end()
	}
}

func (c *Crank) known(name types.NamespacedName) bool {
	_, ok := c.failed[name]
	return ok
}
