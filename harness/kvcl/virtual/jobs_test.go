package virtual_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// TestTakenOverJob: a Job goes on by itself, a second after each pod that ended: the next pod takes as long as the last. One that was evicted is a
// failure, after which the Job waits, and comes back. When all is done the Job is deleted in its time, with its pods.
func TestTakenOverJob(t *testing.T) {
	w := newWorld(t)
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "count", UID: "j-count"},
		Spec: batchv1.JobSpec{
			Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](2), TTLSecondsAfterFinished: ptr.To[int32](60),
			Template: corev1.PodTemplateSpec{Spec: pod("", "1").Spec},
		},
	}
	job.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	first := runFor(pod("count-a", "1"), 30*time.Second)
	first.Spec.RestartPolicy = corev1.RestartPolicyNever
	first.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	w.add(node("n1", "8"), job, first)
	w.settle(0)
	if n := len(w.Targets()); n != 0 {
		t.Errorf("%d targets, want none: a Job has no replicas", n)
	}
	ref := scalehist.WorkloadRef{Kind: "Job", Namespace: "default", Name: "count"}
	w.takeOver("keeper", ref)
	w.settle(0)
	w.settle(1 * sec)
	if err := w.Scale(t.Context(), ref, 2); err == nil {
		t.Error("a Job is scaled")
	}
	// living are its pods that have not ended, at an offset.
	living := func(at time.Duration) []string {
		t.Helper()
		w.settle(at)
		pods := w.pods()
		maps.DeleteFunc(pods, func(_, how string) bool { return strings.HasPrefix(how, "Succeeded") })
		return slices.Sorted(maps.Keys(pods))
	}
	if got := living(30 * sec); len(got) != 0 {
		t.Errorf("pods %v when the first has ended, want none", got)
	}
	w.mustNext(31 * sec)
	got := living(31 * sec)
	if len(got) != 1 || got[0] == "count-a" {
		t.Fatalf("pods %v, want a second", got)
	}
	second := got[0]
	labelled := first.DeepCopy()
	labelled.Labels = map[string]string{"app": "web", "seen": "yes"}
	w.update(labelled) // it was counted once, which must do
	w.mustEvict(second)
	if got := living(31 * sec); len(got) != 0 {
		t.Errorf("pods %v right after an eviction, want none", got)
	}
	waits := []time.Duration{}
	for at, ok := w.Next(); ok && at.Before(w.start.Add(60*sec)); at, ok = w.Next() {
		if got := living(at.Sub(w.start)); len(got) > 0 {
			if got[0] != second {
				t.Errorf("pod %s came, want %s back", got[0], second)
			}
			waits = append(waits, at.Sub(w.start))
		}
	}
	if len(waits) == 0 || waits[0] < 41*sec || waits[0] > 44*sec {
		t.Fatalf("the evicted pod was back at %v, want ten seconds after the failure", waits)
	}
	done := waits[0] + 30*sec
	w.settle(done)
	w.settle(done + 1*sec)
	for range 5 {
		if at, ok := w.Next(); ok {
			w.settle(at.Sub(w.start))
		}
	}
	w.want(map[string]string{})
	if jobs := w.Cluster.Objects().Jobs; len(jobs) != 0 {
		t.Errorf("Job %s is still there", jobs[0].Name)
	}
	w.remove(job) // recorded, later than here
	if _, err := w.Target(ref); !errors.Is(err, scalehist.ErrNoWorkload) {
		t.Errorf("the target is there: %v", err)
	}
}
