package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/updater/priority"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/limitrange"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote/serve"
)

// world is a namespace with the Deployment web, and an operator whose clock tests move.
type world struct {
	t         *testing.T
	namespace string
	clock     *clocktesting.FakeClock
	source    *source
	operator  *Operator
	reports   []Report
}

func newWorld(t *testing.T, namespace, recommender string, write bool) *world {
	t.Helper()
	w := &world{t: t, namespace: namespace, clock: clocktesting.NewFakeClock(time.Now().Add(time.Hour).Truncate(time.Second))}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.start(recommender, write)
	return w
}

// start is a new process.
func (w *world) start(recommender string, write bool) {
	w.t.Helper()
	spec, err := vertical.Parse(recommender)
	if err != nil {
		w.t.Fatal(err)
	}
	w.source = &source{}
	w.operator, err = New(Options{Config: cluster, Namespace: w.namespace, Recommender: spec, Source: w.source, Clock: w.clock, Write: write,
		Report: func(r Report) { w.reports = append(w.reports, r) }})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) vpa(change func(*vpav1.VerticalPodAutoscaler)) {
	w.t.Helper()
	v := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: vpav1.VerticalPodAutoscalerSpec{
		TargetRef:    &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		Recommenders: []*vpav1.VerticalPodAutoscalerRecommenderSelector{{Name: Name}}}}
	if change != nil {
		change(v)
	}
	if _, err := vpas.AutoscalingV1().VerticalPodAutoscalers(w.namespace).Create(w.t.Context(), v, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(name string) *vpav1.VerticalPodAutoscaler {
	w.t.Helper()
	v, err := vpas.AutoscalingV1().VerticalPodAutoscalers(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// pod makes a running pod of web that requests so much; change, if any, is made to its status.
func (w *world) pod(name, cpu, memory string, change func(*corev1.PodStatus)) *corev1.Pod {
	w.t.Helper()
	pods := client.CoreV1().Pods(w.namespace)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}}}}}}
	made, err := pods.Create(w.t.Context(), p, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	made.Status.Phase = corev1.PodRunning
	made.Status.StartTime = &metav1.Time{Time: w.clock.Now().Add(-24 * time.Hour)}
	if change != nil {
		change(&made.Status)
	}
	if made, err = pods.UpdateStatus(w.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return made
}

// uses adds n samples of a pod, a minute apart.
func (w *world) uses(pod string, n int, cpu, memory int64) {
	for i := range n {
		at := w.clock.Now().Add(time.Duration(i+1) * time.Minute)
		w.source.list = append(w.source.list, Usage{w.namespace, vertical.Sample{At: at, Pod: pod, Container: "c", Usage: vertical.Amount{CPUMilli: cpu, MemoryBytes: memory}}})
	}
}

func (w *world) round() Round {
	w.t.Helper()
	r, err := w.operator.Round(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// condition is "True", "False" or "" where it is not there.
func condition(v *vpav1.VerticalPodAutoscaler, kind vpav1.VerticalPodAutoscalerConditionType) corev1.ConditionStatus {
	for _, c := range v.Status.Conditions {
		if c.Type == kind {
			return c.Status
		}
	}
	return ""
}

// TestElsewhere: what a recommender elsewhere says is written; where nobody answers, that is said of the VPA, whose status and checkpoint stay, and a new
// process waits with the checkpoint until somebody does.
func TestElsewhere(t *testing.T) {
	spec, err := vertical.Parse("max-usage:margin=0")
	if err != nil {
		t.Fatal(err)
	}
	api, err := serve.New(serve.Options{Recommender: spec})
	if err != nil {
		t.Fatal(err)
	}
	down := false
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if down {
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(rw, r)
	}))
	defer server.Close()
	w := newWorld(t, "elsewhere", "url:"+server.URL, true)
	w.vpa(nil)
	w.pod("a", "1", "1Gi", nil)
	w.uses("a", 5, 700, 300<<20)
	w.clock.Step(10 * time.Minute)
	if r := w.round(); r != (Round{VPAs: 1, Samples: 5, Written: 1}) {
		t.Fatalf("%+v", r)
	}
	target := func() int64 {
		return w.read("web").Status.Recommendation.ContainerRecommendations[0].Target.Cpu().MilliValue()
	}
	if got := target(); got != 700 {
		t.Errorf("%d millicores were written", got)
	}
	if err := w.operator.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	down = true
	w.uses("a", 5, 900, 300<<20)
	w.clock.Step(6 * time.Minute) // checkpoints are not due
	if r := w.round(); r != (Round{VPAs: 1, Samples: 5, Failed: 1}) {
		t.Errorf("%+v", r)
	}
	if last := w.reports[len(w.reports)-1]; last.Err == nil || !strings.Contains(last.Err.Error(), "recommender at "+server.URL) || target() != 700 {
		t.Errorf("reported %v, %d millicores are written", last.Err, target())
	}
	server.Close()
	w.start("url:"+server.URL, true)
	if _, err := w.operator.Round(t.Context()); err == nil || !strings.Contains(err.Error(), "checkpoint of VerticalPodAutoscaler elsewhere/web: recommender at "+server.URL+": no answer") {
		t.Errorf("a new process: %v", err)
	}
}

// TestWhatUpstreamsUpdaterReads: upstream's updater finds, by the status that was written, the pods that request too little, before those that
// request too much, and no others; and the status is what upstream's recommender would write, as the recommender fed by hand gives it.
func TestWhatUpstreamsUpdaterReads(t *testing.T) {
	w := newWorld(t, "updater", "vpa", true)
	w.vpa(nil)
	var pods []*corev1.Pod
	for _, p := range []struct{ name, cpu, memory string }{{"good", "600m", "750Mi"}, {"small", "10m", "10Mi"}, {"huge", "50", "100Gi"}} {
		pods = append(pods, w.pod(p.name, p.cpu, p.memory, nil))
	}
	spec, err := vertical.Parse("vpa")
	if err != nil {
		t.Fatal(err)
	}
	byHand, err := spec.Maker(vertical.Workload{Namespace: "updater", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	const days = 8 // so that bounds are narrow
	w.uses("good", days*24*60, 500, 600<<20)
	for _, u := range w.source.list {
		if err := byHand.Observe(u.Sample); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.Step(days * 24 * time.Hour)
	if r := w.round(); r != (Round{VPAs: 1, Samples: days * 24 * 60, Written: 1}) {
		t.Errorf("%+v", r)
	}
	v := w.read("web")
	want, err := byHand.Recommend(t.Context(), w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, vertical.FromStatus(v.Status.Recommendation)); diff != "" {
		t.Errorf("(-by hand +written):\n%s", diff)
	}
	if condition(v, vpav1.RecommendationProvided) != corev1.ConditionTrue || condition(v, vpav1.NoPodsMatched) != "" || condition(v, vpav1.ConfigUnsupported) != "" {
		t.Errorf("conditions %+v", v.Status.Conditions)
	}
	calculator := priority.NewUpdatePriorityCalculator(v, priority.UpdateConfig{MinChangePriority: 0.1},
		vpautil.NewCappingRecommendationProcessor(limitrange.NewNoopLimitsCalculator()), priority.NewProcessor())
	for _, p := range pods {
		calculator.AddPod(p, w.clock.Now(), nil)
	}
	var got []string
	for _, p := range calculator.GetSortedPods(priority.NewDefaultPodEvictionAdmission()) {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"small", "huge"}, got); diff != "" {
		t.Errorf("pods to update (-want +got):\n%s\n%+v", diff, v.Status.Recommendation)
	}
	if r := w.round(); r.Written != 0 {
		t.Errorf("what has not changed is written again: %+v", r)
	}
}

// TestDry: without Write, everything is reported and nothing is written.
func TestDry(t *testing.T) {
	w := newWorld(t, "dry", "vpa", false)
	off := vpav1.UpdateModeOff
	w.vpa(func(v *vpav1.VerticalPodAutoscaler) { v.Spec.UpdatePolicy = &vpav1.PodUpdatePolicy{UpdateMode: &off} })
	w.pod("a", "1", "1Gi", nil)
	w.uses("a", 10, 300, 1<<30)
	w.clock.Step(time.Hour)
	w.round()
	if err := w.operator.End(t.Context()); err != nil {
		t.Error(err)
	}
	if len(w.reports) != 1 || w.reports[0].Written || w.reports[0].Mode != off || w.reports[0].Pods != 1 || len(w.reports[0].Status.Recommendation.ContainerRecommendations) != 1 {
		t.Errorf("%+v", w.reports)
	}
	if v := w.read("web"); v.Status.Recommendation != nil || len(v.Status.Conditions) != 0 {
		t.Errorf("written: %+v", v.Status)
	}
	list, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints("dry").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("checkpoints %+v, %v", list.Items, err)
	}
}

// TestWhichVPAs: those that name it, and those alone.
func TestWhichVPAs(t *testing.T) {
	w := newWorld(t, "which", "vpa", true)
	w.vpa(nil)
	w.vpa(func(v *vpav1.VerticalPodAutoscaler) { v.Name, v.Spec.Recommenders = "upstreams", nil })
	w.vpa(func(v *vpav1.VerticalPodAutoscaler) { v.Name, v.Spec.Recommenders[0].Name = "anothers", "another" })
	if r := w.round(); r.VPAs != 1 {
		t.Errorf("%+v", r)
	}
	if got := w.reports[0].Name; got != "web" {
		t.Error(got)
	}
	w.operator.options.Name = "default"
	w.reports = nil
	if r := w.round(); r.VPAs != 1 || w.reports[0].Name != "upstreams" {
		t.Errorf("as upstream's own: %+v %+v", r, w.reports)
	}
}

// TestConditions: no pods, no target, a target with a parent, each in the status of its VPA; and they end.
func TestConditions(t *testing.T) {
	w := newWorld(t, "conditions", "vpa", true)
	w.vpa(nil)
	for name, ref := range map[string]autoscalingv1.CrossVersionObjectReference{
		"absent":  {APIVersion: "apps/v1", Kind: "Deployment", Name: "absent"},
		"unknown": {APIVersion: "example.com/v1", Kind: "Widget", Name: "w"},
		"scale":   {APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt"},
		"child":   {APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "child"},
	} {
		w.vpa(func(v *vpav1.VerticalPodAutoscaler) { v.Name, v.Spec.TargetRef = name, &ref })
	}
	labels := map[string]string{"app": "child"}
	child := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "child", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "u", Controller: new(true)}}},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	if _, err := client.AppsV1().ReplicaSets("conditions").Create(t.Context(), child, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if r := w.round(); r.VPAs != 5 || r.Failed != 0 || r.Written != 5 {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]string{"absent": "does not exist", "unknown": "does not serve Widget", "scale": "cannot be scaled", "child": "is controlled by Deployment web"} {
		v := w.read(name)
		if condition(v, vpav1.ConfigUnsupported) != corev1.ConditionTrue || condition(v, vpav1.NoPodsMatched) != corev1.ConditionTrue {
			t.Errorf("%s: %+v", name, v.Status.Conditions)
		}
		if text := fmt.Sprint(v.Status.Conditions); !strings.Contains(text, want) {
			t.Errorf("%s: want %q in %s", name, want, text)
		}
	}
	v := w.read("web")
	if condition(v, vpav1.RecommendationProvided) != corev1.ConditionFalse || condition(v, vpav1.NoPodsMatched) != corev1.ConditionTrue || condition(v, vpav1.ConfigUnsupported) != "" {
		t.Errorf("without pods: %+v", v.Status.Conditions)
	}
	absent := w.read("absent")
	absent.Spec.TargetRef.Name = "web"
	if _, err := vpas.AutoscalingV1().VerticalPodAutoscalers("conditions").Update(t.Context(), absent, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.pod("a", "1", "1Gi", nil)
	w.uses("a", 1, 300, 1<<30)
	w.clock.Step(time.Hour)
	w.round()
	for _, name := range []string{"web", "absent"} {
		if v := w.read(name); condition(v, vpav1.RecommendationProvided) != corev1.ConditionTrue || condition(v, vpav1.NoPodsMatched) != "" || condition(v, vpav1.ConfigUnsupported) != "" {
			t.Errorf("%s: %+v", name, v.Status.Conditions)
		}
	}
}

// TestPolicies: of every recommender, what is written is within the policies of the VPA, also after they change, with the target before them.
func TestPolicies(t *testing.T) {
	for i, recommender := range []string{"vpa", "max-usage"} {
		w := newWorld(t, fmt.Sprint("policies-", i), recommender, true)
		most := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
		w.vpa(func(v *vpav1.VerticalPodAutoscaler) {
			v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{{ContainerName: "c", MaxAllowed: most}}}
		})
		w.pod("a", "1", "1Gi", nil)
		w.uses("a", 10, 400, 1<<30)
		w.clock.Step(time.Hour)
		w.round()
		v := w.read("web")
		c := v.Status.Recommendation.ContainerRecommendations[0]
		if c.Target.Cpu().MilliValue() != 100 || c.UncappedTarget.Cpu().MilliValue() < 400 || c.Target.Memory().Value() < 1<<30 {
			t.Errorf("%s: %+v", recommender, c)
		}
		v.Spec.ResourcePolicy.ContainerPolicies[0].MaxAllowed[corev1.ResourceCPU] = resource.MustParse("200m")
		if _, err := vpas.AutoscalingV1().VerticalPodAutoscalers(w.namespace).Update(t.Context(), v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.round()
		v = w.read("web")
		if c := v.Status.Recommendation.ContainerRecommendations[0]; c.Target.Cpu().MilliValue() != 200 || *v.Status.ObservedGeneration != v.Generation {
			t.Errorf("%s: after the change: %+v", recommender, c)
		}
		off := vpav1.ContainerScalingModeOff
		v.Spec.ResourcePolicy.ContainerPolicies[0] = vpav1.ContainerResourcePolicy{ContainerName: "c", Mode: &off}
		if _, err := vpas.AutoscalingV1().VerticalPodAutoscalers(w.namespace).Update(t.Context(), v, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.round()
		if v := w.read("web"); v.Status.Recommendation != nil && len(v.Status.Recommendation.ContainerRecommendations) > 0 {
			t.Errorf("%s: of a container that is off: %+v", recommender, v.Status.Recommendation)
		}
	}
}

// TestCheckpoints: another process goes on with what the first has seen, of upstream's own checkpoints and of a rule; a broken one begins again;
// before it has seen anything, what is in the status stays.
func TestCheckpoints(t *testing.T) {
	for i, recommender := range []string{"vpa", "max-usage"} {
		w := newWorld(t, fmt.Sprint("checkpoints-", i), recommender, true)
		w.vpa(nil)
		w.pod("a", "1", "1Gi", nil)
		w.uses("a", 3*24*60, 700, 3<<30)
		w.clock.Step(4 * 24 * time.Hour)
		w.round()
		w.round()
		before := vertical.FromStatus(w.read("web").Status.Recommendation)
		if err := w.operator.End(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints(w.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].OwnerReferences[0].Name != "web" {
			t.Fatalf("%s: %+v, %v", recommender, list, err)
		}
		w.start(recommender, true)
		w.uses("a", 1, 1, 1<<20) // as good as nothing: what it recommends is from before
		w.clock.Step(time.Minute)
		w.round()
		after := vertical.FromStatus(w.read("web").Status.Recommendation)
		near := func(a, b int64) bool { return a > b*9/10 && a < b*11/10 } // checkpoints round weights
		if len(after) != 1 || !near(after[0].Target.CPUMilli, before[0].Target.CPUMilli) || !near(after[0].Target.MemoryBytes, before[0].Target.MemoryBytes) {
			t.Errorf("%s: %+v, then %+v", recommender, before, after)
		}
		c := list.Items[0]
		patch := `{"metadata": {"annotations": {"` + stateAnnotation + `": "H4sI broken"}}, "status": {"version": "another"}}`
		if _, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints(w.namespace).Patch(t.Context(), c.Name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		w.start(recommender, true)
		w.round()
		if diff := cmp.Diff(after, vertical.FromStatus(w.read("web").Status.Recommendation)); diff != "" {
			t.Errorf("%s: without samples, the status has changed (-was +is):\n%s", recommender, diff)
		}
		w.uses("a", 1, 20, 1<<20)
		w.clock.Step(time.Minute)
		w.round()
		if now := vertical.FromStatus(w.read("web").Status.Recommendation); now[0].Target.CPUMilli > before[0].Target.CPUMilli/2 {
			t.Errorf("%s: a broken checkpoint was loaded: %+v", recommender, now)
		}
	}
}

// TestOOM: a container that ran out of memory is recommended more than it requested, counted once.
func TestOOM(t *testing.T) {
	w := newWorld(t, "oom", "max-usage", true)
	w.vpa(nil)
	w.clock.Step(time.Hour)
	killed := metav1.NewTime(w.clock.Now())
	w.pod("a", "1", "1Gi", func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", RestartCount: 1, Image: "i", LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137, FinishedAt: killed}}}}
	})
	w.uses("a", 1, 100, 1<<20)
	w.round()
	first := w.read("web").Status.Recommendation.ContainerRecommendations[0].Target.Memory().Value()
	if first < 1<<30+100<<20 {
		t.Errorf("%d bytes", first)
	}
	w.clock.Step(time.Minute)
	w.round()
	if again := w.read("web").Status.Recommendation.ContainerRecommendations[0].Target.Memory().Value(); again != first {
		t.Errorf("counted twice: %d, then %d", first, again)
	}
}

// TestErrors: what stops a round, and what does not.
func TestErrors(t *testing.T) {
	if undefined == nil || !strings.Contains(undefined.Error(), "apply upstream's definition") {
		t.Errorf("without the definition: %v", undefined)
	}
	w := newWorld(t, "errors", "vpa", true)
	w.vpa(nil)
	w.source.err = errors.New("no metrics")
	if _, err := w.operator.Round(t.Context()); err == nil || !strings.Contains(err.Error(), "no metrics") {
		t.Error(err)
	}
	if v := w.read("web"); len(v.Status.Conditions) != 0 {
		t.Errorf("a status was written without usage: %+v", v.Status)
	}
	w.source.err = nil
	w.operator.fence.Set(func() error { return leader.ErrDeposed })
	if r := w.round(); r.Failed != 1 || !errors.Is(w.reports[0].Err, leader.ErrDeposed) || len(w.read("web").Status.Conditions) != 0 {
		t.Errorf("who is deposed writes: %+v %+v", r, w.reports)
	}
}

// TestRun: rounds until the context ends, one process at a time.
func TestRun(t *testing.T) {
	w := newWorld(t, "run", "vpa", true)
	w.vpa(nil)
	w.pod("a", "1", "1Gi", nil)
	w.uses("a", 10, 300, 1<<30)
	w.clock.Step(time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	reported := make(chan Report, 1)
	w.operator.options.Report = func(r Report) { reported <- r }
	w.operator.options.Election = &leader.Election{Namespace: "run", Name: Name, Identity: "me"}
	ended := make(chan error, 1)
	go func() { ended <- w.operator.Run(ctx) }()
	if r := <-reported; !r.Written || r.Err != nil {
		t.Errorf("%+v", r)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	list, err := vpas.AutoscalingV1().VerticalPodAutoscalerCheckpoints("run").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("checkpoints at the end: %+v, %v", list.Items, err)
	}
	lease, err := client.CoordinationV1().Leases("run").Get(t.Context(), Name, metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "" {
		t.Errorf("the lease is not given back: %+v, %v", lease, err)
	}
}
