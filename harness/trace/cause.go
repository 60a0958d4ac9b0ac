package trace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

// replacementWithin bounds how long after an eviction the owner's next new pod counts as the replacement. The
// ReplicaSet controller answers within its sync; a minute covers a controller that was down or rate-limited.
const replacementWithin = time.Minute

// causes splits the recording: what stood at the start, and what the workload did afterwards.
func (r *recorded) causes(ctx context.Context, in *Input) (initial, changes []scalehist.Change, err error) {
	in.RecordedNodes = map[types.UID]string{}
	in.Deletions = map[types.UID]time.Time{}
	demands := r.demands()
	initial, pending := r.standing(in, demands)
	for _, o := range r.initial.Objects.HorizontalPodAutoscalers {
		in.Autoscalers = append(in.Autoscalers, o)
	}
	for _, o := range r.initial.Objects.LimitRanges {
		in.Autoscalers = append(in.Autoscalers, o)
	}
	for _, o := range r.initial.Objects.Custom {
		if c := configures(o); c != nil {
			in.Autoscalers = append(in.Autoscalers, c)
		}
	}
	for _, p := range pending {
		changes = append(changes, scalehist.Change{At: r.start, Op: scalehist.OpAdd, Object: demands.finite(p)})
	}
	for i := range initial {
		if p, ok := initial[i].Object.(*corev1.Pod); ok {
			initial[i].Object = demands.finite(p)
		}
	}
	state, groupOf := r.lastKnown(), r.nodeGroups()
	for _, ch := range r.changes {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if c, ok := ch.Object.(*storagev1.CSINode); ok && groupOf[c.Name] != "" && !r.along[c.Name] {
			continue // it comes and goes with its node
		}
		if out, ok := r.cause(ch, state, demands, in); ok {
			changes = append(changes, out)
		}
		state[objectID(ch.Object)] = ch.Object
	}
	in.Warnings = append(in.Warnings, demands.warnings...)
	in.NodeFaults = append(r.failedNodes(), r.lostNodes()...)
	for _, f := range in.NodeFaults {
		in.Warnings = append(in.Warnings, describeLoss(f))
	}
	return initial, changes, nil
}

// standing is the cluster at the start: every object, the nodes, the pods that have a place; and apart, the pending ones.
func (r *recorded) standing(in *Input, d *demands) (initial []scalehist.Change, pending []*corev1.Pod) {
	o := r.initial.Objects
	put := func(obj scalehist.Object) {
		initial = append(initial, scalehist.Change{At: r.start, Op: scalehist.OpAdd, Object: obj})
	}
	for _, obj := range o.Workloads() {
		if !isAutoscalerSetting(obj) {
			put(obj)
		}
	}
	nodes := map[string]bool{}
	for _, n := range o.Nodes {
		if r.departed[n.Name] {
			in.Warnings = append(in.Warnings, fmt.Sprintf("node %s was being removed at the start and counted no more: left out", n.Name))
			continue
		}
		nodes[n.Name] = true
		put(withoutAutoscalerTaints(n))
	}
	for _, p := range o.Pods {
		if p.Spec.NodeName != "" {
			in.RecordedNodes[p.UID] = p.Spec.NodeName
		}
		switch {
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
		case p.Spec.NodeName != "" && nodes[p.Spec.NodeName]:
			put(withoutLives(p))
		case podlife.FollowsNode(p):
			// The virtual cluster gives each node its DaemonSet pods.
		case r.departed[p.Spec.NodeName] && !d.effect[p.UID] && (p.DeletionTimestamp != nil || disruption(p) != nil):
			// It was evicted, and its replacement exists already.
		case p.Spec.NodeName != "":
			in.Warnings = append(in.Warnings, fmt.Sprintf("pod %s stood on node %s at the start, which is not there: it starts pending", scalehist.NameOf(p), p.Spec.NodeName))
			pending = append(pending, podlife.AsPending(p.DeepCopy()))
		default:
			pending = append(pending, podlife.AsPending(p.DeepCopy()))
		}
	}
	return initial, pending
}

// cause turns one recorded change into what the workload did, if it did anything.
func (r *recorded) cause(ch scalehist.Change, state map[string]scalehist.Object, d *demands, in *Input) (scalehist.Change, bool) {
	if c := configures(ch.Object); c != nil {
		was := state[objectID(ch.Object)]
		if ch.Op != scalehist.OpUpdate || was == nil || !sameConfiguration(configures(was), c) {
			in.AutoscalerChanges = append(in.AutoscalerChanges, scalehist.Change{At: ch.At, Op: ch.Op, Object: c})
		}
		return ch, false // controllers of a replay read it; a virtual cluster does not store it
	}
	switch o := ch.Object.(type) {
	case *v1alpha1.NodeGroup, *v1alpha1.MetricQuery, *v1alpha1.ProviderCall:
		return ch, false
	case *corev1.ResourceQuota, *unstructured.Unstructured:
		return ch, false // what they decided is in the workloads, the pods and the node groups; a virtual cluster does not store them
	case *corev1.Node:
		return r.nodeCause(ch, o, state)
	case *corev1.Pod:
		if o.Spec.NodeName != "" && in.RecordedNodes[o.UID] == "" {
			in.RecordedNodes[o.UID] = o.Spec.NodeName
		}
		return podCause(ch, o, state, d, in)
	case *policyv1.PodDisruptionBudget:
		if was, ok := state[objectID(o)].(*policyv1.PodDisruptionBudget); ok && ch.Op == scalehist.OpUpdate &&
			equality.Semantic.DeepEqual(was.Spec, o.Spec) {
			return ch, false // its status is kept by the virtual cluster
		}
	case *corev1.PersistentVolumeClaim:
		if o := metav1.GetControllerOf(o); o != nil && o.Kind == "Pod" {
			return ch, false // that of a generic ephemeral volume comes and goes with its pod
		}
		// A claim that comes in the window is bound by the virtual cluster; its recorded binding is an effect.
		if ch.Op == scalehist.OpUpdate {
			return ch, false
		}
		if ch.Op == scalehist.OpAdd {
			ch.Object = asUnbound(o)
		}
	case *corev1.PersistentVolume:
		// A volume that was made for a claim follows it; one that an administrator made is a cause.
		if ch.Op != scalehist.OpAdd || o.Spec.ClaimRef != nil {
			return ch, false
		}
	}
	return ch, !isAutoscalerSetting(ch.Object)
}

// nodeCause: nodes of a group come and go by the autoscaler, so only changes of a node that stood at the start, and
// nodes outside every group, are causes.
func (r *recorded) nodeCause(ch scalehist.Change, n *corev1.Node, state map[string]scalehist.Object) (scalehist.Change, bool) {
	grouped := r.grouped(n, ch.At)
	next := withoutAutoscalerTaints(n)
	if ch.Op != scalehist.OpUpdate {
		ch.Object = next
		return ch, !grouped
	}
	if grouped && (r.departed[n.Name] || !r.stood(n)) {
		return ch, false
	}
	if was, ok := state[objectID(n)].(*corev1.Node); ok {
		was = withoutAutoscalerTaints(was)
		if equality.Semantic.DeepEqual(was.Spec, next.Spec) && maps.Equal(steersRemoval(was), steersRemoval(next)) && equality.Semantic.DeepEqual(was.Labels, next.Labels) &&
			equality.Semantic.DeepEqual(was.Status.Allocatable, next.Status.Allocatable) && ready(was) == ready(next) {
			return ch, false
		}
	}
	ch.Object = next
	return ch, true
}

func ready(n *corev1.Node) corev1.ConditionStatus {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

// podCause: creations, deletions and changes of what the pod asks for. Bindings, status, evictions and the pods that
// replace evicted ones are effects, and so are the pods of DaemonSets and kubelets, which follow their node.
func podCause(ch scalehist.Change, p *corev1.Pod, state map[string]scalehist.Object, d *demands, in *Input) (scalehist.Change, bool) {
	if podlife.FollowsNode(p) {
		return ch, false
	}
	switch ch.Op {
	case scalehist.OpAdd:
		if d.replacement[p.UID] {
			return ch, false
		}
		ch.Object = d.finite(podlife.AsPending(p.DeepCopy()))
		return ch, true
	case scalehist.OpDelete:
		if d.effect[p.UID] {
			return ch, false
		}
		first := d.first(p) // a demand keeps the name of its first pod
		in.Deletions[first.UID] = ch.At
		if _, asked := d.asked[p.UID]; asked {
			return ch, false // it was taken when it was asked for
		}
		if _, finished := d.ran[first.UID]; finished {
			// Tidying up follows the end of the run, which comes at another time here.
			ch.Object = annotated(first, podlife.WhenDoneAnnotation, "true")
		} else {
			ch.Object = annotated(first, podlife.TerminationAnnotation, "0s") // it is gone at this instant
		}
		return ch, true
	}
	if asked, ok := d.asked[p.UID]; ok && !ch.At.Before(asked) {
		return d.deletion(ch, p), ch.At.Equal(asked) && p.DeletionTimestamp != nil && !d.effect[p.UID]
	}
	was, ok := state[objectID(p)].(*corev1.Pod)
	if !ok || !asksDifferently(was, p) {
		return ch, false
	}
	first := d.first(p)
	next := d.finite(podlife.AsPending(p.DeepCopy()))
	next.Name, next.UID = first.Name, first.UID
	next.Spec.NodeName = was.Spec.NodeName
	ch.Object = next
	return ch, true
}

// deletion turns the request to delete a pod into the deletion, which takes as long as it took.
func (d *demands) deletion(ch scalehist.Change, p *corev1.Pod) scalehist.Change {
	ch.Op, ch.Object = scalehist.OpDelete, d.first(p)
	if stop := d.stops[p.UID]; stop >= 0 {
		ch.Object = annotated(d.first(p), podlife.TerminationAnnotation, stop.String())
	}
	return ch
}

// asksDifferently compares what a pod asks for, of the scheduler or of the autoscaler (safe-to-evict). The API server
// itself adds zone and region labels when a pod is bound.
func asksDifferently(a, b *corev1.Pod) bool {
	type asks struct {
		Labels, Annotations map[string]string
		Gates               []corev1.PodSchedulingGate
		Tolerations         []corev1.Toleration
		NodeSelector        map[string]string
		Affinity            *corev1.Affinity
		Resources           *corev1.ResourceRequirements
	}
	of := func(p *corev1.Pod) asks {
		return asks{ownLabels(p), p.Annotations, p.Spec.SchedulingGates, p.Spec.Tolerations, p.Spec.NodeSelector, p.Spec.Affinity, p.Spec.Resources}
	}
	if !equality.Semantic.DeepEqual(of(a), of(b)) {
		return true
	}
	return containersDiffer(a.Spec.Containers, b.Spec.Containers) || containersDiffer(a.Spec.InitContainers, b.Spec.InitContainers)
}

func containersDiffer(a, b []corev1.Container) bool {
	for i := range a {
		if i < len(b) && !equality.Semantic.DeepEqual(a[i].Resources, b[i].Resources) {
			return true
		}
	}
	return false
}

func ownLabels(p *corev1.Pod) map[string]string {
	out := map[string]string{}
	for k, v := range p.Labels {
		if k != corev1.LabelTopologyZone && k != corev1.LabelTopologyRegion {
			out[k] = v
		}
	}
	return out
}

// withoutLives is a pod without what its containers lived through, restarts above all, which only the recorded cluster
// knows: the virtual one goes by phase and conditions.
func withoutLives(p *corev1.Pod) *corev1.Pod {
	if len(p.Status.ContainerStatuses)+len(p.Status.InitContainerStatuses) == 0 && p.Status.Resize == "" { // of clusters before 1.33
		return p
	}
	out := p.DeepCopy()
	out.Status.ContainerStatuses, out.Status.InitContainerStatuses = nil, nil
	out.Status.Resize = "" // of clusters before 1.33
	return out
}

// asUnbound is a claim as it was created. An imported log may show it first when it was bound already.
func asUnbound(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	out := c.DeepCopy()
	out.Spec.VolumeName = ""
	out.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
	for _, a := range []string{"pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller", "volume.kubernetes.io/selected-node"} {
		delete(out.Annotations, a)
	}
	return out
}

// withoutAutoscalerTaints drops what the recorded autoscaler and node lifecycle wrote on a node. A node that says of
// itself that it is not Ready keeps the taints that say so: no node lifecycle is at work here to put them there.
func withoutAutoscalerTaints(n *corev1.Node) *corev1.Node {
	down := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
	effect := func(t corev1.Taint) bool {
		switch t.Key {
		case scalehist.ToBeDeletedTaint, scalehist.DeletionCandidateTaint, scalehist.KarpenterDisruptedTaint, scalehist.KarpenterDisruptionTaint:
			return true
		case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable:
			return !down
		}
		return strings.HasPrefix(t.Key, "node.kubernetes.io/")
	}
	if !slices.ContainsFunc(n.Spec.Taints, effect) && !n.Spec.Unschedulable {
		return n
	}
	out := n.DeepCopy()
	if scalehist.HasTaint(n, scalehist.ToBeDeletedTaint) {
		out.Spec.Unschedulable = false // --cordon-node-before-terminating cordons with the taint; Karpenter does not
	}
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, effect)
	return out
}

// lastKnown maps every object at the start by identity.
func (r *recorded) lastKnown() map[string]scalehist.Object {
	state := map[string]scalehist.Object{}
	for _, o := range r.initial.Objects.All() {
		state[objectID(o)] = o
	}
	return state
}

func objectID(o scalehist.Object) string {
	return fmt.Sprintf("%T/%s/%s/%s", o, o.GetNamespace(), o.GetName(), o.GetUID())
}

func ownerKind(p *corev1.Pod) string {
	if o := metav1.GetControllerOf(p); o != nil {
		return o.Kind
	}
	return ""
}

// withRunFor marks a pod that finished by itself with how long it ran.
func withRunFor(p *corev1.Pod, d time.Duration) *corev1.Pod {
	return annotated(p, podlife.RunForAnnotation, d.String())
}

func annotated(p *corev1.Pod, key, value string) *corev1.Pod {
	out := p.DeepCopy()
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[key] = value
	return out
}
