package workload

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	batchdefaults "k8s.io/kubernetes/pkg/apis/batch/v1"
	"k8s.io/kubernetes/pkg/controller"
	jobcontroller "k8s.io/kubernetes/pkg/controller/job"
	jobutil "k8s.io/kubernetes/pkg/controller/job/util"
	"k8s.io/utils/ptr"
)

// job is a Job. Unlike the other workloads it has no settling: it acts at once when its spec changes, and else a second after the first
// change of a pod or of its own (job_controller.go, SyncJobBatchPeriod).
type job struct {
	obj *batchv1.Job
	// urgent says that the spec changed since the last act.
	urgent bool
	// failures are those since the last success, the last of them at failed: what new pods are delayed by (backoff_utils.go).
	failures int32
	failed   time.Time
	// gone are pods that were removed before they were counted.
	gone []*corev1.Pod
}

func (j *job) object() metav1.Object { return j.obj }

func (s *State) applyJob(o *batchv1.Job) error {
	if o.Spec.PodFailurePolicy != nil || o.Spec.SuccessPolicy != nil || o.Spec.BackoffLimitPerIndex != nil {
		return fmt.Errorf("job %s/%s: podFailurePolicy, successPolicy and backoffLimitPerIndex are not modelled: leave it out", o.Namespace, o.Name)
	}
	batchdefaults.SetObjectDefaults_Job(o)
	o.Generation = max(1, o.Generation)
	j := s.jobs[o.UID]
	if j == nil {
		j = &job{urgent: true}
		s.jobs[o.UID] = j
	} else {
		o.Status, o.Generation = j.obj.Status, j.obj.Generation
		if !apiequality.Semantic.DeepEqual(o.Spec, j.obj.Spec) {
			o.Generation++
			j.urgent = true
		}
	}
	j.obj = o
	s.dirty[o.UID] = true
	return nil
}

// actJob lets a Job act once if it is its turn, else notes when it is.
func (t *turn) actJob(j *job) error {
	uid := j.obj.UID
	next, timed := t.due[uid]
	if timed && next.After(t.now) || !timed {
		// An instant that is noted already stays, as in upstream's queue, if it is the earlier one.
		if !j.urgent {
			t.done(uid, earlier(next, t.now.Add(jobcontroller.SyncJobBatchPeriod), t.now))
			return nil
		}
	} else {
		next = time.Time{}
	}
	j.urgent = false
	acted, at, err := j.sync(t)
	if err != nil {
		return err
	}
	if acted {
		next = earlier(next, t.now.Add(jobcontroller.SyncJobBatchPeriod), t.now)
	}
	if t.jobs[uid] != nil {
		t.done(uid, earlier(next, at, t.now))
	}
	return nil
}

// act is one act of a Job's controller: what it found, and the status that comes of it (job_controller.go, syncJob).
type act struct {
	*turn
	j      *job
	status batchv1.JobStatus
	// pods are all of the Job; active neither ended nor are ending.
	pods, active []*corev1.Pod
	// succeeded and failed are counts with the pods that were not counted before; finished are their indexes, of an indexed Job.
	succeeded, failed int
	finished          map[int]bool
	// terminating and ready are counts of pods after what was done.
	terminating, ready int32
	// running is the count of active pods after what was done.
	running int32
	// end is the condition that ends the Job, nil while it goes on: SuccessCriteriaMet, FailureTarget, or Failed.
	end *batchv1.JobCondition
	// next is when time alone makes the next turn.
	next time.Time
}

func (j *job) sync(t *turn) (bool, time.Time, error) {
	if jobutil.IsJobFinished(j.obj) {
		return false, t.expire(j), nil
	}
	if j.obj.Spec.ManagedBy != nil && *j.obj.Spec.ManagedBy != batchv1.JobControllerName {
		return false, time.Time{}, nil
	}
	before := len(t.actions)
	a := &act{turn: t, j: j, status: *j.obj.Status.DeepCopy(), pods: slices.Concat(j.gone, t.family(j.obj.UID).pods)}
	j.gone = nil
	if a.status.UncountedTerminatedPods == nil {
		a.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	a.look()
	if a.status.StartTime == nil && !a.suspended() {
		a.status.StartTime = ptr.To(metav1.NewTime(t.second()))
	}
	a.judge()
	if a.end != nil {
		for _, p := range a.active {
			a.deletePod(p)
			a.left(p)
		}
	} else {
		if err := a.manage(); err != nil {
			return false, time.Time{}, err
		}
		if a.complete() {
			a.end = a.condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
		} else {
			a.noteSuspension()
		}
	}
	a.status.Active, a.status.Ready, a.status.Terminating = a.running, &a.ready, &a.terminating
	a.count()
	a.conclude()
	if !apiequality.Semantic.DeepEqual(a.status, j.obj.Status) {
		j.obj = j.obj.DeepCopy()
		j.obj.Status = a.status
		t.did(Action{Verb: UpdateStatus, Object: j.obj})
	}
	if jobutil.IsJobFinished(j.obj) {
		return true, t.expire(j), nil
	}
	return len(t.actions) > before, a.next, nil
}

func (a *act) suspended() bool { return ptr.Deref(a.j.obj.Spec.Suspend, false) }

func (a *act) indexed() bool {
	return ptr.Deref(a.j.obj.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

// failedPod says whether a pod counts as failed: one that is being deleted does, unless it ended well, or the Job replaces pods only
// once they have failed.
func (a *act) failedPod(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodFailed {
		return true
	}
	return p.DeletionTimestamp != nil && p.Status.Phase != corev1.PodSucceeded && !a.onlyFailed()
}

func (a *act) onlyFailed() bool {
	return ptr.Deref(a.j.obj.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed
}

// look counts the pods, and the delay that their failures make.
func (a *act) look() {
	var succeeded, failed []*corev1.Pod
	for _, p := range a.pods {
		if controller.IsPodActive(p) {
			a.active = append(a.active, p)
			if podutil.IsPodReady(p) {
				a.ready++
			}
		}
		if !tracked(p) || a.indexed() && !a.valid(indexOf(p)) {
			continue
		}
		if p.Status.Phase == corev1.PodSucceeded {
			succeeded = append(succeeded, p)
		} else if a.failedPod(p) {
			failed = append(failed, p)
		}
	}
	a.running, a.terminating = int32(len(a.active)), controller.CountTerminatingPods(a.pods)
	a.failed = int(a.status.Failed) + len(failed)
	a.succeeded = int(a.status.Succeeded) + len(succeeded)
	if a.indexed() {
		a.finished = parseIndexes(a.status.CompletedIndexes, int(*a.j.obj.Spec.Completions))
		for _, p := range succeeded {
			a.finished[indexOf(p)] = true
		}
		a.succeeded = len(a.finished)
	}
	a.j.delay(succeeded, failed)
}

func (a *act) condition(kind batchv1.JobConditionType, value corev1.ConditionStatus, reason, message string) *batchv1.JobCondition {
	at := metav1.NewTime(a.second())
	return &batchv1.JobCondition{Type: kind, Status: value, Reason: reason, Message: message, LastProbeTime: at, LastTransitionTime: at}
}

func (a *act) find(kind batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range a.status.Conditions {
		if c := &a.status.Conditions[i]; c.Type == kind && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// judge says whether the Job ends: it was found to before, failed too often, or took too long.
func (a *act) judge() {
	spec := a.j.obj.Spec
	if c := a.find(batchv1.JobSuccessCriteriaMet); c != nil {
		a.end = c
	} else if c := a.find(batchv1.JobFailureTarget); c != nil {
		a.end = a.condition(batchv1.JobFailed, corev1.ConditionTrue, c.Reason, c.Message)
	} else if a.failed > int(*spec.BackoffLimit) || a.restartedTooOften() {
		a.end = a.condition(batchv1.JobFailureTarget, corev1.ConditionTrue, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	} else if spec.ActiveDeadlineSeconds != nil && !a.suspended() {
		deadline := a.status.StartTime.Add(time.Duration(*spec.ActiveDeadlineSeconds) * time.Second)
		if !a.now.Before(deadline) {
			a.end = a.condition(batchv1.JobFailureTarget, corev1.ConditionTrue, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		}
		a.next = earlier(a.next, deadline, a.now)
	}
}

// restartedTooOften says whether the containers of a Job that restarts them have used up its backoffLimit (pastBackoffLimitOnFailure).
func (a *act) restartedTooOften() bool {
	if a.j.obj.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	restarts := int32(0)
	for _, p := range a.pods {
		if p.Status.Phase != corev1.PodRunning && p.Status.Phase != corev1.PodPending {
			continue
		}
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			restarts += c.RestartCount
		}
	}
	return restarts > 0 && restarts >= *a.j.obj.Spec.BackoffLimit
}

func (a *act) complete() bool {
	if a.running > 0 {
		return false
	}
	if a.j.obj.Spec.Completions == nil {
		return a.succeeded > 0
	}
	return a.succeeded >= int(*a.j.obj.Spec.Completions)
}

// noteSuspension writes whether the Job is suspended. Its time starts again when it is resumed.
func (a *act) noteSuspension() {
	value, reason, message := corev1.ConditionFalse, "JobResumed", "Job resumed"
	if a.suspended() {
		value, reason, message = corev1.ConditionTrue, "JobSuspended", "Job suspended"
	}
	i := slices.IndexFunc(a.status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	switch {
	case i < 0 && !a.suspended() || i >= 0 && a.status.Conditions[i].Status == value:
		return
	case i < 0:
		a.status.Conditions = append(a.status.Conditions, *a.condition(batchv1.JobSuspended, value, reason, message))
	default:
		a.status.Conditions[i] = *a.condition(batchv1.JobSuspended, value, reason, message)
	}
	a.status.StartTime = nil
	if !a.suspended() {
		a.status.StartTime = ptr.To(metav1.NewTime(a.second()))
	}
}
