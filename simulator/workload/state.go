package workload

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

var (
	deploymentKind  = appsv1.SchemeGroupVersion.WithKind("Deployment")
	replicaSetKind  = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")
	jobKind         = batchv1.SchemeGroupVersion.WithKind("Job")
)

// Options are what a cluster's operator chooses.
type Options struct {
	// Names are the recorded names and UIDs; nil: all are made up.
	Names Names
	// Used says of names that no living pod has that none may be made up like them; nil: of none.
	Used func(types.NamespacedName) bool
	// StatefulSetMaxUnavailable is the feature gate MaxUnavailableStatefulSet, which is off by default in 1.36. Without it
	// maxUnavailable of a StatefulSet is 1.
	StatefulSetMaxUnavailable bool
}

// State holds workloads and their pods. It has one owner: it is not safe for concurrent use. Objects that it returns must not be
// changed; it never changes them either, but replaces them.
type State struct {
	opts  Options
	names Names

	deployments  map[types.UID]*deployment
	replicaSets  map[types.UID]*replicaSet
	statefulSets map[types.UID]*statefulSet
	jobs         map[types.UID]*job
	// owned are the ReplicaSets by the UID of their controller, in order of creation here.
	owned map[types.UID][]*replicaSet
	// setNames are the ReplicaSets by name.
	setNames map[types.NamespacedName]*replicaSet

	// families are the pods by the UID of their controller, known or not; familyOf is the family of each pod.
	families map[types.UID]*family
	familyOf map[types.UID]*family
	podNames map[types.NamespacedName]bool

	// dirty are the roots whose workloads or pods changed; due is when time alone makes a root's turn.
	dirty map[types.UID]bool
	due   map[types.UID]time.Time
	// doomed are what the garbage collector will delete: the dependents of workloads that were deleted.
	doomed []types.UID
}

// New makes an empty State.
func New(o Options) *State {
	return &State{
		opts: o, names: o.Names,
		deployments: map[types.UID]*deployment{}, replicaSets: map[types.UID]*replicaSet{},
		statefulSets: map[types.UID]*statefulSet{}, jobs: map[types.UID]*job{},
		owned: map[types.UID][]*replicaSet{}, setNames: map[types.NamespacedName]*replicaSet{},
		families: map[types.UID]*family{}, familyOf: map[types.UID]*family{}, podNames: map[types.NamespacedName]bool{},
		dirty: map[types.UID]bool{}, due: map[types.UID]time.Time{},
	}
}

// Apply adds a workload, or changes one as a user would: *appsv1.Deployment, *appsv1.ReplicaSet, *appsv1.StatefulSet or *batchv1.Job.
// Of a workload that is known the status is not touched, and its generation grows if its spec changed; a new one keeps its status.
// Defaults of the API are filled in. A custom resource is given as the ReplicaSet that it amounts to, with its own apiVersion and kind.
// It is an error where an object has no UID, namespace or name, or another object of this name lives.
func (s *State) Apply(o runtime.Object) error {
	m, ok := o.(metav1.Object)
	if !ok {
		return fmt.Errorf("workload %T: not an object of an API", o)
	}
	if m.GetUID() == "" || m.GetName() == "" || m.GetNamespace() == "" {
		return fmt.Errorf("workload %T %s/%s: want namespace, name and UID", o, m.GetNamespace(), m.GetName())
	}
	if s.unchanged(o, m.GetUID()) {
		return nil // the API server would not write it
	}
	var err error
	switch o := o.(type) {
	case *appsv1.Deployment:
		s.applyDeployment(o.DeepCopy())
	case *appsv1.ReplicaSet:
		err = s.applyReplicaSet(o.DeepCopy())
	case *appsv1.StatefulSet:
		err = s.applyStatefulSet(o.DeepCopy())
	case *batchv1.Job:
		err = s.applyJob(o.DeepCopy())
	default:
		return fmt.Errorf("workload %T: want a Deployment, ReplicaSet, StatefulSet or Job", o)
	}
	return err
}

// unchanged says whether a workload is what it was but for its status. One that leaves defaults out is not: they are filled in first.
func (s *State) unchanged(o runtime.Object, uid types.UID) bool {
	switch o := o.(type) {
	case *appsv1.Deployment:
		had := s.Deployment(uid)
		return had != nil && apiequality.Semantic.DeepEqual(had.Spec, o.Spec) && sameMeta(had, o)
	case *appsv1.ReplicaSet:
		had := s.replicaSets[uid]
		return had != nil && apiequality.Semantic.DeepEqual(had.obj.Spec, o.Spec) && sameMeta(had.obj, o)
	case *appsv1.StatefulSet:
		had := s.StatefulSet(uid)
		return had != nil && apiequality.Semantic.DeepEqual(had.Spec, o.Spec) && sameMeta(had, o)
	case *batchv1.Job:
		had := s.Job(uid)
		return had != nil && apiequality.Semantic.DeepEqual(had.Spec, o.Spec) && sameMeta(had, o)
	}
	return false
}

func sameMeta(a, b metav1.Object) bool {
	return maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

// Scale sets the replicas of a Deployment, ReplicaSet, custom resource or StatefulSet, as its scale subresource would.
func (s *State) Scale(uid types.UID, replicas int32) error {
	switch {
	case replicas < 0:
		return fmt.Errorf("scale %s to %d: want 0 or more replicas", uid, replicas)
	case s.deployments[uid] != nil:
		d := s.deployments[uid].obj.DeepCopy()
		d.Spec.Replicas = &replicas
		return s.Apply(d)
	case s.replicaSets[uid] != nil:
		rs := s.replicaSets[uid].obj.DeepCopy()
		rs.Spec.Replicas = &replicas
		return s.Apply(rs)
	case s.statefulSets[uid] != nil:
		set := s.statefulSets[uid].obj.DeepCopy()
		set.Spec.Replicas = &replicas
		return s.Apply(set)
	}
	return fmt.Errorf("scale %s: no workload with this UID has a scale", uid)
}

// Delete removes a workload. The next Reconcile deletes its dependents, as the garbage collector does in the background.
func (s *State) Delete(uid types.UID) {
	if rs := s.replicaSets[uid]; rs != nil {
		s.forgetReplicaSet(rs)
	}
	delete(s.deployments, uid)
	delete(s.statefulSets, uid)
	delete(s.jobs, uid)
	delete(s.dirty, uid)
	delete(s.due, uid)
	s.doomed = append(s.doomed, uid)
}

// Deployment is the Deployment with this UID, nil if there is none.
func (s *State) Deployment(uid types.UID) *appsv1.Deployment {
	if d := s.deployments[uid]; d != nil {
		return d.obj
	}
	return nil
}

// ReplicaSets are those of a Deployment in order of creation, or the one with this UID.
func (s *State) ReplicaSets(uid types.UID) []*appsv1.ReplicaSet {
	if rs := s.replicaSets[uid]; rs != nil {
		return []*appsv1.ReplicaSet{rs.obj}
	}
	var out []*appsv1.ReplicaSet
	for _, rs := range s.owned[uid] {
		out = append(out, rs.obj)
	}
	return out
}

// StatefulSet is the StatefulSet with this UID, nil if there is none.
func (s *State) StatefulSet(uid types.UID) *appsv1.StatefulSet {
	if set := s.statefulSets[uid]; set != nil {
		return set.obj
	}
	return nil
}

// Job is the Job with this UID, nil if there is none.
func (s *State) Job(uid types.UID) *batchv1.Job {
	if j := s.jobs[uid]; j != nil {
		return j.obj
	}
	return nil
}

// root is the workload whose turn it is when an object with this controller changes.
func (s *State) root(owner types.UID) types.UID {
	if rs := s.replicaSets[owner]; rs != nil {
		if ref := metav1.GetControllerOfNoCopy(rs.obj); ref != nil && s.deployments[ref.UID] != nil {
			return ref.UID
		}
	}
	return owner
}

// byName orders workloads by namespace, name and, where a name was used twice, UID.
func byName(a, b metav1.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetUID(), b.GetUID()))
}

// Pods are the pods of a controller that are not gone, in order of creation.
func (s *State) Pods(owner types.UID) []*corev1.Pod {
	if f := s.families[owner]; f != nil {
		return slices.Clone(f.pods)
	}
	return nil
}
