package workload

import (
	"fmt"
	"slices"
	"sort"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/utils/ptr"
)

// burst is how many pods a ReplicaSet creates or deletes before it looks again (replicaset.BurstReplicas).
const burst = 500

// replicaSet is a ReplicaSet, or a custom resource that acts as one.
type replicaSet struct {
	obj  *appsv1.ReplicaSet
	kind schema.GroupVersionKind
}

func (rs *replicaSet) object() metav1.Object { return rs.obj }

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

func (s *State) applyReplicaSet(o *appsv1.ReplicaSet) error {
	kind := o.GroupVersionKind()
	if kind.Kind == "" {
		kind = replicaSetKind
	}
	o.TypeMeta = metav1.TypeMeta{}
	appsdefaults.SetObjectDefaults_ReplicaSet(o)
	rs := s.replicaSets[o.UID]
	if rs == nil {
		if other := s.setNames[nameOf(o)]; other != nil && other.kind == kind {
			return fmt.Errorf("%s %s/%s: UID %s, but %s of this name has UID %s", kind.Kind, o.Namespace, o.Name, o.UID, kind.Kind, other.obj.UID)
		}
		s.addReplicaSet(&replicaSet{obj: o, kind: kind})
	} else {
		o.Status, o.Generation = rs.obj.Status, rs.obj.Generation
		if !apiequality.Semantic.DeepEqual(o.Spec, rs.obj.Spec) {
			o.Generation++
		}
		rs.obj = o
	}
	s.dirty[o.UID] = true
	return nil
}

func (s *State) addReplicaSet(rs *replicaSet) {
	rs.obj.Generation = max(1, rs.obj.Generation)
	s.replicaSets[rs.obj.UID] = rs
	if rs.kind == replicaSetKind {
		s.setNames[nameOf(rs.obj)] = rs
	}
	if ref := metav1.GetControllerOfNoCopy(rs.obj); ref != nil {
		s.owned[ref.UID] = append(s.owned[ref.UID], rs)
	}
}

func (s *State) forgetReplicaSet(rs *replicaSet) {
	delete(s.replicaSets, rs.obj.UID)
	delete(s.dirty, rs.obj.UID)
	delete(s.due, rs.obj.UID)
	if s.setNames[nameOf(rs.obj)] == rs {
		delete(s.setNames, nameOf(rs.obj))
	}
	if ref := metav1.GetControllerOfNoCopy(rs.obj); ref != nil {
		s.owned[ref.UID] = slices.DeleteFunc(s.owned[ref.UID], func(other *replicaSet) bool { return other == rs })
		s.dirty[ref.UID] = true
	}
}

// sync makes or ends the pods that are missing or too many, and writes the status of what it found (replica_set.go, syncReplicaSet).
func (rs *replicaSet) sync(t *turn) (bool, time.Time, error) {
	f := t.family(rs.obj.UID)
	pods := f.active()
	diff := len(pods) - int(*rs.obj.Spec.Replicas)
	switch {
	case diff < 0:
		for range min(-diff, burst) {
			if err := t.createPod(&rs.obj.Spec.Template, rs.obj, rs.kind, "", nil); err != nil {
				return true, time.Time{}, err
			}
		}
	case diff > 0:
		for _, p := range t.victims(rs, slices.Clone(pods), min(diff, burst)) {
			t.deletePod(p)
		}
	}
	acted := diff != 0
	status, next := rs.status(f, pods, t.now)
	if !apiequality.Semantic.DeepEqual(status, rs.obj.Status) {
		acted = true
		rs.obj = rs.obj.DeepCopy()
		rs.obj.Status = status
		t.did(Action{Verb: UpdateStatus, Object: rs.obj})
	}
	return acted, next, nil
}

// status counts pods (replica_set_utils.go, calculateStatus), and says when one of them becomes available by time alone.
func (rs *replicaSet) status(f *family, active []*corev1.Pod, now time.Time) (appsv1.ReplicaSetStatus, time.Time) {
	status := rs.obj.Status
	status.ObservedGeneration = rs.obj.Generation
	status.Replicas, status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = int32(len(active)), 0, 0, 0
	template := labels.Set(rs.obj.Spec.Template.Labels).AsSelectorPreValidated()
	for _, p := range active {
		if template.Matches(labels.Set(p.Labels)) {
			status.FullyLabeledReplicas++
		}
		if podutil.IsPodReady(p) {
			status.ReadyReplicas++
		}
		if podutil.IsPodAvailable(p, rs.obj.Spec.MinReadySeconds, metav1.NewTime(now)) {
			status.AvailableReplicas++
		}
	}
	status.TerminatingReplicas = ptr.To(controller.CountTerminatingPods(f.pods))
	return status, nextAvailable(active, rs.obj.Spec.MinReadySeconds, now)
}

// nextAvailable is when the first of the ready pods that are not available becomes so; zero if there is none.
func nextAvailable(pods []*corev1.Pod, minReadySeconds int32, now time.Time) (next time.Time) {
	if minReadySeconds <= 0 {
		return next
	}
	for _, p := range pods {
		if !podutil.IsPodReady(p) {
			continue
		}
		at := podutil.GetPodReadyCondition(p.Status).LastTransitionTime
		if at.IsZero() {
			continue // never available (podutil.IsPodAvailable)
		}
		next = earlier(next, at.Add(time.Duration(minReadySeconds)*time.Second), now)
	}
	return next
}

// earlier is the earlier of next (zero: none) and at, if at is after now.
func earlier(next, at, now time.Time) time.Time {
	if at.After(now) && (next.IsZero() || at.Before(next)) {
		return at
	}
	return next
}

// victims are the n pods that a ReplicaSet deletes first, in upstream's order (controller.ActivePodsWithRanks): not assigned to a node,
// earlier phase, not ready, lower deletion cost, more pods of the same Deployment on its node, ready for less time and younger in steps
// of powers of two, more restarts, UID. Where upstream has no order it depends on that of a map; here it sorts pods in order of creation.
// Pods on the same node are those of all ReplicaSets of the controller; a ReplicaSet without one knows none (getIndirectlyRelatedPods).
func (t *turn) victims(rs *replicaSet, pods []*corev1.Pod, n int) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	onNode := map[string]int{}
	if ref := metav1.GetControllerOfNoCopy(rs.obj); ref != nil {
		for _, related := range t.owned[ref.UID] {
			for _, p := range t.family(related.obj.UID).pods {
				if controller.IsPodActive(p) {
					onNode[p.Spec.NodeName]++
				}
			}
		}
	}
	ranks := make([]int, len(pods))
	for i, p := range pods {
		ranks[i] = onNode[p.Spec.NodeName]
	}
	sort.Sort(controller.ActivePodsWithRanks{Pods: pods, Rank: ranks, Now: metav1.NewTime(t.now)})
	return pods[:n]
}
