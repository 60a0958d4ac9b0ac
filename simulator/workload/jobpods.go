package workload

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/controller"
	jobcontroller "k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/utils/ptr"
)

// tracked says whether a pod was not counted yet: the finalizer of a Job's pods is taken off when they are.
func tracked(p *corev1.Pod) bool { return slices.Contains(p.Finalizers, batchv1.JobTrackingFinalizer) }

// release takes the finalizer off. A pod that only waited for that is gone then.
func (t *turn) release(p *corev1.Pod) {
	if !tracked(p) || t.familyOf[p.UID] == nil {
		return
	}
	f := t.familyOf[p.UID]
	released := *f.pods[f.index(p.UID)]
	released.Finalizers = slices.DeleteFunc(slices.Clone(released.Finalizers), func(s string) bool { return s == batchv1.JobTrackingFinalizer })
	t.did(Action{Verb: ReleasePod, Object: &released})
	if released.DeletionTimestamp != nil && ptr.Deref(released.DeletionGracePeriodSeconds, 1) == 0 {
		t.removePod(&released)
		return
	}
	t.setPod(metav1.GetControllerOfNoCopy(p).UID, &released)
}

// left counts a pod that was deleted just now.
func (a *act) left(p *corev1.Pod) {
	a.running--
	a.terminating++
	if podutil.IsPodReady(p) {
		a.ready--
	}
}

// manage ends pods that are too many, or makes those that are missing (manageJob). Pods that it ends are not counted.
func (a *act) manage() error {
	want, spec := 0, a.j.obj.Spec
	switch {
	case a.suspended():
	case spec.Completions != nil:
		want = max(0, min(int(*spec.Completions)-a.succeeded, int(*spec.Parallelism)))
	case a.succeeded > 0:
		want = len(a.active)
	default:
		want = int(*spec.Parallelism)
	}
	surplus := a.surplus(max(0, len(a.active)-want))
	if !a.suspended() {
		surplus = surplus[:min(len(surplus), jobcontroller.MaxPodCreateDeletePerSync)]
	}
	for _, p := range surplus {
		a.release(p)
		if f := a.familyOf[p.UID]; f != nil {
			a.deletePod(f.pods[f.index(p.UID)])
		}
		a.left(p)
	}
	missing := want - len(a.active)
	if a.onlyFailed() {
		missing -= int(a.terminating)
	}
	if len(surplus) > 0 || a.suspended() || missing <= 0 {
		return nil
	}
	if wait := a.j.wait(a.now); wait > 0 {
		a.next = earlier(a.next, a.now.Add(max(wait, jobcontroller.SyncJobBatchPeriod)), a.now)
		return nil
	}
	return a.create(min(missing, jobcontroller.MaxPodCreateDeletePerSync))
}

// surplus are the pods to end: of an indexed Job those without an index of it and all but one of each index, and then, up to n, those
// that are least far (controller.ActivePods).
func (a *act) surplus(n int) []*corev1.Pod {
	left := slices.Clone(a.active)
	var out []*corev1.Pod
	if a.indexed() {
		slices.SortStableFunc(left, func(x, y *corev1.Pod) int { return cmp.Compare(indexOf(x), indexOf(y)) })
		byIndex := left
		left = nil
		for len(byIndex) > 0 {
			index := indexOf(byIndex[0])
			same := 1
			for same < len(byIndex) && indexOf(byIndex[same]) == index {
				same++
			}
			alike := byIndex[:same]
			byIndex = byIndex[same:]
			if !a.valid(index) {
				out = append(out, alike...)
				continue
			}
			sort.Sort(controller.ActivePods(alike))
			out = append(out, alike[:same-1]...)
			left = append(left, alike[same-1])
		}
	}
	if more := n - len(out); more > 0 {
		sort.Sort(controller.ActivePods(left))
		out = append(out, left[:more]...)
	}
	return out
}

// create makes n pods; of an indexed Job those of the lowest indexes that neither succeeded nor have a pod.
func (a *act) create(n int) error {
	o := a.j.obj
	template := o.Spec.Template.DeepCopy()
	if !slices.Contains(template.Finalizers, batchv1.JobTrackingFinalizer) {
		template.Finalizers = append(template.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if !a.indexed() {
		for range n {
			a.running++
			if err := a.createPod(template, o, jobKind, "", nil); err != nil {
				return err
			}
		}
		return nil
	}
	taken := map[int]bool{}
	for _, p := range a.pods {
		if controller.IsPodActive(p) || a.onlyFailed() && controller.IsPodTerminating(p) {
			taken[indexOf(p)] = true
		}
	}
	for _, containers := range [][]corev1.Container{template.Spec.InitContainers, template.Spec.Containers} {
		for i := range containers {
			addIndexVariable(&containers[i])
		}
	}
	for index := 0; index < int(*o.Spec.Completions) && n > 0; index++ {
		if taken[index] || a.finished[index] {
			continue
		}
		n--
		a.running++
		text := strconv.Itoa(index)
		if err := a.createPod(template, o, jobKind, "", func(p *corev1.Pod) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, batchv1.JobCompletionIndexAnnotation, text)
			metav1.SetMetaDataLabel(&p.ObjectMeta, batchv1.JobCompletionIndexAnnotation, text)
			p.Spec.Hostname = o.Name + "-" + text
			p.GenerateName = o.Name[:min(len(o.Name), maxGenerated-len(text)-2)] + "-" + text + "-"
		}); err != nil {
			return err
		}
	}
	return nil
}

// indexVariable is the environment variable that says a container its index (indexed_job_utils.go).
const indexVariable = "JOB_COMPLETION_INDEX"

func addIndexVariable(c *corev1.Container) {
	if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
		return
	}
	c.Env = append(c.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: fmt.Sprintf("metadata.labels['%s']", batchv1.JobCompletionIndexAnnotation)},
	}})
}

// valid says whether the Job has an index.
func (a *act) valid(index int) bool { return index >= 0 && index < int(*a.j.obj.Spec.Completions) }

// indexOf is the index of a pod of an indexed Job, -1 if it has none.
func indexOf(p *corev1.Pod) int {
	n, err := strconv.Atoi(p.Annotations[batchv1.JobCompletionIndexAnnotation])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// parseIndexes reads indexes below completions as a Job's status has them: "1,3-5,7". What is no index is left out.
func parseIndexes(text string, completions int) map[int]bool {
	out := map[int]bool{}
	for _, part := range strings.Split(text, ",") {
		from, to, interval := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if interval {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		for i := max(0, first); i <= min(last, completions-1); i++ {
			out[i] = true
		}
	}
	return out
}

// formatIndexes writes indexes as a Job's status has them: three or more in a row as an interval.
func formatIndexes(indexes map[int]bool) string {
	var all []int
	for i := range indexes {
		all = append(all, i)
	}
	slices.Sort(all)
	var out []string
	for i := 0; i < len(all); {
		n := i + 1
		for n < len(all) && all[n] == all[n-1]+1 {
			n++
		}
		switch n - i {
		case 1:
			out = append(out, strconv.Itoa(all[i]))
		case 2:
			out = append(out, strconv.Itoa(all[i]), strconv.Itoa(all[i+1]))
		default:
			out = append(out, fmt.Sprintf("%d-%d", all[i], all[n-1]))
		}
		i = n
	}
	return strings.Join(out, ",")
}

// delay counts failures since the last success (backoff_utils.go, newBackoffRecord).
func (j *job) delay(succeeded, failed []*corev1.Pod) {
	if len(succeeded) > 0 {
		last := latest(succeeded)
		j.failures, j.failed = 0, time.Time{}
		failed = slices.DeleteFunc(slices.Clone(failed), func(p *corev1.Pod) bool { return !ended(p).After(last) })
	}
	if len(failed) > 0 {
		j.failures += int32(len(failed))
		j.failed = latest(failed)
	}
}

func latest(pods []*corev1.Pod) (at time.Time) {
	for _, p := range pods {
		if e := ended(p); e.After(at) {
			at = e
		}
	}
	return at
}

// wait is how long no pod is made after failures: ten seconds after one, twice as long after each further one, ten minutes at most.
func (j *job) wait(now time.Time) time.Duration {
	if j.failures == 0 {
		return 0
	}
	wait := jobcontroller.DefaultJobPodFailureBackOff
	for i := int32(1); i < j.failures && wait < jobcontroller.MaxJobPodFailureBackOff; i++ {
		wait = min(2*wait, jobcontroller.MaxJobPodFailureBackOff)
	}
	return max(0, wait-now.Sub(j.failed))
}

// ended is when a pod ended: its last container, else when it was not ready any more, was deleted, or was made (getFinishedTime).
func ended(p *corev1.Pod) time.Time {
	if at, ok := containersEnded(p); ok {
		return at
	}
	if c := podutil.GetPodReadyCondition(p.Status); c != nil && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
		return c.LastTransitionTime.Time
	}
	if p.DeletionTimestamp != nil {
		return p.DeletionTimestamp.Add(-time.Duration(ptr.Deref(p.DeletionGracePeriodSeconds, 0)) * time.Second)
	}
	return p.CreationTimestamp.Time
}

// containersEnded is when the last of the containers and sidecars ended, if all have.
func containersEnded(p *corev1.Pod) (at time.Time, ok bool) {
	statuses := slices.Clone(p.Status.ContainerStatuses)
	for _, c := range p.Status.InitContainerStatuses {
		if slices.ContainsFunc(p.Spec.InitContainers, func(i corev1.Container) bool {
			return i.Name == c.Name && ptr.Deref(i.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
		}) {
			statuses = append(statuses, c)
		}
	}
	for _, c := range statuses {
		if c.State.Terminated == nil || c.State.Terminated.FinishedAt.IsZero() {
			return at, false
		}
		if e := c.State.Terminated.FinishedAt.Time; e.After(at) {
			at = e
		}
	}
	return at, len(statuses) > 0
}
