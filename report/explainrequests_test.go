package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
)

// sizedWeb is a replay in which the requests of web are set: recommended 25m at 1 m, evicted at 2 m after 93m was recommended, resized at 3 m.
func sizedWeb(t *testing.T) *scalehist.ReplayReport {
	t.Helper()
	r, err := Read(filepath.Join("testdata", "explain", "hpa60.json"))
	if err != nil {
		t.Fatal(err)
	}
	w, err := FindWorkload(r, "web")
	if err != nil {
		t.Fatal(err)
	}
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("511772986")}
	}
	decides := func(at time.Duration, action scalehist.ResizeAction, pod, from, to string) {
		c := scalehist.ContainerResize{Name: "app", To: list(to)}
		if from != "" {
			c.From = list(from)
		}
		s := scalehist.WorkloadResize{Workload: w.WorkloadRef, By: "VerticalPodAutoscaler/default/web", Action: action, Pod: pod, Containers: []scalehist.ContainerResize{c}}
		if pod != "" {
			s.Reason = "outside the recommended range"
		} else {
			s.Containers[0].Lower, s.Containers[0].Upper = list("20m"), corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100G"), corev1.ResourceMemory: resource.MustParse("1Gi")}
		}
		r.WorkloadDecisions = append(r.WorkloadDecisions, scalehist.WorkloadDecision{At: r.StartTime.Add(at), Controller: "vpa", Resizes: []scalehist.WorkloadResize{s}})
	}
	w.SizedBy, w.Controller = "vpa", ""
	w.Requests = []scalehist.RequestsAt{{CPU: 14.4, Memory: 32 << 30}, {Offset: scalehist.Duration(2 * time.Minute), CPU: 1.5, Memory: 8 << 30}}
	w.Containers = []scalehist.ContainerRequests{{Name: "app", Requests: []scalehist.RequestsAt{{CPU: 0.9, Memory: 2 << 30}, {Offset: scalehist.Duration(2 * time.Minute), CPU: 0.093, Memory: 511772986}}}}
	r.WorkloadDecisions = nil
	decides(time.Minute, scalehist.Recommended, "", "", "25m")
	decides(2*time.Minute-time.Second, scalehist.Recommended, "", "25m", "93m")
	decides(2*time.Minute, scalehist.Evicted, "web-1", "900m", "93m")
	decides(3*time.Minute, scalehist.Resized, "web-1", "93m", "110m")
	pod := "default/web-1"
	r.Batches = []scalehist.Batch{
		{At: r.StartTime, DeployedPods: []scalehist.DeployedPod{{Namespace: "default", Name: "web-1", CreatedAt: r.StartTime, NodeName: "std-0", Requests: map[string]string{"cpu": "900m", "memory": "2Gi"}}}},
		{At: r.StartTime.Add(2 * time.Minute), Returned: []string{pod}, Placed: []scalehist.Placement{{Pod: pod, Node: "std-0"}}, Resized: []scalehist.PodResize{{Pod: pod, Requests: map[string]string{"cpu": "93m", "memory": "511772986"}}}},
		{At: r.StartTime.Add(3 * time.Minute), Resized: []scalehist.PodResize{{Pod: pod, Requests: map[string]string{"cpu": "110m", "memory": "511772986"}}}},
		{At: r.StartTime.Add(4 * time.Minute), Resized: []scalehist.PodResize{{Pod: "default/other", Requests: map[string]string{"cpu": "1"}}}},
	}
	return r
}

// TestExplainRequests: why a pod asks for what it does, and a workload, in sentences that leave out what does not change.
func TestExplainRequests(t *testing.T) {
	r := sizedWeb(t)
	at := func(d time.Duration) *time.Time {
		t := r.StartTime.Add(d)
		return &t
	}
	for name, tt := range map[string]struct {
		explain func() (*Explanation, error)
		want    []string
		not     []string
	}{
		"pod": {func() (*Explanation, error) { return ExplainPod(r, "web-1") }, []string{
			"+2m0s       It lost its node and was pending again: vpa evicted it; outside the recommended range; app cpu: 93m, was 900m.",
			"+2m0s       It asks for cpu 93m, memory 488Mi from now on, was cpu 900m, memory 2Gi: vpa for VerticalPodAutoscaler/default/web recommends that since +1m59s.",
			"+3m0s       It asks for cpu 110m, memory 488Mi from now on, was cpu 93m, memory 488Mi: vpa resized it in place; outside the recommended range; app cpu: 110m, was 93m.",
		}, []string{"default/other"}},
		"workload": {func() (*Explanation, error) { return ExplainWorkload(r, "web", nil) }, []string{
			"+0s         It begins with 16 wanted; nobody scales it",
			"+1m0s       vpa for VerticalPodAutoscaler/default/web recommends app cpu: 25m; left alone from 20m on; app memory: 488Mi; left alone from 488Mi to 1Gi.",
			"+1m59s      vpa for VerticalPodAutoscaler/default/web recommends app cpu: 93m, was 25m; left alone from 20m on.",
			"+2m0s       vpa for VerticalPodAutoscaler/default/web evicts web-1; outside the recommended range; app cpu: 93m, was 900m.",
			"Its pods ask for cpu 1500m, memory 8192Mi together; container app of each for cpu 93m, memory 488Mi at most; vpa sets that.",
		}, []string{"vpa scales it", "was 488Mi", "was 511772986"}},
		"workload at an instant": {func() (*Explanation, error) { return ExplainWorkload(r, "web", at(150*time.Second)) }, []string{
			"+1m59s      vpa for VerticalPodAutoscaler/default/web recommends app cpu: 93m", "+2m0s       vpa for VerticalPodAutoscaler/default/web evicts web-1",
			"+2m30s      It has 16 wanted", "+2m30s      Its pods ask for cpu 1500m",
		}, []string{"+1m0s ", "+3m0s "}},
		"before anything": {func() (*Explanation, error) { return ExplainWorkload(r, "web", at(30*time.Second)) }, []string{"+30s        Its pods ask for cpu 14400m, memory 32768Mi together"}, []string{"recommends"}},
	} {
		e, err := tt.explain()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := e.String()
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
		for _, not := range tt.not {
			if strings.Contains(text, not) {
				t.Errorf("%s has %q:\n%s", name, not, text)
			}
		}
	}
}

// TestResizeLines: a decision that changes nothing shows all it is about.
func TestResizeLines(t *testing.T) {
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("20Gi")}
	s := scalehist.WorkloadResize{Containers: []scalehist.ContainerResize{{Name: "app", From: list, To: list}}}
	if got := strings.Join(resizeLines(&s), "\n"); got != "app cpu: 1\napp memory: 20Gi" {
		t.Errorf("%s", got)
	}
}
