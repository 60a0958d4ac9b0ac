package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/utils/ptr"
)

type statefulSet struct {
	obj *appsv1.StatefulSet
	// revisions are the templates that the set had, oldest first; one of them is the present one once the set acted.
	revisions []revision
}

func (set *statefulSet) object() metav1.Object { return set.obj }

func (s *State) applyStatefulSet(o *appsv1.StatefulSet) error {
	appsdefaults.SetObjectDefaults_StatefulSet(o)
	o.Generation = max(1, o.Generation)
	old := s.statefulSets[o.UID]
	if old == nil {
		set := &statefulSet{obj: o}
		s.statefulSets[o.UID] = set
		s.dirty[o.UID] = true
		return set.recall()
	}
	o.Status, o.Generation = old.obj.Status, old.obj.Generation
	if !apiequality.Semantic.DeepEqual(o.Spec, old.obj.Spec) {
		o.Generation++
	}
	old.obj = o
	s.dirty[o.UID] = true
	return nil
}

// update is one act of a StatefulSet's controller: the pods it found, by their place (stateful_set_control.go, updateStatefulSet).
type update struct {
	*turn
	set              *statefulSet
	current, updated revision
	start            int
	// members are the pods of the wanted ordinals, nil where there is none; condemned are those beyond them, highest ordinal first.
	members, condemned []*corev1.Pod
	// sick is the first pod that is not available, of the members and then of the condemned from below.
	sick *corev1.Pod
}

func (set *statefulSet) sync(t *turn) (bool, time.Time, error) {
	before := len(t.actions)
	u := &update{turn: t, set: set, start: startOf(set.obj)}
	pods := slices.Clone(t.family(set.obj.UID).pods)
	var err error
	var collisions int32
	if u.current, u.updated, collisions, err = set.revise(); err != nil {
		return false, time.Time{}, err
	}
	u.place(pods)
	status := u.status(pods)
	status.CollisionCount = &collisions
	if err := u.act(&status); err != nil {
		return false, time.Time{}, err
	}
	u.complete(&status)
	if inconsistent(set.obj, status) {
		set.obj = set.obj.DeepCopy()
		set.obj.Status = status
		t.did(Action{Verb: UpdateStatus, Object: set.obj})
	}
	set.truncate(u.current.name, u.updated.name, pods)
	return len(t.actions) > before, nextAvailable(pods, set.obj.Spec.MinReadySeconds, t.now), nil
}

func startOf(set *appsv1.StatefulSet) int {
	if set.Spec.Ordinals != nil {
		return int(set.Spec.Ordinals.Start)
	}
	return 0
}

// ordinal is the number that ends a pod's name, -1 if none does.
func ordinal(p *corev1.Pod) int {
	i := strings.LastIndexByte(p.Name, '-')
	if i < 0 {
		return -1
	}
	n, err := strconv.ParseUint(p.Name[i+1:], 10, 31)
	if err != nil {
		return -1
	}
	return int(n)
}

// place sorts the pods by what becomes of them.
func (u *update) place(pods []*corev1.Pod) {
	u.members = make([]*corev1.Pod, *u.set.obj.Spec.Replicas)
	for _, p := range pods {
		if n := ordinal(p) - u.start; n >= 0 && n < len(u.members) {
			u.members[n] = p
		} else if ordinal(p) >= 0 {
			u.condemned = append(u.condemned, p)
		}
	}
	slices.SortFunc(u.condemned, func(a, b *corev1.Pod) int { return ordinal(b) - ordinal(a) })
	for i := range u.members {
		if u.unavailable(u.members[i]) {
			u.sick = u.members[i] // nil where the pod is missing: then no condemned pod is the first
			return
		}
	}
	for _, p := range slices.Backward(u.condemned) {
		if u.unavailable(p) {
			u.sick = p
			return
		}
	}
}

func (u *update) available(p *corev1.Pod) bool {
	return podutil.IsPodAvailable(p, u.set.obj.Spec.MinReadySeconds, metav1.NewTime(u.now))
}

func (u *update) unavailable(p *corev1.Pod) bool {
	return p == nil || p.DeletionTimestamp != nil || !u.available(p)
}

func revisionOf(p *corev1.Pod) string { return p.Labels[appsv1.StatefulSetRevisionLabel] }

// status counts pods (computeReplicaStatus).
func (u *update) status(pods []*corev1.Pod) appsv1.StatefulSetStatus {
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: u.set.obj.Generation, CurrentRevision: u.current.name, UpdateRevision: u.updated.name,
		Conditions: u.set.obj.Status.Conditions,
	}
	for _, p := range pods {
		if p.Status.Phase == "" {
			continue
		}
		status.Replicas++
		if p.Status.Phase == corev1.PodRunning && podutil.IsPodReady(p) {
			status.ReadyReplicas++
			if u.available(p) {
				status.AvailableReplicas++
			}
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		if revisionOf(p) == u.current.name {
			status.CurrentReplicas++
		}
		if revisionOf(p) == u.updated.name {
			status.UpdatedReplicas++
		}
	}
	return status
}

// complete makes the new revision the current one when all pods have it and are ready (completeRollingUpdate).
func (u *update) complete(status *appsv1.StatefulSetStatus) {
	size := *u.set.obj.Spec.Replicas
	if u.set.obj.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		status.UpdatedReplicas == size && status.ReadyReplicas == size && status.Replicas == size {
		status.CurrentReplicas, status.CurrentRevision = status.UpdatedReplicas, status.UpdateRevision
	}
}

// inconsistent says whether a status is worth a write: upstream does not write one that differs in the collision count alone.
func inconsistent(set *appsv1.StatefulSet, status appsv1.StatefulSetStatus) bool {
	had := set.Status
	return status.ObservedGeneration > had.ObservedGeneration || status.CurrentRevision != had.CurrentRevision || status.UpdateRevision != had.UpdateRevision ||
		[5]int32{status.Replicas, status.ReadyReplicas, status.AvailableReplicas, status.CurrentReplicas, status.UpdatedReplicas} !=
			[5]int32{had.Replicas, had.ReadyReplicas, had.AvailableReplicas, had.CurrentReplicas, had.UpdatedReplicas}
}

// act makes members that are missing, then ends pods beyond the wanted ones, then replaces members of an older revision. With
// OrderedReady it does one thing at a time, and waits for each pod to be available or gone; with Parallel it does not wait.
func (u *update) act(status *appsv1.StatefulSetStatus) error {
	ordered := u.set.obj.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
	for i := range u.members {
		if waits, err := u.tend(i); err != nil || waits && ordered {
			return err
		}
	}
	for _, p := range u.condemned {
		if p.DeletionTimestamp != nil {
			if ordered {
				return nil
			}
			continue
		}
		if ordered && p != u.sick && (p.Status.Phase != corev1.PodRunning || !u.available(p)) {
			return nil
		}
		u.deletePod(p)
		if ordered {
			return nil
		}
	}
	if u.set.obj.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	if u.opts.StatefulSetMaxUnavailable {
		return u.replaceMany(status)
	}
	u.replaceOne(status)
	return nil
}

// tend makes a member that is missing, and deletes one that failed or ended; it says whether the ones above it have to wait.
func (u *update) tend(i int) (bool, error) {
	p := u.members[i]
	if p == nil {
		return true, u.create(u.start + i)
	}
	if p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
		if p.DeletionTimestamp == nil {
			u.deletePod(p)
		}
		return true, nil
	}
	return p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning || !u.available(p), nil
}

// create makes the pod of an ordinal: below the partition of the current revision, else of the new one (newVersionedStatefulSetPod).
func (u *update) create(n int) error {
	set, rev := u.set.obj, u.updated
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType && n < u.start+int(ptr.Deref(r.Partition, 0)) {
		rev = u.current
	}
	name := fmt.Sprintf("%s-%d", set.Name, n)
	return u.createPod(rev.template, set, statefulSetKind, name, func(p *corev1.Pod) {
		if p.Labels == nil {
			p.Labels = map[string]string{}
		}
		p.Labels[appsv1.StatefulSetPodNameLabel], p.Labels[appsv1.PodIndexLabel], p.Labels[appsv1.StatefulSetRevisionLabel] = name, strconv.Itoa(n), rev.name
		p.Spec.Hostname, p.Spec.Subdomain = name, set.Spec.ServiceName
		p.Spec.Volumes = volumes(set, n, p.Spec.Volumes)
	})
}

// volumes are those of the claims of an ordinal, in the order of their templates, and then the template's others (updateStorage).
func volumes(set *appsv1.StatefulSet, n int, others []corev1.Volume) []corev1.Volume {
	var out []corev1.Volume
	claimed := map[string]bool{}
	for _, c := range set.Spec.VolumeClaimTemplates {
		claimed[c.Name] = true
		out = append(out, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("%s-%s-%d", c.Name, set.Name, n)},
		}})
	}
	for _, v := range others {
		if !claimed[v.Name] {
			out = append(out, v)
		}
	}
	return out
}

// partition is how many members from below keep their revision. It counts members, not ordinals, whatever the first ordinal is, as
// upstream does.
func (u *update) partition() int {
	if r := u.set.obj.Spec.UpdateStrategy.RollingUpdate; r != nil {
		return int(ptr.Deref(r.Partition, 0))
	}
	return 0
}

// replaceOne ends the highest member of an older revision, unless one above it is not available.
func (u *update) replaceOne(status *appsv1.StatefulSetStatus) {
	for i := len(u.members) - 1; i >= u.partition(); i-- {
		p := u.members[i]
		if p != nil && revisionOf(p) != u.updated.name && p.DeletionTimestamp == nil {
			u.deletePod(p)
			status.CurrentReplicas--
			return
		}
		if u.unavailable(p) {
			return
		}
	}
}

// replaceMany ends members of an older revision from above while at most maxUnavailable members are not available
// (updateStatefulSetAfterInvariantEstablished).
func (u *update) replaceMany(status *appsv1.StatefulSetStatus) error {
	most := 1
	if r := u.set.obj.Spec.UpdateStrategy.RollingUpdate; r != nil {
		n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(r.MaxUnavailable, intstr.FromInt32(1)), len(u.members), false)
		if err != nil {
			return fmt.Errorf("statefulset %s/%s: maxUnavailable: %w", u.set.obj.Namespace, u.set.obj.Name, err)
		}
		most = max(1, n)
	}
	for _, p := range u.members {
		if u.unavailable(p) {
			most--
		}
	}
	for i := len(u.members) - 1; i >= u.partition() && most > 0; i-- {
		p := u.members[i]
		if p != nil && revisionOf(p) != u.updated.name && p.DeletionTimestamp == nil {
			u.deletePod(p)
			most--
			status.CurrentReplicas--
		}
	}
	return nil
}
