package workload

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// count adds the pods that ended to the status and releases them (trackJobStatusAndRemoveFinalizers). When the Job ends all are
// released, and all that did not succeed count as failed if the Job does.
func (a *act) count() {
	failing := a.end != nil && a.end.Type != batchv1.JobSuccessCriteriaMet
	for _, p := range a.pods {
		if !tracked(p) {
			continue
		}
		succeeded, failed := p.Status.Phase == corev1.PodSucceeded, a.failedPod(p)
		if !succeeded && !failed && a.end == nil || a.released(p) {
			continue
		}
		switch {
		case succeeded:
			if !a.indexed() {
				a.status.Succeeded++
			}
		case (failed || failing) && (!a.indexed() || a.valid(indexOf(p))):
			a.status.Failed++
		}
		a.release(p)
	}
	if a.indexed() {
		a.status.CompletedIndexes, a.status.Succeeded = formatIndexes(a.finished), int32(len(a.finished))
	}
}

// released says whether a pod was ended as one too many in this act: such a pod is not counted.
func (a *act) released(p *corev1.Pod) bool {
	f := a.familyOf[p.UID]
	return f != nil && !tracked(f.pods[f.index(p.UID)])
}

// conclude writes that the Job ends, and, once no pod is ending any more, that it has (enactJobFinished).
func (a *act) conclude() {
	if a.end == nil {
		return
	}
	final := a.end
	switch a.end.Type {
	case batchv1.JobFailureTarget:
		a.status.Conditions = append(a.status.Conditions, *a.end)
		final = a.condition(batchv1.JobFailed, corev1.ConditionTrue, a.end.Reason, a.end.Message)
	case batchv1.JobSuccessCriteriaMet:
		final = a.condition(batchv1.JobComplete, corev1.ConditionTrue, a.end.Reason, a.end.Message)
		if a.find(batchv1.JobSuccessCriteriaMet) == nil {
			a.status.Conditions = append(a.status.Conditions, *a.end)
		}
	}
	if a.terminating > 0 {
		return
	}
	a.status.Conditions = append(a.status.Conditions, *final)
	if final.Type == batchv1.JobComplete {
		a.status.CompletionTime = &final.LastTransitionTime
	}
}

// expire deletes a finished Job with its pods when ttlSecondsAfterFinished has passed, else says when that will be
// (pkg/controller/ttlafterfinished).
func (t *turn) expire(j *job) time.Time {
	if j.obj.Spec.TTLSecondsAfterFinished == nil {
		return time.Time{}
	}
	for _, c := range j.obj.Status.Conditions {
		if c.Status != corev1.ConditionTrue || c.Type != batchv1.JobComplete && c.Type != batchv1.JobFailed {
			continue
		}
		at := c.LastTransitionTime.Add(time.Duration(ptr.Deref(j.obj.Spec.TTLSecondsAfterFinished, 0)) * time.Second)
		if at.After(t.now) {
			return at
		}
		t.did(Action{Verb: DeleteJob, Object: j.obj})
		t.Delete(j.obj.UID)
		t.collectGarbage()
	}
	return time.Time{}
}
