package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"
	appsdefaults "k8s.io/kubernetes/pkg/apis/apps/v1"
	"k8s.io/kubernetes/pkg/controller"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
	labelsutil "k8s.io/kubernetes/pkg/util/labels"
	"k8s.io/utils/ptr"
)

// maxRevisionHistory is how many characters of old revisions a ReplicaSet's annotation keeps (deployment/sync.go).
const maxRevisionHistory = 2000

type deployment struct {
	obj *appsv1.Deployment
	// check is when the progress deadline is looked at next. Upstream's queue keeps the earlier of two such instants, so a deadline that
	// moved is looked at when the earlier one would have passed.
	check time.Time
	// changed are the ReplicaSets that the last act changed, in the order in which it did.
	changed []*replicaSet
}

func (d *deployment) object() metav1.Object { return d.obj }

func (s *State) applyDeployment(o *appsv1.Deployment) {
	appsdefaults.SetObjectDefaults_Deployment(o)
	o.Generation = max(1, o.Generation)
	if old := s.deployments[o.UID]; old != nil {
		o.Status, o.Generation = old.obj.Status, old.obj.Generation
		if revision, ok := old.obj.Annotations[deploymentutil.RevisionAnnotation]; ok {
			metav1.SetMetaDataAnnotation(&o.ObjectMeta, deploymentutil.RevisionAnnotation, revision)
		}
		if !apiequality.Semantic.DeepEqual(o.Spec, old.obj.Spec) || !apiequality.Semantic.DeepEqual(o.Annotations, old.obj.Annotations) {
			o.Generation++ // pkg/registry/apps/deployment/strategy.go: annotations count
		}
		old.obj = o
	} else {
		s.deployments[o.UID] = &deployment{obj: o}
	}
	s.dirty[o.UID] = true
}

// settleDeployment lets a Deployment act while there is a reason to: it or one of its ReplicaSets changed, or its time has come.
func (t *turn) settleDeployment(d *deployment) error {
	uid := d.obj.UID
	for range maxSyncs {
		if err := t.settleReplicaSets(d); err != nil {
			return err
		}
		if !t.ready(uid) {
			return nil
		}
		acted, next, err := d.sync(t)
		if err != nil {
			return err
		}
		t.done(uid, next)
		t.dirty[uid] = acted
	}
	return t.unsettled(d)
}

// settleReplicaSets lets the ReplicaSets settle that have a reason to; the Deployment has one if one of them did anything.
func (t *turn) settleReplicaSets(d *deployment) error {
	order := slices.Clone(t.owned[d.obj.UID])
	slices.SortStableFunc(order, func(a, b *replicaSet) int { return d.rank(a) - d.rank(b) })
	d.changed = nil
	for _, rs := range order {
		if !t.ready(rs.obj.UID) {
			continue
		}
		acted, err := t.settle(rs)
		if err != nil {
			return err
		}
		if acted {
			t.dirty[d.obj.UID] = true
		}
	}
	return nil
}

// sync acts once.
func (d *deployment) sync(t *turn) (acted bool, next time.Time, err error) {
	before := len(t.actions)
	r := rollout{turn: t, d: d, ctx: context.Background(), log: klog.Background()}
	at, err := r.sync()
	if errors.Is(err, errConflict) {
		d.check = time.Time{} // upstream comes back in milliseconds, and with that forgets when it would have
		return true, next, nil
	}
	if at.After(t.now) && (!d.check.After(t.now) || at.Before(d.check)) {
		d.check = at
	}
	return len(t.actions) > before, earlier(next, d.check, t.now), err
}

// rank puts the ReplicaSets that the Deployment changed first: which pods one of them ends depends on what the others have ended by then.
func (d *deployment) rank(rs *replicaSet) int {
	if i := slices.Index(d.changed, rs); i >= 0 {
		return i
	}
	return len(d.changed)
}

// errConflict ends an act early: the real controller writes an object it has written in this act from a copy that is stale by then,
// and the API server refuses that. The next act does the rest.
var errConflict = errors.New("conflict")

// rollout is one act of a Deployment's controller: what it found, and what it changes (deployment_controller.go, syncDeployment).
type rollout struct {
	*turn
	d   *deployment
	ctx context.Context //nolint:containedctx // upstream's functions take one only to find a logger
	log klog.Logger
	// current is the ReplicaSet of the Deployment's template, nil before it is made; old are the others, oldest first.
	current *replicaSet
	old     []*replicaSet
	// wrote and adopted say that the Deployment, or its current ReplicaSet by adoptRevision, was written in this act.
	wrote, adopted bool
}

// sync acts once, and says when a deadline makes the next turn.
func (r *rollout) sync() (time.Time, error) {
	if len(r.d.obj.Spec.Selector.MatchLabels)+len(r.d.obj.Spec.Selector.MatchExpressions) == 0 {
		return time.Time{}, nil // it would select all pods: upstream only observes it
	}
	if err := r.notePause(); err != nil {
		return time.Time{}, err
	}
	r.find()
	scaling := r.d.obj.Spec.Paused
	if !scaling {
		if err := r.adoptRevision(false); err != nil {
			return time.Time{}, err
		}
		scaling = r.scaled()
	}
	if scaling {
		if err := r.adoptRevision(false); err != nil {
			return time.Time{}, err
		}
		found := objects(r.old...)
		r.scale()
		if r.d.obj.Spec.Paused {
			r.cleanUp(found) // as they were found: one that grew just now can be lost, as upstream loses it
		}
		return time.Time{}, r.writeStatus(r.status())
	}
	if r.d.obj.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return r.recreate()
	}
	return r.roll()
}

// find sorts the ReplicaSets into that of the present template and the others.
func (r *rollout) find() {
	sets := slices.Clone(r.owned[r.d.obj.UID])
	slices.SortFunc(sets, func(a, b *replicaSet) int {
		return cmp.Or(a.obj.CreationTimestamp.Compare(b.obj.CreationTimestamp.Time), cmp.Compare(a.obj.Name, b.obj.Name))
	})
	r.current, r.old = nil, nil
	for _, rs := range sets {
		if r.current == nil && deploymentutil.EqualIgnoreHash(&rs.obj.Spec.Template, &r.d.obj.Spec.Template) {
			r.current = rs
			continue
		}
		r.old = append(r.old, rs)
	}
}

// objects are ReplicaSets as upstream's functions take them.
func objects(sets ...*replicaSet) []*appsv1.ReplicaSet {
	out := make([]*appsv1.ReplicaSet, 0, len(sets))
	for _, rs := range sets {
		if rs != nil {
			out = append(out, rs.obj)
		}
	}
	return out
}

// all are the ReplicaSets, that of the present template last.
func (r *rollout) all() []*appsv1.ReplicaSet {
	return append(objects(r.old...), objects(r.current)...)
}

// scaled says whether the Deployment was scaled since its active ReplicaSets were: they carry the size that they were made for
// (deployment/sync.go, isScalingEvent).
func (r *rollout) scaled() bool {
	for _, rs := range controller.FilterActiveReplicaSets(r.all()) {
		if wanted, ok := deploymentutil.GetDesiredReplicasAnnotation(r.log, rs); ok && wanted != *r.d.obj.Spec.Replicas {
			return true
		}
	}
	return false
}

// adoptRevision brings the ReplicaSet of the present template up to date: annotations, revision, minReadySeconds. Where there is none,
// it is made if create says so (deployment/sync.go, getNewReplicaSet).
func (r *rollout) adoptRevision(create bool) error {
	revision := strconv.FormatInt(deploymentutil.MaxRevision(r.log, objects(r.old...))+1, 10)
	d := r.d.obj.DeepCopy()
	if r.current == nil {
		if !create {
			return nil
		}
		return r.createCurrent(d, revision)
	}
	if r.adopted {
		return errConflict
	}
	rs := r.current.obj.DeepCopy()
	annotated := deploymentutil.SetNewReplicaSetAnnotations(r.ctx, d, rs, revision, true, maxRevisionHistory)
	if annotated || rs.Spec.MinReadySeconds != d.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds = d.Spec.MinReadySeconds
		r.updateReplicaSet(r.current, rs)
		r.adopted = true
		return nil
	}
	changed := deploymentutil.SetDeploymentRevision(d, rs.Annotations[deploymentutil.RevisionAnnotation])
	if deploymentutil.HasProgressDeadline(d) && deploymentutil.GetDeploymentCondition(d.Status, appsv1.DeploymentProgressing) == nil {
		r.setCondition(&d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, deploymentutil.FoundNewRSReason, fmt.Sprintf("Found new replica set %q", rs.Name))
		changed = true
	}
	if changed {
		return r.writeDeployment(d)
	}
	return nil
}

// createCurrent makes the ReplicaSet of the present template. Its name is that of the Deployment and the template's hash; where another
// one has this name, the hash is taken again with a higher collision count.
func (r *rollout) createCurrent(d *appsv1.Deployment, revision string) error {
	template := *d.Spec.Template.DeepCopy()
	hash := controller.ComputeHash(&template, d.Status.CollisionCount)
	template.Labels = labelsutil.CloneAndAddLabel(d.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey, hash)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: setName(d.Name, hash), Namespace: d.Namespace, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, deploymentKind)},
		},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To[int32](0), MinReadySeconds: d.Spec.MinReadySeconds, Template: template,
			Selector: labelsutil.CloneSelectorAndAddLabel(d.Spec.Selector, appsv1.DefaultDeploymentUniqueLabelKey, hash),
		},
	}
	if r.setNames[nameOf(rs)] != nil {
		d.Status.CollisionCount = ptr.To(ptr.Deref(d.Status.CollisionCount, 0) + 1)
		if err := r.writeDeployment(d); err != nil {
			return err
		}
		return errConflict // upstream returns that the name is taken, and comes back
	}
	size, err := deploymentutil.NewRSNewReplicas(d, append(objects(r.old...), rs), rs)
	if err != nil {
		return fmt.Errorf("deployment %s/%s: replicas of a new ReplicaSet: %w", d.Namespace, d.Name, err)
	}
	rs.Spec.Replicas = &size
	deploymentutil.SetNewReplicaSetAnnotations(r.ctx, d, rs, revision, false, maxRevisionHistory)
	_, rs.UID = r.drawn(r.family(d.UID), d, "", rs.Name)
	rs.CreationTimestamp = metav1.NewTime(r.second())
	appsdefaults.SetObjectDefaults_ReplicaSet(rs)
	r.current = &replicaSet{obj: rs, kind: replicaSetKind}
	r.addReplicaSet(r.current)
	r.dirty[rs.UID] = true
	r.did(Action{Verb: CreateReplicaSet, Object: rs, To: size})

	changed := deploymentutil.SetDeploymentRevision(d, revision)
	if deploymentutil.HasProgressDeadline(d) {
		r.setCondition(&d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, deploymentutil.NewReplicaSetReason, fmt.Sprintf("Created new replica set %q", rs.Name))
		changed = true
	}
	if changed {
		return r.writeDeployment(d)
	}
	return nil
}

// setName is the name of a Deployment's ReplicaSet, cut so that it is valid (deployment/sync.go, generateReplicaSetName).
func setName(deployment, hash string) string {
	if room := validation.DNS1123SubdomainMaxLength - len(hash) - 1; room > 0 && len(deployment) > room {
		deployment = deployment[:room]
	}
	return deployment + "-" + hash
}

// updateReplicaSet puts a changed object in the place of a ReplicaSet's.
func (r *rollout) updateReplicaSet(rs *replicaSet, o *appsv1.ReplicaSet) {
	from := *rs.obj.Spec.Replicas
	if !apiequality.Semantic.DeepEqual(o.Spec, rs.obj.Spec) {
		o.Generation++
	}
	rs.obj = o
	r.d.changed = append(r.d.changed, rs)
	r.dirty[o.UID] = true
	r.did(Action{Verb: UpdateReplicaSet, Object: o, From: from, To: *o.Spec.Replicas})
}

// writeDeployment puts an object with another status or revision in the place of the Deployment's. Its generation is left alone, as it
// is where the status is written.
func (r *rollout) writeDeployment(o *appsv1.Deployment) error {
	if r.wrote {
		return errConflict
	}
	r.wrote = true
	r.d.obj = o
	r.did(Action{Verb: UpdateStatus, Object: o})
	return nil
}
