package virtual

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// Cluster is a control plane with the virtual parts at work. Like the plane it is owned by one replay loop.
// It implements scalehist.Cluster for autoscalers.
type Cluster struct {
	plane kvcl.ControlPlane
	opts  Options
	// now is the virtual time of the last Settle, or of a later change.
	now time.Time

	// pods are the live ones; put, show and drop change them.
	pods map[types.NamespacedName]*pod
	// daemonPods are the pods of DaemonSets by daemonID.
	daemonPods map[string][]types.NamespacedName
	tally      tally
	// arrivals counts the pods that ever were; onNode files the live ones under their nodes.
	arrivals int64
	// nodePods counts changes of pods that belong to their node.
	nodePods int64
	onNode   map[string]map[types.NamespacedName]*pod
	// births numbers the pods that ever were under a name, to give a pod that comes back a UID of its own.
	births map[types.NamespacedName]int
	nodes  map[string]*corev1.Node
	// taints are those SetTaints put on a node beside what was fed in: a later recorded change must not take them off.
	taints map[string][]corev1.Taint
	// cordoned are the nodes Cordon closed beside what was fed in.
	cordoned map[string]bool
	// noExecute are the taints pods must leave for, by node; taintsDirty names nodes whose taints changed.
	noExecute   map[string][]noExecute
	taintsDirty map[string]bool
	// daemonSets and budgets are kept in creation order.
	daemonSets []*appsv1.DaemonSet
	budgets    []*policyv1.PodDisruptionBudget
	// generations are at least the API server's metadata.generation of each budget: it counts spec changes, we count
	// updates. The eviction subresource refuses while status.observedGeneration is behind.
	generations map[types.NamespacedName]int64
	// classes are the storage classes by name.
	classes map[string]*storagev1.StorageClass
	// whenDone are the finite pods that go as soon as they have run their time.
	whenDone map[types.NamespacedName]bool
	// daemonsDirty names the nodes whose DaemonSet pods must be looked at before the next settle, in order.
	daemonsDirty []string
	claims       claims
	budgetsDirty bool
	// evicted pods come back at the next settle; leaving pods are on their way out and hold their room.
	evicted []*corev1.Pod
	leaving []*leaving
	// lost pods are gone from the plane for good, and not yet reported.
	lost []types.NamespacedName
	// workloads are what owns pods and has replicas; controllers act for those that were taken over.
	workloads   workloads
	controllers controllers
	// admitters change new pods; templates are those pods as their owners made them, by UID.
	admitters []scalehist.Admitter
	templates map[types.UID]*corev1.Pod
	// resizes are pods with other requests, not yet reported; deferred are those whose nodes have no room for that.
	resizes []scalehist.Change
	// recordedRequests is one of the admitters; nil: requests are those of the pods that are fed in.
	recordedRequests *recordedRequests
	deferred         map[types.NamespacedName]*pod
	lives            lives
}

var _ scalehist.Cluster = (*Cluster)(nil)

// Options of the virtual parts.
type Options struct {
	// Termination is how long a pod takes to stop once its deletion was asked for; nil stands for kubelet.AssumedTermination.
	Termination func(*corev1.Pod) time.Duration
	// Recorded gives every workload to a controller that lets it have the pods that were recorded: nobody else can take one over, and the
	// outcome is that of no controller at all.
	Recorded bool
	// RecordedRequests lets every pod have the requests that were recorded of it, by the means by which a controller sets them.
	RecordedRequests bool
	// StartUp is how long a pod takes from its node to Ready; nil stands for no time.
	StartUp func(*corev1.Pod) time.Duration
}

func (o Options) keeper() string {
	if o.Recorded {
		return recorded
	}
	return ""
}

// New puts the virtual parts to work on an empty control plane.
func New(plane kvcl.ControlPlane, opts Options) *Cluster {
	if opts.Termination == nil {
		opts.Termination = kubelet.AssumedTermination
	}
	c := &Cluster{
		plane:  plane,
		opts:   opts,
		pods:   map[types.NamespacedName]*pod{},
		onNode: map[string]map[types.NamespacedName]*pod{},
		births: map[types.NamespacedName]int{},
		nodes:  map[string]*corev1.Node{},
		taints: map[string][]corev1.Taint{},

		cordoned:    map[string]bool{},
		noExecute:   map[string][]noExecute{},
		taintsDirty: map[string]bool{},
		generations: map[types.NamespacedName]int64{},
		classes:     map[string]*storagev1.StorageClass{},
		whenDone:    map[types.NamespacedName]bool{},
		claims:      newClaims(),
		daemonPods:  map[string][]types.NamespacedName{},
		workloads:   newWorkloads(opts.keeper()),
		templates:   map[types.UID]*corev1.Pod{},
		deferred:    map[types.NamespacedName]*pod{},
		lives:       newLives(),
	}
	if opts.RecordedRequests {
		c.recordedRequests = &recordedRequests{last: map[types.NamespacedName]*corev1.Pod{}}
		c.Admit(c.recordedRequests)
	}
	c.controllers = newControllers(c)
	return c
}

// Objects implements scalehist.Cluster.
func (c *Cluster) Objects() *scalehist.Objects { return c.plane.Objects() }

// SetTaints implements scalehist.Cluster.
func (c *Cluster) SetTaints(ctx context.Context, node string, taints []corev1.Taint) error {
	if err := c.plane.SetTaints(ctx, node, taints); err != nil {
		return err
	}
	c.tainted(node, taints)
	return nil
}

// tainted notes the taints that somebody put on a node.
func (c *Cluster) tainted(node string, taints []corev1.Taint) {
	n := c.nodes[node]
	if n == nil {
		return
	}
	fed := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return hasTaint(c.taints[node], t) })
	c.taints[node] = slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return hasTaint(fed, t) })
	n = n.DeepCopy()
	n.Spec.Taints = slices.Clone(taints)
	c.nodes[node] = n
	c.taintsDirty[node] = true
	c.daemonsDirty = append(c.daemonsDirty, node) // a taint keeps DaemonSet pods off, or lets them on
}

// Cordon implements scalehist.Cluster.
func (c *Cluster) Cordon(ctx context.Context, node string, unschedulable bool) error {
	n := c.nodes[node]
	if n == nil {
		return fmt.Errorf("cordon node %s: %w", node, apierrors.NewNotFound(corev1.Resource("nodes"), node))
	}
	if n.Spec.Unschedulable == unschedulable {
		return nil
	}
	n = n.DeepCopy()
	n.Spec.Unschedulable = unschedulable
	if err := c.plane.Apply(ctx, []scalehist.Change{{Op: scalehist.OpUpdate, Object: n}}); err != nil {
		return fmt.Errorf("cordon node %s: %w", node, err)
	}
	c.closed(n)
	return nil
}

// closed notes that somebody closed or opened a node.
func (c *Cluster) closed(n *corev1.Node) {
	c.nodes[n.Name] = n
	if n.Spec.Unschedulable {
		c.cordoned[n.Name] = true
		return
	}
	delete(c.cordoned, n.Name)
	c.daemonsDirty = append(c.daemonsDirty, n.Name) // a drain that failed may have evicted its DaemonSet pods
}

func hasTaint(list []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(list, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}

// Evict implements scalehist.Cluster: the eviction subresource decides. An evicted pod goes on for its termination time,
// and holds its room. A pod with a controller comes back pending at the next Settle, when the old one has stopped if that is
// a StatefulSet, on its node if it is a DaemonSet and the node still wants it.
func (c *Cluster) Evict(ctx context.Context, namespace, name string) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	p := c.pods[key]
	termination := c.termination(p)
	if err := c.plane.Evict(ctx, namespace, name); err != nil {
		return err
	}
	c.drop(key)
	c.budgetsDirty = true
	if p == nil || p.done {
		return nil
	}
	c.lose(key, p)
	if podlife.IsDaemon(p.object) {
		c.daemonsDirty = append(c.daemonsDirty, podlife.DaemonNode(p.object))
	}
	return c.apply(ctx, c.leave(p.object, c.now, termination))
}

// Apply feeds in what the workload did, in order. A deletion of a pod that is no more (it was preempted and its
// controller is gone, say) is not an error: a recording may delete what this replay lost earlier.
func (c *Cluster) Apply(ctx context.Context, changes []scalehist.Change) error {
	var out []scalehist.Change
	for _, ch := range changes {
		writes, err := c.admit(ch)
		if err != nil {
			return err
		}
		out = append(out, writes...)
	}
	if len(out) == 0 {
		return nil
	}
	return c.plane.Apply(ctx, out)
}

// admit notes a change and returns what to write for it.
func (c *Cluster) admit(ch scalehist.Change) ([]scalehist.Change, error) {
	switch o := ch.Object.(type) {
	case *corev1.Pod:
		return c.admitPod(ch, o)
	case *corev1.Node:
		return c.admitNode(ch, o)
	case *appsv1.DaemonSet:
		return c.admitDaemonSet(ch, o), nil
	case *policyv1.PodDisruptionBudget:
		c.admitBudget(ch, o)
	case *storagev1.StorageClass:
		c.admitStorageClass(ch, o)
	case *corev1.PersistentVolumeClaim:
		if ch.Op == scalehist.OpDelete && c.retained(o) {
			return nil, nil
		}
		return c.admitClaim(ch, o), nil
	default:
		return c.admitWorkload(ch)
	}
	return []scalehist.Change{ch}, nil
}

func (c *Cluster) admitPod(ch scalehist.Change, p *corev1.Pod) ([]scalehist.Change, error) {
	key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
	known := c.pods[key]
	c.budgetsDirty = true
	switch ch.Op {
	case scalehist.OpAdd:
		if known != nil {
			return nil, fmt.Errorf("pod %s is there already", key)
		}
		if p.Spec.NodeName != "" && c.nodes[p.Spec.NodeName] == nil {
			return nil, fmt.Errorf("pod %s stands on node %q, which is not in the cluster", key, p.Spec.NodeName)
		}
		out := c.freeName(key, ch.At)
		return append(out, scalehist.Change{At: ch.At, Op: scalehist.OpAdd, Object: c.born(key, p, ch.At)}), nil
	case scalehist.OpDelete:
		if p.Annotations[podlife.WhenDoneAnnotation] == "true" && (known != nil && !known.done || c.returns(key)) {
			c.whenDone[key] = true
			return nil, nil
		}
		c.forgetReturn(key)
		if known == nil {
			return nil, nil
		}
		return c.deleted(key, known, ch.At, c.at(ch), c.deletion(p, known)), nil
	default:
		if known == nil {
			return nil, nil
		}
		if known.workload != nil && known.workload.sizedBy != "" {
			p = kubelet.WithResourcesOf(p, known.object) // its requests are not what was recorded
			p.Spec.Resources = known.object.Spec.Resources
		}
		return c.updatePod(ch, known, p), nil
	}
}

// deleted deletes a pod, which takes a while to stop from a given time on.
func (c *Cluster) deleted(key types.NamespacedName, p *pod, asked, from time.Time, termination time.Duration) []scalehist.Change {
	c.drop(key)
	delete(c.whenDone, key)
	c.budgetsDirty = true
	out := []scalehist.Change{{At: asked, Op: scalehist.OpDelete, Object: p.object}}
	if termination > 0 {
		out = append(out, c.depart(p.object, from, termination, nil))
	}
	return out
}

// updatePod carries a recorded change of labels, annotations, gates, tolerations or requests over to the pod as it
// stands here. The API server does not let requests change in place outside the resize subresource, so a resized pod
// is replaced on the spot, which is what a successful in-place resize looks like to the scheduler.
func (c *Cluster) updatePod(ch scalehist.Change, known *pod, want *corev1.Pod) []scalehist.Change {
	next := known.object.DeepCopy()
	next.Labels, next.Annotations = want.Labels, want.Annotations
	if known.object.Spec.NodeName != "" {
		next.Labels = maps.Clone(want.Labels)
		for _, l := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
			if v, ok := known.object.Labels[l]; ok && next.Labels != nil {
				next.Labels[l] = v // the API server's copies of the node's
			}
		}
	}
	resized := kubelet.Differ(next, want)
	next.Spec.SchedulingGates = want.Spec.SchedulingGates
	next.Spec.Tolerations = want.Spec.Tolerations
	next.Spec.NodeSelector, next.Spec.Affinity = want.Spec.NodeSelector, want.Spec.Affinity
	next.Spec.Resources = want.Spec.Resources
	kubelet.CopyResources(next.Spec.Containers, want.Spec.Containers)
	kubelet.CopyResources(next.Spec.InitContainers, want.Spec.InitContainers)
	if !resized {
		c.show(known, next)
		return []scalehist.Change{{At: ch.At, Op: scalehist.OpUpdate, Object: next}}
	}
	old := known.object
	key := types.NamespacedName{Namespace: next.Namespace, Name: next.Name}
	born := c.enter(key, next, ch.At)
	again := c.pods[key]
	c.tally.uncount(again)
	again.done = known.done
	c.tally.count(again)
	for _, a := range []*alarms{&c.lives.finishing, &c.lives.starting, &c.lives.restarting} {
		a.set(key, again, *a.of(known))
	}
	return []scalehist.Change{
		{At: ch.At, Op: scalehist.OpDelete, Object: old},
		{At: ch.At, Op: scalehist.OpAdd, Object: born},
	}
}

// enter registers a pod and gives it the UID of its incarnation.
func (c *Cluster) enter(key types.NamespacedName, p *corev1.Pod, at time.Time) *corev1.Pod {
	p = podlife.Copied(p)
	p.UID = c.nextUID(key, p.UID)
	c.births[key]++
	entry := &pod{object: p}
	if p.Spec.NodeName != "" && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
		if p.Status.Phase != corev1.PodRunning {
			p.Status = kubelet.Running(at)
		}
		entry.finishAt = podlife.FinishTime(p, at)
	}
	c.put(key, entry)
	if hasEphemeral(p) {
		c.claims.born = append(c.claims.born, key)
	}
	return p
}

// nextUID is the UID of the next incarnation of a pod: the first one has its own, if it has one.
func (c *Cluster) nextUID(key types.NamespacedName, own types.UID) types.UID {
	if n := c.births[key] + 1; n > 1 || own == "" {
		return types.UID(fmt.Sprintf("pod/%s#%d", key, n))
	}
	return own
}

func (c *Cluster) admitNode(ch scalehist.Change, n *corev1.Node) ([]scalehist.Change, error) {
	switch ch.Op {
	case scalehist.OpDelete:
		return c.nodeGone(ch.At, n.Name), nil
	case scalehist.OpAdd:
		if c.nodes[n.Name] != nil {
			return nil, fmt.Errorf("node %q is there already", n.Name)
		}
	default:
		if c.nodes[n.Name] == nil {
			return nil, nil
		}
		if own := c.taints[n.Name]; len(own) > 0 {
			n = n.DeepCopy()
			n.Spec.Taints = append(slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return hasTaint(own, t) }), own...)
			ch.Object = n
		}
		if c.cordoned[n.Name] && !n.Spec.Unschedulable {
			n = n.DeepCopy()
			n.Spec.Unschedulable = true
			ch.Object = n
		}
	}
	c.nodes[n.Name] = n
	c.taintsDirty[n.Name] = true
	c.daemonsDirty = append(c.daemonsDirty, n.Name)
	return []scalehist.Change{ch}, nil
}

// nodeGone removes a node with the pods on it; those with a controller come back pending.
func (c *Cluster) nodeGone(at time.Time, name string) []scalehist.Change {
	node := c.nodes[name]
	if node == nil {
		return nil
	}
	out := c.stoppedOn(name, at)
	delete(c.nodes, name)
	delete(c.taints, name)
	delete(c.cordoned, name)
	delete(c.noExecute, name)
	c.budgetsDirty = true
	for _, key := range podsWhere(c.onNode[name], func(*corev1.Pod) bool { return true }) {
		known := c.pods[key]
		c.drop(key)
		out = append(out, scalehist.Change{At: at, Op: scalehist.OpDelete, Object: known.object})
		c.lose(key, known)
		if podlife.ComesBack(known.object) && !known.done {
			c.again(known.object)
		}
	}
	return append(out, scalehist.Change{At: at, Op: scalehist.OpDelete, Object: node})
}

// Next is the earliest instant at which a finite pod finishes, a pod is ready or starts a container again, leaves a tainted node, or, deleted,
// stops, or a controller of a workload that was taken over has something to do.
func (c *Cluster) Next() (time.Time, bool) {
	next, _ := c.nextTaintEviction()
	if at, ok := c.nextStop(); ok && (next.IsZero() || at.Before(next)) {
		next = at
	}
	if at, ok := c.controllers.state.Next(); ok && (next.IsZero() || at.Before(next)) {
		next = at
	}
	for _, a := range []*alarms{&c.lives.finishing, &c.lives.starting, &c.lives.restarting} {
		if first, ok := c.next(a); ok && (next.IsZero() || first.at.Before(next)) {
			next = first.at
		}
	}
	return next, !next.IsZero()
}

// returns says whether a pod of that name is about to come back.
func (c *Cluster) returns(key types.NamespacedName) bool {
	return slices.ContainsFunc(c.evicted, func(e *corev1.Pod) bool { return named(e, key) }) ||
		slices.ContainsFunc(c.leaving, func(l *leaving) bool { return l.back != nil && named(l.back, key) })
}

// forgetReturn: a pod of that name does not come back.
func (c *Cluster) forgetReturn(key types.NamespacedName) {
	c.evicted = slices.DeleteFunc(c.evicted, func(e *corev1.Pod) bool { return named(e, key) })
	for _, l := range c.leaving {
		if l.back != nil && named(l.back, key) {
			l.back = nil
		}
	}
}

func named(p *corev1.Pod, key types.NamespacedName) bool {
	return p.Namespace == key.Namespace && p.Name == key.Name
}

// at is when a change happens: it may have been recorded before the step that feeds it in.
func (c *Cluster) at(ch scalehist.Change) time.Time {
	if ch.At.After(c.now) {
		return ch.At
	}
	return c.now
}
