package workload

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

// setCondition sets a condition of this instant, as upstream does with the wall clock's: one of the same status and reason is left as it
// is, one of the same status keeps its transition time (deployment/util, NewDeploymentCondition, SetDeploymentCondition).
func (r *rollout) setCondition(status *appsv1.DeploymentStatus, kind appsv1.DeploymentConditionType, value corev1.ConditionStatus, reason, message string) {
	at := metav1.NewTime(r.second())
	deploymentutil.SetDeploymentCondition(status, appsv1.DeploymentCondition{
		Type: kind, Status: value, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
	})
}

// notePause writes into the Progressing condition that a Deployment was paused or resumed, so that the deadline does not count the
// pause (deployment/sync.go, checkPausedConditions).
func (r *rollout) notePause() error {
	if !deploymentutil.HasProgressDeadline(r.d.obj) {
		return nil
	}
	reason, message := deploymentutil.PausedDeployReason, "Deployment is paused"
	cond := deploymentutil.GetDeploymentCondition(r.d.obj.Status, appsv1.DeploymentProgressing)
	noted := cond != nil && cond.Reason == deploymentutil.PausedDeployReason
	if !r.d.obj.Spec.Paused {
		reason, message = deploymentutil.ResumedDeployReason, "Deployment is resumed"
	}
	if noted == r.d.obj.Spec.Paused || cond != nil && cond.Reason == deploymentutil.TimedOutReason {
		return nil
	}
	d := r.d.obj.DeepCopy()
	r.setCondition(&d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, reason, message)
	return r.writeDeployment(d)
}

// status counts the pods of all ReplicaSets (deployment/sync.go, calculateStatus).
func (r *rollout) status() appsv1.DeploymentStatus {
	d, all := r.d.obj, r.all()
	available := deploymentutil.GetAvailableReplicaCountForReplicaSets(all)
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  d.Generation,
		Replicas:            deploymentutil.GetActualReplicaCountForReplicaSets(all),
		UpdatedReplicas:     deploymentutil.GetActualReplicaCountForReplicaSets(objects(r.current)),
		ReadyReplicas:       deploymentutil.GetReadyReplicaCountForReplicaSets(all),
		AvailableReplicas:   available,
		UnavailableReplicas: max(0, deploymentutil.GetReplicaCountForReplicaSets(all)-available),
		TerminatingReplicas: deploymentutil.GetTerminatingReplicaCountForReplicaSets(all),
		CollisionCount:      d.Status.CollisionCount,
		Conditions:          append([]appsv1.DeploymentCondition(nil), d.Status.Conditions...),
	}
	if available >= *d.Spec.Replicas-deploymentutil.MaxUnavailable(*d) {
		r.setCondition(&status, appsv1.DeploymentAvailable, corev1.ConditionTrue, deploymentutil.MinimumReplicasAvailable, "Deployment has minimum availability.")
	} else {
		r.setCondition(&status, appsv1.DeploymentAvailable, corev1.ConditionFalse, deploymentutil.MinimumReplicasUnavailable, "Deployment does not have minimum availability.")
	}
	return status
}

// finish writes the status of a rollout with its progress, and says when its deadline makes the next turn (deployment/progress.go,
// syncRolloutStatus and requeueStuckDeployment).
func (r *rollout) finish() (time.Time, error) {
	d, status := r.d.obj, r.status()
	if !deploymentutil.HasProgressDeadline(d) {
		deploymentutil.RemoveDeploymentCondition(&status, appsv1.DeploymentProgressing)
		return time.Time{}, r.writeStatus(status)
	}
	cond := deploymentutil.GetDeploymentCondition(d.Status, appsv1.DeploymentProgressing)
	if done := status.Replicas == status.UpdatedReplicas && cond != nil && cond.Reason == deploymentutil.NewRSAvailableReason; !done {
		r.progress(cond, &status)
	}
	if err := r.writeStatus(status); err != nil {
		return time.Time{}, err
	}
	cond = deploymentutil.GetDeploymentCondition(r.d.obj.Status, appsv1.DeploymentProgressing)
	if r.wrote || cond == nil || cond.Reason == deploymentutil.TimedOutReason || deploymentutil.DeploymentComplete(r.d.obj, &r.d.obj.Status) {
		return time.Time{}, nil
	}
	// Upstream looks a second after the deadline; where less than a second is left, it looks every few milliseconds from now on.
	deadline := r.deadline(cond)
	if deadline.Sub(r.now) < time.Second {
		return deadline.Add(time.Millisecond), nil
	}
	return deadline.Add(time.Second), nil
}

func (r *rollout) deadline(cond *appsv1.DeploymentCondition) time.Time {
	return cond.LastUpdateTime.Add(time.Duration(*r.d.obj.Spec.ProgressDeadlineSeconds) * time.Second)
}

// progress writes into a status whether the rollout is complete, made progress since the last status, or has not for too long. cond is
// the Progressing condition of the last status, nil if it had none.
func (r *rollout) progress(cond *appsv1.DeploymentCondition, status *appsv1.DeploymentStatus) {
	what := fmt.Sprintf("Deployment %q", r.d.obj.Name)
	if r.current != nil {
		what = fmt.Sprintf("ReplicaSet %q", r.current.obj.Name)
	}
	set := func(value corev1.ConditionStatus, reason, message string) {
		r.setCondition(status, appsv1.DeploymentProgressing, value, reason, what+message)
	}
	switch {
	case deploymentutil.DeploymentComplete(r.d.obj, status):
		set(corev1.ConditionTrue, deploymentutil.NewRSAvailableReason, " has successfully progressed.")
	case deploymentutil.DeploymentProgressing(r.d.obj, status):
		// Its update time is when progress was last made, so it is set though status and reason are the same.
		deploymentutil.RemoveDeploymentCondition(status, appsv1.DeploymentProgressing)
		set(corev1.ConditionTrue, deploymentutil.ReplicaSetUpdatedReason, " is progressing.")
		if cond != nil && cond.Status == corev1.ConditionTrue {
			status.Conditions[len(status.Conditions)-1].LastTransitionTime = cond.LastTransitionTime
		}
	case cond != nil && cond.Reason != deploymentutil.NewRSAvailableReason && (cond.Reason == deploymentutil.TimedOutReason || r.deadline(cond).Before(r.now)):
		set(corev1.ConditionFalse, deploymentutil.TimedOutReason, " has timed out progressing.")
	}
}

func (r *rollout) writeStatus(status appsv1.DeploymentStatus) error {
	if apiequality.Semantic.DeepEqual(status, r.d.obj.Status) {
		return nil
	}
	d := r.d.obj.DeepCopy()
	d.Status = status
	return r.writeDeployment(d)
}
