package virtual

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
	model "github.com/scalehist/scalehist/simulator/workload"
)

// controllers do what the controllers of workloads would do, for those that somebody has taken over: simulator/workload decides, and what it
// does to pods and ReplicaSets happens here. It knows pods by the same names and UIDs.
type controllers struct {
	state *model.State
	// of are the workloads by the UIDs of what controls their pods: their own, or those of the ReplicaSets of a Deployment.
	of map[types.UID]*workload
	// taken are the workloads that were taken over, in this order.
	taken []*workload
	// seen is what happened to their pods since the last reconciliation, in order; stale: something else happened to them.
	seen  []sighting
	stale bool
	// given are the pods behind the names that were given out, by the UIDs of those that are about to be made.
	given map[types.UID]given
	// written are the ReplicaSets of Deployments that the control plane has.
	written map[types.UID]bool
	// back are workloads with evicted pods; dropped are such pods of workloads that are gone.
	back    []*workload
	dropped []*corev1.Pod
}

// sighting is a pod as it is now; nil: it is gone.
type sighting struct {
	uid types.UID
	pod *corev1.Pod
}

// given is a pod that was recorded and has not been here, or one that was evicted.
type given struct {
	pod     *corev1.Pod
	evicted bool
}

func newControllers(c *Cluster) controllers {
	return controllers{
		state: model.New(model.Options{
			Names: c.nextName,
			// A replay knows a demand by its name: another one must not have it.
			Used: func(name types.NamespacedName) bool { return c.births[name] > 0 },
		}),
		of: map[types.UID]*workload{}, given: map[types.UID]given{}, written: map[types.UID]bool{},
	}
}

// owed says whether something happened that controllers have not seen.
func (k *controllers) owed() bool { return k.stale || len(k.seen) > 0 }

// taken is the workload of a pod if somebody has taken it over, else nil.
func (c *Cluster) taken(p *corev1.Pod) *workload {
	if len(c.controllers.of) == 0 {
		return nil
	}
	if w := c.workloads.of(p); w != nil && w.run != nil {
		return w
	}
	return nil
}

// put reports a pod that came or changed.
func (k *controllers) put(w *workload, p *corev1.Pod) {
	if w == nil || w.run == nil {
		return
	}
	v := k.view(w, p)
	w.run.like[revision(w, v)] = p
	k.seen = append(k.seen, sighting{p.UID, v})
}

// gone reports a pod that is not there any more.
func (c *Cluster) gone(p *corev1.Pod) {
	if c.taken(p) != nil {
		c.controllers.seen = append(c.controllers.seen, sighting{uid: p.UID})
	}
}

// departs reports a pod that stops under another name than it had. Only a StatefulSet waits for that, which knows it by its own.
func (c *Cluster) departs(name string, p *corev1.Pod) {
	w := c.taken(p)
	if w == nil {
		return
	}
	v := c.controllers.view(w, p)
	if w.ref.Kind == statefulSet {
		v.Name = name
	}
	c.controllers.seen = append(c.controllers.seen, sighting{p.UID, v})
}

// again lets a pod that was taken off its node be made again, at the next settle or when its controller does.
func (c *Cluster) again(p *corev1.Pod) {
	w := c.taken(p)
	if w == nil {
		c.evicted = append(c.evicted, p)
		return
	}
	w.run.evicted = append(w.run.evicted, p)
	c.controllers.stale = true
	if !slices.Contains(c.controllers.back, w) {
		c.controllers.back = append(c.controllers.back, w)
	}
}

// update brings the model up to date: of each pod with the last that happened to it.
func (k *controllers) update() error {
	last := make(map[types.UID]int, len(k.seen))
	for i, t := range k.seen {
		last[t.uid] = i
	}
	for i, t := range k.seen {
		switch {
		case last[t.uid] != i:
		case t.pod == nil:
			k.state.RemovePod(t.uid)
		default:
			if err := k.state.SetPod(t.pod); err != nil {
				return err
			}
		}
	}
	k.seen, k.stale = nil, false
	return nil
}

// outcome is what controllers did at one instant. back are the pods among writes that were evicted and are there again, fed the others that
// came, and those that were deleted.
type outcome struct{ writes, back, fed []scalehist.Change }

// reconcileWorkloads does what is due of the workloads that were taken over.
func (c *Cluster) reconcileWorkloads(now time.Time) (out outcome, err error) {
	k := &c.controllers
	if at, ok := k.state.Next(); !k.owed() && (!ok || at.After(now)) {
		return out, nil
	}
	if err := k.update(); err != nil {
		return out, fmt.Errorf("controllers of workloads: %w", err)
	}
	actions, err := k.state.Reconcile(now)
	if err != nil {
		return out, fmt.Errorf("controllers of workloads: %w", err)
	}
	for _, a := range actions {
		if err := c.act(a, now, &out); err != nil {
			return out, err
		}
	}
	for _, p := range append(k.dropped, c.unwanted()...) {
		out.fed = append(out.fed, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: p})
	}
	k.dropped = nil
	return out, nil
}

// act does what a controller did.
func (c *Cluster) act(a model.Action, now time.Time, out *outcome) error {
	switch o := a.Object.(type) {
	case *corev1.Pod:
		switch a.Verb {
		case model.CreatePod:
			return c.create(o, now, out)
		case model.ReleasePod:
			if w := c.controllers.of[podlife.ControllerUID(o)]; w.run != nil {
				w.run.counted[o.UID] = true
			}
			return nil
		}
		known := c.pods[scalehist.NameOf(o)]
		if known == nil || known.object.UID != o.UID {
			return nil
		}
		c.releaseClaims(known.object)
		out.fed = append(out.fed, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: known.object})
		out.back = slices.DeleteFunc(out.back, func(ch scalehist.Change) bool { return ch.Object == known.object }) // one controller made it again, another had it deleted
		out.writes = append(out.writes, c.deleted(scalehist.NameOf(o), known, now, now, c.termination(known))...)
	case *batchv1.Job:
		if a.Verb == model.DeleteJob {
			out.writes = append(out.writes, c.expireJob(o, now)...)
		}
	case *appsv1.ReplicaSet:
		out.writes = append(out.writes, c.writeSet(a, o, now)...)
	}
	return nil
}

// create makes the pod that a controller made.
func (c *Cluster) create(o *corev1.Pod, now time.Time, out *outcome) error {
	w := c.controllers.of[podlife.ControllerUID(o)]
	p, evicted, err := c.replica(w, o, now)
	if err != nil {
		return err
	}
	key := scalehist.NameOf(p)
	if c.pods[key] != nil {
		return fmt.Errorf("%s makes pod %s, which is there already", w.ref, key)
	}
	out.writes = append(out.writes, c.claimsOf(w, p, now)...)
	ch := scalehist.Change{At: now, Op: scalehist.OpAdd, Object: c.born(key, p, now)}
	out.writes = append(out.writes, ch)
	c.budgetsDirty = true
	if evicted {
		out.back = append(out.back, ch)
	} else {
		out.fed = append(out.fed, ch)
	}
	return nil
}

// writeSet writes down what became of a ReplicaSet of a Deployment.
func (c *Cluster) writeSet(a model.Action, rs *appsv1.ReplicaSet, now time.Time) []scalehist.Change {
	k := &c.controllers
	op := scalehist.OpUpdate
	switch {
	case a.Verb == model.CreateReplicaSet:
		op = scalehist.OpAdd
		c.workloads.owners.Note(rs)
		k.of[rs.UID], k.written[rs.UID] = k.of[metav1.GetControllerOfNoCopy(rs).UID], true
	case !k.written[rs.UID]:
		return nil
	case a.Verb == model.DeleteReplicaSet:
		op = scalehist.OpDelete
		delete(k.written, rs.UID)
	case a.Verb != model.UpdateReplicaSet || a.From == a.To:
		return nil
	}
	return []scalehist.Change{{At: now, Op: op, Object: rs.DeepCopy()}}
}

// unwanted are the evicted pods that their controllers have not made again and will not: a StatefulSet may wait for the old one to stop, and a Job
// for some time after a failure.
func (c *Cluster) unwanted() (out []*corev1.Pod) {
	k := &c.controllers
	k.back = slices.DeleteFunc(k.back, func(w *workload) bool {
		if w.run == nil {
			return true
		}
		w.run.evicted = slices.DeleteFunc(w.run.evicted, func(p *corev1.Pod) bool {
			waits := w.ref.Kind == statefulSet && k.hasOrdinal(w, p) || w.ref.Kind == jobKind && k.jobGoesOn(w)
			if !waits {
				out = append(out, p)
			}
			return !waits
		})
		return len(w.run.evicted) == 0
	})
	return out
}

// hasOrdinal says whether a StatefulSet is to have the pod of this name.
func (k *controllers) hasOrdinal(w *workload, p *corev1.Pod) bool {
	set := k.state.StatefulSet(w.run.root)
	n, ok := ordinalOf(set.Name, p.Name)
	first := 0
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return ok && n >= first && n < first+int(w.wanted)
}
