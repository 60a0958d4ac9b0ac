package workload

import (
	"slices"
	"sort"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/controller"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// resize scales a ReplicaSet and writes into its annotations what size of the Deployment that was for. Where the size is right nothing
// is done, unless always says that the annotations matter alone. It says whether the size changed.
func (r *rollout) resize(rs *replicaSet, to int32, always bool) bool {
	resized := *rs.obj.Spec.Replicas != to
	if !resized && !always {
		return false
	}
	size, most := *r.d.obj.Spec.Replicas, *r.d.obj.Spec.Replicas+deploymentutil.MaxSurge(*r.d.obj)
	if !resized && !deploymentutil.ReplicasAnnotationsNeedUpdate(rs.obj, size, most) {
		return false
	}
	o := rs.obj.DeepCopy()
	*o.Spec.Replicas = to
	deploymentutil.SetReplicasAnnotations(o, size, most)
	r.updateReplicaSet(rs, o)
	return resized
}

// of is the ReplicaSet of an object.
func (r *rollout) of(o *appsv1.ReplicaSet) *replicaSet { return r.replicaSets[o.UID] }

// scale spreads a change of size over the ReplicaSets: all of it to the only active one; else, in a rolling update, in proportion to
// their sizes, what is left over to the largest (deployment/sync.go, scale).
func (r *rollout) scale() {
	old := objects(r.old...)
	var current *appsv1.ReplicaSet
	if r.current != nil {
		current = r.current.obj
	}
	if only := deploymentutil.FindActiveOrLatest(current, old); only != nil {
		r.resize(r.of(only), *r.d.obj.Spec.Replicas, false)
		return
	}
	if current != nil && deploymentutil.IsSaturated(r.d.obj, current) {
		for _, rs := range controller.FilterActiveReplicaSets(old) {
			r.resize(r.of(rs), 0, false)
		}
		return
	}
	if deploymentutil.IsRollingUpdate(r.d.obj) {
		r.scaleInProportion()
	}
}

func (r *rollout) scaleInProportion() {
	sets := controller.FilterActiveReplicaSets(r.all())
	allowed := int32(0)
	if *r.d.obj.Spec.Replicas > 0 {
		allowed = *r.d.obj.Spec.Replicas + deploymentutil.MaxSurge(*r.d.obj)
	}
	add := allowed - deploymentutil.GetReplicaCountForReplicaSets(sets)
	switch {
	case add > 0:
		sort.Sort(controller.ReplicaSetsBySizeNewer(sets))
	case add < 0:
		sort.Sort(controller.ReplicaSetsBySizeOlder(sets))
	}
	sizes := make([]int32, len(sets))
	added := int32(0)
	for i, rs := range sets {
		share := deploymentutil.GetReplicaSetProportion(r.log, rs, *r.d.obj, add, added)
		sizes[i] = *rs.Spec.Replicas + share
		added += share
	}
	for i, rs := range sets {
		if i == 0 {
			sizes[i] = max(0, sizes[i]+add-added)
		}
		r.resize(r.of(rs), sizes[i], true)
	}
}

// roll is a rolling update: the current ReplicaSet grows as far as the surge allows, then the old ones shrink as far as enough pods stay
// available (deployment/rolling.go).
func (r *rollout) roll() (time.Time, error) {
	if err := r.adoptRevision(true); err != nil || r.current == nil {
		return time.Time{}, err
	}
	size := *r.d.obj.Spec.Replicas
	switch has := *r.current.obj.Spec.Replicas; {
	case has > size:
		if r.resize(r.current, size, false) {
			return r.finish()
		}
	case has < size:
		grown, err := deploymentutil.NewRSNewReplicas(r.d.obj, r.all(), r.current.obj)
		if err != nil {
			return time.Time{}, err
		}
		if r.resize(r.current, grown, false) {
			return r.finish()
		}
	}
	if r.shrinkOld() {
		return r.finish()
	}
	if deploymentutil.DeploymentComplete(r.d.obj, &r.d.obj.Status) {
		r.cleanUp(objects(r.old...))
	}
	return r.finish()
}

// shrinkOld takes pods from the old ReplicaSets: first those that are not available anyway, then as many as are available beyond the
// least that must be. Pods of the current ReplicaSet that are not available count as missing.
func (r *rollout) shrinkOld() bool {
	old := make([]*replicaSet, 0, len(r.old))
	for _, rs := range r.old {
		if *rs.obj.Spec.Replicas > 0 {
			old = append(old, rs)
		}
	}
	if len(old) == 0 {
		return false
	}
	least := *r.d.obj.Spec.Replicas - deploymentutil.MaxUnavailable(*r.d.obj)
	missing := *r.current.obj.Spec.Replicas - r.current.obj.Status.AvailableReplicas
	most := deploymentutil.GetReplicaCountForReplicaSets(r.all()) - least - missing
	if most <= 0 {
		return false
	}
	unhealthy := int32(0)
	for _, rs := range old {
		has := *rs.obj.Spec.Replicas
		if n := min(most-unhealthy, has-rs.obj.Status.AvailableReplicas); n > 0 {
			r.resize(rs, has-n, false)
			unhealthy += n
		}
	}
	spare := deploymentutil.GetAvailableReplicaCountForReplicaSets(append(objects(old...), r.current.obj)) - least
	taken := int32(0)
	for _, rs := range old {
		has := *rs.obj.Spec.Replicas
		if n := min(has, spare-taken); n > 0 {
			r.resize(rs, has-n, false)
			taken += n
		}
	}
	return unhealthy+taken > 0
}

// recreate ends all pods of the old ReplicaSets before the current one has any (deployment/recreate.go).
func (r *rollout) recreate() (time.Time, error) {
	if err := r.adoptRevision(false); err != nil {
		return time.Time{}, err
	}
	shrunk := false
	for _, rs := range r.old {
		shrunk = r.resize(rs, 0, false) || shrunk
	}
	if shrunk || r.oldRunning() {
		return r.finish()
	}
	if r.current == nil {
		if err := r.adoptRevision(true); err != nil || r.current == nil {
			return time.Time{}, err
		}
	}
	r.resize(r.current, *r.d.obj.Spec.Replicas, false)
	if deploymentutil.DeploymentComplete(r.d.obj, &r.d.obj.Status) {
		r.cleanUp(objects(r.old...))
	}
	return r.finish()
}

// oldRunning says whether a pod of an old ReplicaSet has not ended; one that is being deleted still runs.
func (r *rollout) oldRunning() bool {
	for _, rs := range r.old {
		if rs.obj.Status.Replicas > 0 || slices.ContainsFunc(r.family(rs.obj.UID).pods, func(p *corev1.Pod) bool {
			return p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
		}) {
			return true
		}
	}
	return false
}

// cleanUp deletes the oldest revisions beyond revisionHistoryLimit that have no pods (deployment/sync.go, cleanupDeployment).
func (r *rollout) cleanUp(old []*appsv1.ReplicaSet) {
	if !deploymentutil.HasRevisionHistoryLimit(r.d.obj) {
		return
	}
	sort.Sort(deploymentutil.ReplicaSetsByRevision(old))
	for _, o := range old[:max(0, len(old)-int(*r.d.obj.Spec.RevisionHistoryLimit))] {
		if o.Status.Replicas != 0 || *o.Spec.Replicas != 0 || o.Generation > o.Status.ObservedGeneration {
			continue
		}
		r.did(Action{Verb: DeleteReplicaSet, Object: r.replicaSets[o.UID].obj})
		r.Delete(o.UID)
		r.collectGarbage()
	}
}
