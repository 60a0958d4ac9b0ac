package operator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
)

// TestDay: the steps of a day, on a real API server, at the instants of a clock.
func TestDay(t *testing.T) {
	f := newFixture(t, "day")
	f.create("web", 5, "0", func(s *elastiv1alpha1.ElastiServiceSpec) {
		cooldown := int32(600)
		s.CooldownPeriod = &cooldown
	})
	var got []string
	for _, step := range []struct {
		value string
		after time.Duration
	}{
		{"3", 0},                  // needed
		{"0", 30 * time.Second},   // not needed from now on
		{"0", 569 * time.Second},  // 599 s
		{"0", time.Second},        // 600 s: the cooldown is over
		{"0.5", time.Hour},        // nothing
		{"1", 30 * time.Second},   // needed: the threshold itself is
		{"0", 30 * time.Second},   // not needed
		{"NaN", time.Hour},        // not known
		{"0", 30 * time.Second},   // not needed, and the cooldown is long over
		{"1e3", 30 * time.Second}, // needed
	} {
		f.clock.Step(step.after)
		f.prom.set("web", step.value)
		round := f.poll()
		got = append(got, fmt.Sprintf("%s: %d, %d scaled, %s", step.value, f.replicas("web"), round.Scaled, f.ready("web")))
	}
	want := []string{
		"3: 5, 0 scaled, True Needed: it is needed (web is 3, threshold 1)",
		"0: 5, 0 scaled, True Cooldown: it is not needed (web is 0, threshold 1), for 30s of 10m0s",
		"0: 5, 0 scaled, True Cooldown: it is not needed (web is 0, threshold 1), for 30s of 10m0s",
		"0: 0, 1 scaled, True NotNeeded: it is not needed (web is 0, threshold 1), for 10m0s",
		"0.5: 0, 0 scaled, True NotNeeded: it is not needed (web is 0, threshold 1), for 10m0s",
		"1: 2, 1 scaled, True Needed: it is needed (web is 1, threshold 1)",
		"0: 2, 0 scaled, True Cooldown: it is not needed (web is 0, threshold 1), for 30s of 10m0s",
		"NaN: 2, 0 scaled, False QueryReturnsNaN: query web is NaN: is something divided by zero?",
		"0: 0, 1 scaled, True NotNeeded: it is not needed (web is 0, threshold 1), for 10m0s",
		"1e3: 2, 1 scaled, True Needed: it is needed (web is 1000, threshold 1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if at := f.service("web").Status.LastScaledUpTime; at == nil || !at.Time.Equal(f.clock.Now()) {
		t.Errorf("last needed at %v, want %s", at, f.clock.Now())
	}
	eventually(t, "an event of each step", func() bool { return len(f.events("web")) == 5 })
	events := f.events("web")
	slices.Sort(events)
	want = []string{
		"Normal SuccessToScale Deployment/day/web: 0 -> 2: it is needed (web is 1, threshold 1)",
		"Normal SuccessToScale Deployment/day/web: 0 -> 2: it is needed (web is 1000, threshold 1)",
		"Normal SuccessToScale Deployment/day/web: 2 -> 0: it is not needed (web is 0, threshold 1), for 10m0s",
		"Normal SuccessToScale Deployment/day/web: 5 -> 0: it is not needed (web is 0, threshold 1), for 10m0s",
		"Warning FailedToScale QueryReturnsNaN: query web is NaN: is something divided by zero?",
	}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestKinds: whatever has a scale subresource is scaled, also where the plural is not the kind with an "s"; the plurals of old objects mean
// their kinds.
func TestKinds(t *testing.T) {
	f := newFixture(t, "kinds")
	proxies := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "proxies"}
	if err := apitest.Define(t.Context(), cluster, apitest.Scalable("example.com", "v1", "Proxy", "proxies")); err != nil {
		t.Fatal(err)
	}
	resources := map[string]schema.GroupVersionResource{
		"Deployment": {Group: "apps", Version: "v1", Resource: "deployments"}, "StatefulSet": {Group: "apps", Version: "v1", Resource: "statefulsets"}, "Proxy": proxies,
	}
	of := func(kind, name string) dynamic.ResourceInterface {
		return dyn.Resource(resources[kind]).Namespace(f.namespace)
	}
	for _, c := range []struct{ name, apiVersion, kind, ref string }{
		{"d", "apps/v1", "Deployment", "Deployment"}, {"old", "apps/v1", "Deployment", "deployments"}, {"s", "apps/v1", "StatefulSet", "StatefulSet"}, {"p", "example.com/v1", "Proxy", "Proxy"},
	} {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"name": %q}, "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "x"}},
			"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}`, c.apiVersion, c.kind, c.name))); err != nil {
			t.Fatal(err)
		}
		if _, err := of(c.kind, c.name).Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.prom.set(c.name, "0")
		f.createService(f.elastiService(c.name, func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.ScaleTargetRef.APIVersion, s.ScaleTargetRef.Kind = c.apiVersion, c.ref
		}))
	}
	for _, value := range []struct {
		value string
		want  int64
	}{{"0", 0}, {"9", 2}} {
		for _, name := range []string{"d", "old", "s", "p"} {
			f.prom.set(name, value.value)
		}
		if r := f.poll(); r != (Round{Services: 4, Scaled: 4}) {
			t.Errorf("round: %+v", r)
		}
		for name, kind := range map[string]string{"d": "Deployment", "old": "Deployment", "s": "StatefulSet", "p": "Proxy"} {
			o, err := of(kind, name).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); got != value.want {
				t.Errorf("%s %s has %d replicas, want %d", kind, name, got, value.want)
			}
		}
	}
}

// TestSpecReplicas: what is wanted decides, not what is there. KubeElasti compares status.replicas: a target whose pods have not followed yet
// is scaled again, and one that was scaled back meanwhile is not.
func TestSpecReplicas(t *testing.T) {
	f := newFixture(t, "spec-replicas")
	f.create("web", 0, "5", nil)
	d, err := client.AppsV1().Deployments(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas = 7 // they are about to end
	if _, err := client.AppsV1().Deployments(f.namespace).UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if f.poll(); f.replicas("web") != 2 {
		t.Errorf("%d replicas are wanted while old ones end, want 2", f.replicas("web"))
	}
	if r := f.poll(); r.Scaled != 0 {
		t.Error("it is scaled again while its pods have not followed")
	}
}

// scaledObject makes a ScaledObject with annotations.
func (f *fixture) scaledObject(name string, annotations map[string]string) {
	f.t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": map[string]any{"name": name}, "spec": map[string]any{}}}
	o.SetAnnotations(annotations)
	if _, err := dyn.Resource(scaledObjects).Namespace(f.namespace).Create(f.t.Context(), o, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) annotations(name string) map[string]string {
	f.t.Helper()
	o, err := dyn.Resource(scaledObjects).Namespace(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return o.GetAnnotations()
}

// TestKEDA: KEDA is paused before its target is scaled to zero and let in again when it is needed; a pause of a person stays, which KubeElasti
// ends with the next look; one that KubeElasti has left ends.
func TestKEDA(t *testing.T) {
	f := newFixture(t, "keda")
	own := map[string]string{"team": "shop"}
	byPerson := map[string]string{annotationPaused: "true", annotationPausedReplicas: "4"}
	byKubeElasti := map[string]string{annotationPaused: "true", annotationPausedReplicas: "0"}
	for name, annotations := range map[string]map[string]string{"web": own, "person": byPerson, "left": byKubeElasti} {
		f.scaledObject(name, annotations)
		f.create(name, 3, "0", func(s *elastiv1alpha1.ElastiServiceSpec) {
			s.Autoscaler = &elastiv1alpha1.AutoscalerSpec{Type: elastiv1alpha1.AutoscalerKEDA, Name: name}
		})
	}
	f.poll()
	paused := map[string]string{"team": "shop", annotationPaused: "true", annotationPausedReplicas: "0", annotationPausedBy: "web"}
	for name, want := range map[string]map[string]string{"web": paused, "person": byPerson, "left": byKubeElasti} {
		if diff := cmp.Diff(want, f.annotations(name)); diff != "" || f.replicas(name) != 0 {
			t.Errorf("%s at zero (%d): (-want +got):\n%s", name, f.replicas(name), diff)
		}
		f.prom.set(name, "5")
	}
	for range 2 { // with every look at what is needed, too
		f.poll()
		for name, want := range map[string]map[string]string{"web": own, "person": byPerson, "left": nil} {
			if diff := cmp.Diff(want, f.annotations(name)); diff != "" || f.replicas(name) != 2 {
				t.Errorf("%s needed (%d): (-want +got):\n%s", name, f.replicas(name), diff)
			}
		}
	}
}

// TestHPA: a HorizontalPodAutoscaler is not touched, and must be there.
func TestHPA(t *testing.T) {
	f := newFixture(t, "hpa")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 9,
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}}
	hpa, err := client.AutoscalingV2().HorizontalPodAutoscalers(f.namespace).Create(t.Context(), hpa, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.create("web", 3, "0", func(s *elastiv1alpha1.ElastiServiceSpec) {
		s.Autoscaler = &elastiv1alpha1.AutoscalerSpec{Type: elastiv1alpha1.AutoscalerHPA, Name: "web"}
	})
	f.poll()
	after, err := client.AutoscalingV2().HorizontalPodAutoscalers(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || after.ResourceVersion != hpa.ResourceVersion || f.replicas("web") != 0 {
		t.Errorf("%d replicas, the autoscaler was changed: %t (%v)", f.replicas("web"), after.ResourceVersion != hpa.ResourceVersion, err)
	}
}

// TestWake: a request gives the target its minimum at once, and begins the cooldown again, also for who has decided otherwise meanwhile.
func TestWake(t *testing.T) {
	f := newFixture(t, "wake")
	f.create("web", 0, "0", nil)
	f.create("busy", 3, "0", nil)
	name := func(n string) types.NamespacedName { return types.NamespacedName{Namespace: f.namespace, Name: n} }
	if err := f.handler.Wake(t.Context(), name("web")); err != nil || f.replicas("web") != 2 {
		t.Errorf("%d replicas, %v", f.replicas("web"), err)
	}
	release := f.prom.hold("busy")
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		f.poll()
	}()
	// The round waits for the answer that "busy" is not needed. Then somebody asks for it.
	eventually(t, "the trigger to be asked", func() bool { return f.prom.waiting.Load() == 1 })
	if err := f.handler.Wake(t.Context(), name("busy")); err != nil {
		t.Error(err)
	}
	release()
	<-polled
	for n, want := range map[string]int32{"web": 2, "busy": 3} {
		if got := f.replicas(n); got != want {
			t.Errorf("%s was scaled to %d within its cooldown, want %d", n, got, want)
		}
	}
	if err := f.handler.Wake(t.Context(), name("none")); err == nil || err.Error() != "there is no ElastiService wake/none" {
		t.Errorf("one that is not there: %v", err)
	}
	if err := f.handler.Wake(t.Context(), types.NamespacedName{Namespace: "elsewhere", Name: "web"}); err == nil || err.Error() != "namespace elsewhere is not watched: wake is" {
		t.Errorf("one of another namespace: %v", err)
	}
}

// TestMode: serve with a pod that is ready, proxy without one or at zero.
func TestMode(t *testing.T) {
	f := newFixture(t, "mode")
	f.create("web", 2, "5", nil)
	mode := func(value string) string {
		f.prom.set("web", value)
		f.clock.Step(time.Hour)
		f.poll()
		return f.service("web").Status.Mode
	}
	got := []string{mode("5")}
	pod, err := client.CoreV1().Pods(f.namespace).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := client.AppsV1().Deployments(f.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.Status.Replicas = 2
	if _, err := client.AppsV1().Deployments(f.namespace).UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got = append(got, mode("5"))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if _, err := client.CoreV1().Pods(f.namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod in the API server's cache", func() bool {
		list, err := client.CoreV1().Pods(f.namespace).List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		return err == nil && len(list.Items) == 1 && podReady(&list.Items[0])
	})
	got = append(got, mode("5"), mode("0"))
	if diff := cmp.Diff([]string{"proxy", "proxy", "serve", "proxy"}, got); diff != "" {
		t.Errorf("modes without a pod, with one, with one that is ready, at zero (-want +got):\n%s", diff)
	}
}

// TestNamespace: a handler of a namespace leaves others alone; one of all namespaces does not.
func TestNamespace(t *testing.T) {
	a, b := newFixture(t, "watched-a"), newFixture(t, "watched-b")
	a.create("web", 3, "0", nil)
	b.create("web", 3, "0", nil)
	if r := a.poll(); r.Services != 1 || a.replicas("web") != 0 || b.replicas("web") != 3 {
		t.Errorf("%+v: %d and %d replicas", r, a.replicas("web"), b.replicas("web"))
	}
}
