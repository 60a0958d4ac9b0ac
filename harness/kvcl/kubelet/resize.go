package kubelet

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Resize is a pod with the resources that it has, and the same with those that it asks for.
type Resize struct{ Has, Asks *corev1.Pod }

// Answer is the pod with what the kubelet says to its new resources, by the rules of Kubernetes 1.36 (pkg/kubelet/allocation): what does
// not fit now is Deferred, even where the node is too small for it; pods of files are Infeasible. before is the pod as it was shown last, others are
// the pods on its node.
func (r Resize) Answer(before *corev1.Pod, node *corev1.Node, others iter.Seq[*corev1.Pod], now time.Time) *corev1.Pod {
	next := *r.Asks
	next.Status.Conditions = slices.DeleteFunc(slices.Clone(next.Status.Conditions), func(o corev1.PodCondition) bool { return o.Type == corev1.PodResizePending })
	reason, message := corev1.PodReasonDeferred, ""
	if kubetypes.IsStaticPod(&next) {
		reason, message = corev1.PodReasonInfeasible, "In-place resize of static-pods is not supported"
	} else if message = noRoom(&next, node, others); message == "" {
		next.Status.ContainerStatuses = withResources(&next, &next)
		return &next
	}
	pending := Condition(corev1.PodResizePending, corev1.ConditionTrue, now)
	if _, was := podutil.GetPodCondition(&before.Status, corev1.PodResizePending); was != nil {
		pending.LastTransitionTime = was.LastTransitionTime
	}
	pending.Reason, pending.Message = reason, message
	next.Status.Conditions = append(next.Status.Conditions, pending)
	next.Status.ContainerStatuses = withResources(&next, r.Has)
	return &next
}

// Waits says whether a pod waits for other resources than it has.
func Waits(p *corev1.Pod) bool {
	_, pending := podutil.GetPodCondition(&p.Status, corev1.PodResizePending)
	return pending != nil
}

// withResources are the statuses of a pod's containers with the resources that they have.
func withResources(p, has *corev1.Pod) []corev1.ContainerStatus {
	out := Statuses(p)
	for i := range out {
		r := has.Spec.Containers[i].Resources
		out[i].AllocatedResources, out[i].Resources = r.Requests, r.DeepCopy()
	}
	return out
}

// noRoom is why a pod with other resources does not fit on its node beside the pods that are there, by the check that kubelets admit pods with;
// empty where it fits.
func noRoom(next *corev1.Pod, on *corev1.Node, others iter.Seq[*corev1.Pod]) string {
	node := framework.NewNodeInfo()
	node.SetNode(on)
	for p := range others {
		if info, err := framework.NewPodInfo(p); err == nil { // the scheduler took it
			node.AddPodInfo(info)
		}
	}
	bare := *next
	bare.Status = corev1.PodStatus{} // what it asks for counts, not what it has
	var why []string
	for _, r := range scheduler.AdmissionCheck(&bare, node, true) {
		if r.InsufficientResource != nil {
			// The words of the kubelet (pkg/kubelet/lifecycle/predicate.go, InsufficientResourceError).
			i := r.InsufficientResource
			why = append(why, fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", i.ResourceName, i.Requested, i.Used, i.Capacity))
			continue
		}
		why = append(why, r.Reason)
	}
	return strings.Join(why, "; ")
}

// Compare is the kubelet's order of resizes that wait: those that grow nothing, then by priority, by class, and by how long they wait
// (pkg/kubelet/allocation, sortPendingResizes).
func (r Resize) Compare(o Resize) int {
	x, y := r.rank(), o.rank()
	return slices.Compare(x[:], y[:])
}

func (r Resize) rank() [4]int64 {
	var out [4]int64
	if r.grows() {
		out[0] = 1
	}
	if prio := r.Asks.Spec.Priority; prio != nil {
		out[1] = -int64(*prio)
	}
	if qos.GetPodQOS(r.Asks) != corev1.PodQOSGuaranteed {
		out[2] = 1
	}
	if _, c := podutil.GetPodCondition(&r.Asks.Status, corev1.PodResizePending); c != nil {
		out[3] = c.LastTransitionTime.UnixNano()
	}
	return out
}

// grows says whether a pod is to have more of something than it has.
func (r Resize) grows() bool {
	has := resourcehelper.PodRequests(r.Has, resourcehelper.PodResourcesOptions{})
	for name, q := range resourcehelper.PodRequests(r.Asks, resourcehelper.PodResourcesOptions{}) {
		if was := has[name]; q.Cmp(was) > 0 {
			return true
		}
	}
	return false
}
