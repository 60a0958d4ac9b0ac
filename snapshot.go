package scalehist

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// NewSnapshot builds the lists of a ClusterSnapshot from the objects of one instant. Pods that have ended (Succeeded,
// Failed) are in none of the lists: they need no room. Nominated pods are listed among the unscheduled ones too.
// The objects are referred to, not copied; nil stands for no objects.
func NewSnapshot(at time.Time, o *Objects, groups []NodeGroup, settings CASettings) ClusterSnapshot {
	if o == nil {
		o = &Objects{}
	}
	s := ClusterSnapshot{At: at, UnscheduledPods: []PodInfo{}, ScheduledPods: []PodInfo{}, Nodes: []NodeInfo{},
		NodeGroups: slices.Clone(groups), CASettings: settings, Objects: o}
	if s.NodeGroups == nil {
		s.NodeGroups = []NodeGroup{}
	}
	onNode := map[string]int{}
	for _, p := range o.Pods {
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		info := newPodInfo(p)
		if p.Spec.NodeName != "" {
			onNode[p.Spec.NodeName]++
			s.ScheduledPods = append(s.ScheduledPods, info)
			continue
		}
		s.UnscheduledPods = append(s.UnscheduledPods, info)
		if info.NominatedNodeName != "" {
			s.NominatedPods = append(s.NominatedPods, info)
		}
	}
	for _, n := range o.Nodes {
		info := newNodeInfo(n)
		info.Pods = onNode[n.Name]
		s.Nodes = append(s.Nodes, info)
	}
	for _, pods := range [][]PodInfo{s.UnscheduledPods, s.ScheduledPods, s.NominatedPods} {
		slices.SortStableFunc(pods, func(a, b PodInfo) int {
			return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
		})
	}
	slices.SortStableFunc(s.Nodes, func(a, b NodeInfo) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(s.NodeGroups, func(a, b NodeGroup) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// Summary is the snapshot without the full objects, for reports. It shares nothing that Summary changed.
func (s ClusterSnapshot) Summary() ClusterSnapshot {
	s.Objects = nil
	for _, pods := range []*[]PodInfo{&s.UnscheduledPods, &s.ScheduledPods, &s.NominatedPods} {
		*pods = slices.Clone(*pods)
		for i := range *pods {
			(*pods)[i].Pod = nil
		}
	}
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		s.Nodes[i].Node = nil
	}
	s.NodeGroups = slices.Clone(s.NodeGroups)
	for i := range s.NodeGroups {
		s.NodeGroups[i].Template = nil
	}
	return s
}

// Whole is the snapshot with the full objects as a report keeps them: without resource versions, which differ from one virtual
// cluster to the next. It shares nothing that Whole changed.
func (s ClusterSnapshot) Whole() ClusterSnapshot {
	for _, pods := range []*[]PodInfo{&s.UnscheduledPods, &s.ScheduledPods, &s.NominatedPods} {
		*pods = slices.Clone(*pods)
		for i := range *pods {
			(*pods)[i].Pod = unversioned((*pods)[i].Pod)
		}
	}
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		s.Nodes[i].Node = unversioned(s.Nodes[i].Node)
	}
	return s
}

// unversioned is an object without its resource version: the same one where it has none.
func unversioned[T any, P interface {
	*T
	Object
}](o P) P {
	if o == nil || o.GetResourceVersion() == "" {
		return o
	}
	same := P(new(T))
	*same = *o
	same.SetResourceVersion("")
	return same
}

func newPodInfo(p *corev1.Pod) PodInfo {
	info := PodInfo{Namespace: p.Namespace, Name: p.Name, CreatedAt: p.CreationTimestamp.UTC(), NodeName: p.Spec.NodeName,
		NominatedNodeName: p.Status.NominatedNodeName, Pod: p,
		Requests: quantities(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}))}
	if p.CreationTimestamp.IsZero() {
		info.CreatedAt = time.Time{}
	}
	if p.DeletionTimestamp != nil {
		at := p.DeletionTimestamp.UTC()
		info.DeletionTimestamp = &at
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		info.Owner = owner.Kind + "/" + owner.Name
	}
	if p.Spec.Priority != nil {
		info.Priority = *p.Spec.Priority
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			info.Message = c.Message
		}
	}
	return info
}

func newNodeInfo(n *corev1.Node) NodeInfo {
	info := NodeInfo{Name: n.Name, NodeGroup: n.Annotations[v1alpha1.NodeGroupAnnotation], CreatedAt: n.CreationTimestamp.UTC(),
		Unschedulable: n.Spec.Unschedulable, Node: n, Capacity: quantities(n.Status.Capacity), Allocatable: quantities(n.Status.Allocatable),
		MachineType: cmp.Or(n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelInstanceType]),
		Zone:        cmp.Or(n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelFailureDomainBetaZone])}
	if n.CreationTimestamp.IsZero() {
		info.CreatedAt = time.Time{}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			info.Ready = c.Status == corev1.ConditionTrue
		}
	}
	for i := range n.Spec.Taints {
		info.Taints = append(info.Taints, n.Spec.Taints[i].ToString())
	}
	return info
}

// quantities writes amounts in their canonical form: equal amounts are equal text.
func quantities(l corev1.ResourceList) map[string]string {
	if len(l) == 0 {
		return nil
	}
	out := make(map[string]string, len(l))
	for name, q := range l {
		out[string(name)] = q.String()
	}
	return out
}
