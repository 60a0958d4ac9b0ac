package virtual

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// recorded is who takes workloads over whose replicas are to be as they were recorded (Options.Recorded).
const recorded = "recorded"

// workload is something with replicas, and its pods here.
type workload struct {
	ref   scalehist.WorkloadRef
	order int // among the workloads
	// replicas and selector are those of its object, where there is one; nil: not known.
	replicas *int32
	selector labels.Selector
	// object is the newest recorded one, nil if there is none; sets are the ReplicaSets of a Deployment, in the order in which they came.
	object scalehist.Object
	sets   []*appsv1.ReplicaSet
	// pods are its live ones, in the order of their births.
	pods []*pod
	// keeper took it over, and wants wanted pods; empty: it has what is fed in.
	keeper string
	wanted int32
	// sizedBy sets the requests of its pods; empty: they are as recorded.
	sizedBy string
	// last is its newest pod.
	last *corev1.Pod
	// coming are pods that wait to be fed in from the start on; they count as replicas already.
	coming int32
	// changed: is among those of workloads.changed.
	changed bool
	// matched counts its pods that budgets select, by index of the budget.
	matched map[int]int
	// run is what controllers do with it, nil while nobody has taken it over.
	run *controlled
}

// absent says whether there is no such workload: nothing of it is here, and nobody answers for it.
func (w *workload) absent() bool {
	return len(w.pods) == 0 && w.replicas == nil && (w.keeper == "" || w.keeper != recorded && w.run == nil)
}

// match counts pods that a budget selects.
func (w *workload) match(budget, pods int) {
	if w != nil {
		w.matched[budget] += pods
	}
}

// workloads files pods under what owns them.
type workloads struct {
	byRef  map[scalehist.WorkloadRef]*workload // without versions
	list   []*workload                         // in the order in which they were seen first
	owners podlife.Owners
	// jobs are the Jobs there are. They have no replicas, so that they are no workloads until somebody takes one over.
	jobs map[scalehist.WorkloadRef]*batchv1.Job
	// awaited are DaemonSets that somebody asked for before they were there.
	awaited map[scalehist.WorkloadRef]bool
	// changed are those whose pods, or what is wanted, have changed since somebody asked.
	changed []*workload
	// keeper takes over every workload that is seen.
	keeper string
}

func newWorkloads(keeper string) workloads {
	return workloads{keeper: keeper, byRef: map[scalehist.WorkloadRef]*workload{}, jobs: map[scalehist.WorkloadRef]*batchv1.Job{}, awaited: map[scalehist.WorkloadRef]bool{}}
}

// touch notes that a workload has changed.
func (w *workloads) touch(o *workload) {
	if o != nil && !o.changed {
		o.changed = true
		w.changed = append(w.changed, o)
	}
}

// Changed are the workloads whose pods, or whose wanted replicas, have changed since the last call, in the order in which they were seen first.
func (c *Cluster) Changed() []scalehist.Workload {
	list := c.workloads.changed
	c.workloads.changed = nil
	slices.SortFunc(list, func(a, b *workload) int { return cmp.Compare(a.order, b.order) })
	out := make([]scalehist.Workload, len(list))
	for i, w := range list {
		w.changed = false
		out[i] = c.state(w)
	}
	return out
}

// get is the workload with a reference, filed when it is seen first.
func (w *workloads) get(ref scalehist.WorkloadRef) *workload {
	known := w.find(ref)
	if known == nil {
		known = &workload{ref: ref, keeper: w.keeper, order: len(w.list), matched: map[int]int{}}
		w.byRef[ref.Key()] = known
		w.list = append(w.list, known)
	}
	return known
}

// find is the workload with a reference that was seen; nil if none was.
func (w *workloads) find(ref scalehist.WorkloadRef) *workload { return w.byRef[ref.Key()] }

// of is the workload of a pod; nil where nothing with replicas owns it.
func (w *workloads) of(p *corev1.Pod) *workload {
	ref, ok := w.owners.Of(p)
	if !ok {
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && (owner.Kind == jobKind || owner.Kind == daemonSetKind) {
			return w.find(scalehist.WorkloadRef{Kind: owner.Kind, Namespace: p.Namespace, Name: owner.Name}) // nil unless somebody asked for it
		}
		return nil
	}
	return w.get(ref)
}

// OwnerOf implements scalehist.Workloads.
func (c *Cluster) OwnerOf(p *corev1.Pod) (scalehist.WorkloadRef, bool) {
	if w := c.workloads.of(p); podlife.IsDaemon(p) && w != nil {
		return w.ref, true
	}
	return c.workloads.owners.Of(p)
}

// Targets lists the workloads that have replicas, in the order in which they were seen first.
func (c *Cluster) Targets() []scalehist.Workload {
	out := make([]scalehist.Workload, 0, len(c.workloads.list))
	for _, w := range c.workloads.list {
		if !w.absent() {
			out = append(out, c.state(w))
		}
	}
	return out
}

// Target is the workload with a reference; versions are not compared.
func (c *Cluster) Target(ref scalehist.WorkloadRef) (scalehist.Workload, error) {
	w := c.find(ref)
	if w == nil || w.absent() {
		return scalehist.Workload{}, fmt.Errorf("%s: %w", ref, scalehist.ErrNoWorkload)
	}
	return c.state(w), nil
}

// state is a workload as it is now.
func (c *Cluster) state(w *workload) scalehist.Workload {
	out := scalehist.Workload{WorkloadRef: w.ref, Selector: w.selector, SizedBy: w.sizedBy}
	out.Pods = slices.Grow(out.Pods, len(w.pods))
	for _, p := range w.pods {
		out.Pods = append(out.Pods, p.object)
		if !p.done {
			out.Current++
		}
	}
	switch {
	case w.keeper == recorded:
		out.Replicas = out.Current + int32(len(c.returning(w))) //nolint:gosec // a cluster has fewer
	case w.keeper != "":
		out.Replicas = w.wanted
	case w.replicas != nil:
		out.Replicas = *w.replicas
	default:
		out.Replicas = out.Current + w.coming
	}
	return out
}

// TakeOver implements scalehist.Workloads. The pods that are recorded of the workload are fed in no more; those that come later, new pods are
// named after. A Job may be taken over, too, though it has no scale.
func (c *Cluster) TakeOver(controller string, ref scalehist.WorkloadRef) error {
	w := c.workloads.find(ref)
	if w == nil && c.workloads.jobs[ref.Key()] != nil {
		w = c.fileJob(c.workloads.jobs[ref.Key()])
	}
	switch {
	case ref.Kind == daemonSetKind:
		return fmt.Errorf("%s has no scale: %w", ref, scalehist.ErrNoWorkload)
	case w == nil:
		return fmt.Errorf("%s: %w", ref, scalehist.ErrNoWorkload)
	case w.keeper != "" && w.keeper != controller:
		return fmt.Errorf("%s belongs to %s already: two controllers cannot set its replicas", ref, w.keeper)
	case w.keeper != "":
		return nil
	}
	w.wanted, w.keeper = c.state(w).Replicas, controller
	err := c.control(w)
	if err != nil {
		w.run, w.keeper = nil, ""
	}
	return err
}

// Scale implements scalehist.Workloads: pods come and are deleted at the next Settle.
func (c *Cluster) Scale(_ context.Context, ref scalehist.WorkloadRef, replicas int32) error {
	w := c.workloads.find(ref)
	switch {
	case w == nil || w.absent():
		return fmt.Errorf("scale %s: %w", ref, scalehist.ErrNoWorkload)
	case w.run == nil:
		return fmt.Errorf("scale %s: nobody has taken it over", ref)
	case replicas < 0:
		return fmt.Errorf("scale %s to %d: replicas are 0 or more", ref, replicas)
	}
	if err := c.controllers.state.Scale(w.run.root, replicas); err != nil {
		return fmt.Errorf("scale %s: %w", ref, err)
	}
	w.wanted = replicas
	c.controllers.stale, c.budgetsDirty = true, true
	c.workloads.touch(w)
	return nil
}

// withheld says whether a recorded change of a pod is an effect here, because somebody sets the replicas of its workload, and takes what it
// says of later pods: names and what they are like.
func (c *Cluster) withheld(ch scalehist.Change, p *corev1.Pod) bool {
	w := c.workloads.of(p)
	if w == nil || w.keeper == "" || w.keeper == recorded {
		return false
	}
	switch {
	case w.run == nil: // its object is gone
	case ch.Op == scalehist.OpAdd:
		w.run.spares = append(w.run.spares, p)
		w.coming = max(0, w.coming-1)
	case ch.Op == scalehist.OpDelete:
		// One that has not been here will not be missed under its name.
		w.run.spares = slices.DeleteFunc(w.run.spares, func(o *corev1.Pod) bool { return o.Name == p.Name })
	default:
		return c.pods[scalehist.NameOf(p)] == nil
	}
	return true
}

// Coming notes a pod that was there at the start without a node: it is fed in later, but its workload has it as a replica.
func (c *Cluster) Coming(p *corev1.Pod) {
	if w := c.workloads.of(p); w != nil {
		w.coming++
		w.last = cmp.Or(w.last, p)
	}
}

// Withhold takes out of recorded changes those that controllers of this replay decide.
func (c *Cluster) Withhold(changes []scalehist.Change) []scalehist.Change {
	if !slices.ContainsFunc(c.workloads.list, func(w *workload) bool { return w.keeper != "" && w.keeper != recorded }) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), func(ch scalehist.Change) bool {
		p, ok := ch.Object.(*corev1.Pod)
		return ok && c.withheld(ch, p)
	})
}

// returning are the pods of a workload that were evicted and come back by themselves.
func (c *Cluster) returning(w *workload) []*corev1.Pod {
	var out []*corev1.Pod
	for _, e := range c.evicted {
		if c.workloads.of(e) == w {
			out = append(out, e)
		}
	}
	for _, l := range c.leaving {
		if l.back != nil && c.workloads.of(l.back) == w {
			out = append(out, l.back)
		}
	}
	return out
}
