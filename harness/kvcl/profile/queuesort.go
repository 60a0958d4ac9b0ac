package profile

import (
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
)

// queueSort orders the active queue: priority, time in the queue, creation ordinal, namespace and name. Upstream's
// PrioritySort stops after the time, and under a virtual clock many pods share an instant.
type queueSort struct {
	ordinal func(types.UID) int64
}

var _ fwk.QueueSortPlugin = (*queueSort)(nil)

func (*queueSort) Name() string { return QueueSort }

func (q *queueSort) Less(a, b fwk.QueuedPodInfo) bool {
	pa, pb := a.GetPodInfo().GetPod(), b.GetPodInfo().GetPod()
	if x, y := corev1helpers.PodPriority(pa), corev1helpers.PodPriority(pb); x != y {
		return x > y
	}
	if x, y := a.GetTimestamp(), b.GetTimestamp(); !x.Equal(y) {
		return x.Before(y)
	}
	if x, y := q.ordinal(pa.UID), q.ordinal(pb.UID); x != y {
		return x < y
	}
	if pa.Namespace != pb.Namespace {
		return pa.Namespace < pb.Namespace
	}
	return pa.Name < pb.Name
}
