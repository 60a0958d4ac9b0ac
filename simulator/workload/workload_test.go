package workload

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}
}

func podTemplate() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "web:0"}}},
	}
}

func testSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

// reconciled applies workloads and reconciles at noon.
func reconciled(t *testing.T, s *State, workloads ...runtime.Object) []Action {
	t.Helper()
	for _, o := range workloads {
		if err := s.Apply(o); err != nil {
			t.Fatal(err)
		}
	}
	return reconcileAt(t, s, noon)
}

func reconcileAt(t *testing.T, s *State, now time.Time) []Action {
	t.Helper()
	actions, err := s.Reconcile(now)
	if err != nil {
		t.Fatal(err)
	}
	return actions
}

func podNames(pods []*corev1.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

// said is what was done, in a line each, without status.
func said(actions []Action) []string {
	var out []string
	for _, a := range actions {
		if a.Verb != UpdateStatus {
			out = append(out, fmt.Sprintf("%s %s", a.Verb, a.Object.(metav1.Object).GetName()))
		}
	}
	return out
}

func TestRecordedNamesComeFirst(t *testing.T) {
	recorded := map[string][]string{"web-": {"web-zzzzz", "web-aaaaa"}, "db-0": {"uid-of-db-0"}}
	names := func(_ metav1.Object, like string, n int) (string, types.UID, bool) {
		if n >= len(recorded[like]) {
			return "", "", false
		}
		return recorded[like][n], types.UID("uid-" + recorded[like][n]), true
	}
	s := New(Options{Names: names})
	reconciled(t, s, &appsv1.ReplicaSet{ObjectMeta: objectMeta("web"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](3), Selector: testSelector(), Template: podTemplate()}},
		&appsv1.StatefulSet{ObjectMeta: objectMeta("db"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: testSelector(), Template: podTemplate()}})
	got := podNames(s.Pods("uid-web"))
	if diff := gocmp.Diff([]string{"web-zzzzz", "web-aaaaa"}, got[:2]); diff != "" {
		t.Errorf("recorded names (-want +got):\n%s", diff)
	}
	// The alphabet is that of k8s.io/apimachinery/pkg/util/rand.
	if made := got[2]; !regexp.MustCompile(`^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(made) {
		t.Errorf("made-up name %q", made)
	}
	if p := s.Pods("uid-db")[0]; p.Name != "db-0" || p.UID != "uid-uid-of-db-0" {
		t.Errorf("pod of the StatefulSet: %s with UID %s", p.Name, p.UID)
	}
}

// A recorded set's template may have lost fields: its pods are not replaced for that.
func TestRecordedStatefulSetKeepsItsRevision(t *testing.T) {
	s := New(Options{})
	set := &appsv1.StatefulSet{ObjectMeta: objectMeta("db"), Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](1), Selector: testSelector(), Template: podTemplate()}}
	set.Status = appsv1.StatefulSetStatus{CurrentRevision: "db-recorded", UpdateRevision: "db-recorded", Replicas: 1, ReadyReplicas: 1}
	pod := &corev1.Pod{ObjectMeta: objectMeta("db-0")}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, statefulSetKind)}
	pod.Labels = map[string]string{appsv1.StatefulSetRevisionLabel: "db-recorded"}
	pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon)}}
	if err := s.SetPod(pod); err != nil {
		t.Fatal(err)
	}
	if got := said(reconciled(t, s, set)); got != nil {
		t.Errorf("did %v, want nothing", got)
	}
	changed := set.DeepCopy()
	changed.Spec.Template.Spec.Containers[0].Image = "web:1"
	if diff := gocmp.Diff([]string{"delete pod db-0"}, said(reconciled(t, s, changed))); diff != "" {
		t.Errorf("after a change of the template (-want +got):\n%s", diff)
	}
}

func TestCustomResourceOwnsItsPods(t *testing.T) {
	s := New(Options{})
	reconciled(t, s, &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Fleet"}, ObjectMeta: objectMeta("fleet"),
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](2), Selector: testSelector(), Template: podTemplate()},
	})
	if err := s.Scale("uid-fleet", 1); err != nil {
		t.Fatal(err)
	}
	reconcileAt(t, s, noon)
	pods := s.Pods("uid-fleet")
	if len(pods) != 1 {
		t.Fatalf("%d pods, want 1", len(pods))
	}
	if ref := metav1.GetControllerOf(pods[0]); ref.APIVersion != "example.com/v1" || ref.Kind != "Fleet" {
		t.Errorf("controller %s %s", ref.APIVersion, ref.Kind)
	}
}

func TestDeletionTakesDependentsAlong(t *testing.T) {
	s := New(Options{})
	reconciled(t, s, &appsv1.Deployment{ObjectMeta: objectMeta("web"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: testSelector(), Template: podTemplate()}})
	rs := s.ReplicaSets("uid-web")[0]
	pods := podNames(s.Pods(rs.UID))
	s.Delete("uid-web")
	want := []string{"delete replicaset " + rs.Name, "delete pod " + pods[0], "delete pod " + pods[1]}
	if diff := gocmp.Diff(want, said(reconcileAt(t, s, noon))); diff != "" {
		t.Errorf("deletion (-want +got):\n%s", diff)
	}
	if left := len(s.ReplicaSets("uid-web")) + len(s.Pods(rs.UID)); left > 0 {
		t.Errorf("%d objects left", left)
	}
}

func TestFinishedJobExpires(t *testing.T) {
	s := New(Options{})
	j := &batchv1.Job{ObjectMeta: objectMeta("job"), Spec: batchv1.JobSpec{TTLSecondsAfterFinished: ptr.To[int32](60), Selector: testSelector(), Template: podTemplate()}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	reconciled(t, s, j)
	pod := s.Pods("uid-job")[0].DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	if err := s.SetPod(pod); err != nil {
		t.Fatal(err)
	}
	var got []string
	for now := noon; ; {
		for _, what := range said(reconcileAt(t, s, now)) {
			got = append(got, fmt.Sprintf("+%s %s", now.Sub(noon), what))
		}
		next, ok := s.Next()
		if !ok {
			break
		}
		now = next
	}
	want := []string{"+1s release pod " + pod.Name, "+1m1s delete job job", "+1m1s delete pod " + pod.Name}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("life of a Job (-want +got):\n%s", diff)
	}
}

// A pod that is removed before its Job has counted it, as when its node is gone, counts as failed.
func TestJobCountsPodsThatVanish(t *testing.T) {
	s := New(Options{})
	reconciled(t, s, &batchv1.Job{ObjectMeta: objectMeta("job"), Spec: batchv1.JobSpec{Selector: testSelector(), Template: podTemplate()}})
	s.RemovePod(s.Pods("uid-job")[0].UID)
	reconcileAt(t, s, noon)
	reconcileAt(t, s, noon.Add(time.Second))
	if got := s.Job("uid-job").Status; got.Failed != 1 || got.Active != 0 {
		t.Errorf("failed %d, active %d, want 1, 0", got.Failed, got.Active)
	}
}

func TestApplyRefuses(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: objectMeta("web"), Spec: appsv1.ReplicaSetSpec{Selector: testSelector(), Template: podTemplate()}}
	twin := rs.DeepCopy()
	twin.UID = "other"
	nameless := rs.DeepCopy()
	nameless.UID = ""
	policy := &batchv1.Job{ObjectMeta: objectMeta("job"), Spec: batchv1.JobSpec{PodFailurePolicy: &batchv1.PodFailurePolicy{}}}
	s := New(Options{})
	if err := s.Apply(rs); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func() error
		want string
	}{
		{"twin", func() error { return s.Apply(twin) }, "ReplicaSet shop/web: UID other, but ReplicaSet of this name has UID uid-web"},
		{"no UID", func() error { return s.Apply(nameless) }, "want namespace, name and UID"},
		{"kind", func() error { return s.Apply(&corev1.Pod{ObjectMeta: objectMeta("pod")}) }, "want a Deployment, ReplicaSet, StatefulSet or Job"},
		{"policy", func() error { return s.Apply(policy) }, "podFailurePolicy, successPolicy and backoffLimitPerIndex are not modelled"},
		{"scale", func() error { return s.Scale("uid-none", 1) }, "no workload with this UID has a scale"},
		{"negative", func() error { return s.Scale("uid-web", -1) }, "want 0 or more replicas"},
		{"orphan", func() error { return s.SetPod(&corev1.Pod{ObjectMeta: objectMeta("pod")}) }, "want a name, a UID and a controller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.do(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestIndexesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[int]bool{}
		for _, i := range rapid.SliceOf(rapid.IntRange(0, 30)).Draw(t, "indexes") {
			want[i] = true
		}
		text := formatIndexes(want)
		if diff := gocmp.Diff(want, parseIndexes(text, 31)); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", text, diff)
		}
	})
	if got := formatIndexes(map[int]bool{1: true, 3: true, 4: true, 5: true, 7: true, 8: true}); got != "1,3-5,7,8" {
		t.Errorf("indexes %q", got)
	}
}

// The restarts of all containers of a Job that restarts them use up its backoffLimit: as many end it (pastBackoffLimitOnFailure).
func TestJobEndsByRestarts(t *testing.T) {
	s := New(Options{})
	j := &batchv1.Job{ObjectMeta: objectMeta("job"), Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](2), Selector: testSelector(), Template: podTemplate()}}
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	reconciled(t, s, j)
	now := noon
	for restarts, want := range []int{0, 0, 1} {
		pod := s.Pods("uid-job")[0].DeepCopy()
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: int32(restarts)}}
		if err := s.SetPod(pod); err != nil {
			t.Fatal(err)
		}
		reconcileAt(t, s, now)
		now = now.Add(2 * time.Second)
		reconcileAt(t, s, now)
		ended := 0
		for _, c := range s.Job("uid-job").Status.Conditions {
			if c.Type == batchv1.JobFailureTarget && c.Reason == batchv1.JobReasonBackoffLimitExceeded {
				ended++
			}
		}
		if ended != want {
			t.Errorf("after %d restarts: %d conditions that end the Job, want %d", restarts, ended, want)
		}
	}
}

// A pod that is on its way out may step aside to another name: the one that comes instead can have its own.
func TestNamesThatAreFreeOrUsed(t *testing.T) {
	names := func(_ metav1.Object, _ string, n int) (string, types.UID, bool) {
		return "web-a", types.UID(fmt.Sprintf("uid-%d", n)), n < 2
	}
	var refused types.NamespacedName
	s := New(Options{Names: names, Used: func(name types.NamespacedName) bool {
		if refused.Name == "" {
			refused = name
		}
		return name == refused
	}})
	set := &appsv1.ReplicaSet{ObjectMeta: objectMeta("web"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: testSelector(), Template: podTemplate()}}
	reconciled(t, s, set)
	evicted := s.Pods("uid-web")[0].DeepCopy()
	evicted.Name, evicted.DeletionTimestamp, evicted.Spec.NodeName = "web-a.leaving", &metav1.Time{Time: noon}, "node"
	if err := s.SetPod(evicted); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"create pod web-a"}, said(reconcileAt(t, s, noon))); diff != "" {
		t.Errorf("after a pod stepped aside (-want +got):\n%s", diff)
	}
	if err := s.Scale("uid-web", 2); err != nil {
		t.Fatal(err)
	}
	reconcileAt(t, s, noon)
	if last := s.Pods("uid-web")[2].Name; refused.Name == "" || last == refused.Name {
		t.Errorf("pod %q has a name that is used up (%q)", last, refused.Name)
	}
}
