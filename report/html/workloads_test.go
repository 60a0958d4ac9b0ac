package html_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/html"
)

// scaled is a replay with a horizontal autoscaler that aims at so many percent.
func scaled(t *testing.T, percent string) *scalehist.ReplayReport {
	t.Helper()
	r, err := report.Read(filepath.Join("..", "testdata", "explain", "hpa"+percent+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decode reads the data of a page into v.
func decode(t *testing.T, page string, v any) {
	t.Helper()
	b, err := json.Marshal(view(t, page))
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestControllersAreInTheOneList: the page's decisions are those of all autoscalers in time order, and replicas are curves.
func TestControllersAreInTheOneList(t *testing.T) {
	type decision struct {
		At       int64
		By       string
		Workload string
		Kind     string
		Scale    *struct {
			From, To int
			Limited  []string
			Metrics  []struct {
				Value, Target string
				Asks          int
			}
		}
	}
	type curve struct {
		T []int64
		V []float64
	}
	var v struct {
		Runs []struct {
			Controllers []string
			Workloads   []struct {
				Name          string
				Wanted, Ready curve
			}
			Decisions []decision
			Metrics   []struct{ Name string }
		}
		Pairs []struct {
			First struct {
				Kind, By string
				A, B     int
			}
		}
	}
	at60, at75 := scaled(t, "60"), scaled(t, "75")
	decode(t, page(t, html.Run{Label: "a", Report: at60}, html.Run{Label: "b", Report: at75}), &v)
	run := v.Runs[0]
	if diff := cmp.Diff([]string{"hpa"}, run.Controllers); diff != "" {
		t.Errorf("controllers (-want +got):\n%s", diff)
	}
	if len(run.Workloads) != 1 || run.Workloads[0].Name != "ReplicaSet/default/web" || run.Workloads[0].Wanted.V[1] != 8 || run.Workloads[0].Ready.V[0] != 1 {
		t.Errorf("workloads %+v; want web alone: nobody scales db", run.Workloads)
	}
	if want := len(at60.Decisions) + len(at60.WorkloadDecisions); len(run.Decisions) != want {
		t.Fatalf("%d decisions, want %d", len(run.Decisions), want)
	}
	for i := 1; i < len(run.Decisions); i++ {
		if run.Decisions[i].At < run.Decisions[i-1].At {
			t.Errorf("decision %d is before the one it follows", i)
		}
	}
	first := v.Pairs[0].First
	a, b := v.Runs[0].Decisions[first.A], v.Runs[1].Decisions[first.B]
	if first.Kind != "action" || first.By != "hpa" || a.Scale == nil || b.Scale == nil || a.Scale.To != 8 || b.Scale.To != 6 || a.Kind != "down" {
		t.Errorf("the runs part at %+v: %+v, %+v", first, a, b)
	}
	if m := a.Scale.Metrics; len(m) != 1 || m[0].Value != "27%" || m[0].Target != "60%" || m[0].Asks != 8 {
		t.Errorf("metrics %+v", m)
	}
}

// TestNodesPartBesideControllers: where nodes part, the numbers are those of the node autoscaler's decisions in the one list, though a
// controller decided something in between.
func TestNodesPartBesideControllers(t *testing.T) {
	a, b := scaled(t, "60"), scaled(t, "60")
	second := slices.IndexFunc(b.Decisions, func(d scalehist.Decision) bool { return d.Acted() && d.ScaleUps[0].NodeGroup == "std" })
	at, before := b.Decisions[second].At, b.Decisions[second-1]
	b.Decisions = slices.DeleteFunc(b.Decisions, func(d scalehist.Decision) bool { return d.At.Equal(at) })
	var v struct {
		Runs []struct {
			Decisions []struct {
				At      int64
				Summary string
			}
		}
		Pairs []struct {
			First struct {
				By   string
				A, B int
			}
		}
	}
	decode(t, page(t, html.Run{Label: "a", Report: a}, html.Run{Label: "b", Report: b}), &v)
	first := v.Pairs[0].First
	type found struct {
		By, A, B string
		At       int64
	}
	got := found{first.By, v.Runs[0].Decisions[first.A].Summary, v.Runs[1].Decisions[first.B].Summary, v.Runs[1].Decisions[first.B].At}
	want := found{"", "ScaleUpSuccessful {std 1->2 (max: 8)}", before.Summary(), before.At.Sub(b.StartTime).Milliseconds()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("where nodes part (-want +got):\n%s", diff)
	}
}

// TestRequestCurves: what pods ask for, use and are recommended over time, with what happened to them; and pods have the size that they have then.
func TestRequestCurves(t *testing.T) {
	r := scaled(t, "60")
	off := func(s int) scalehist.Duration { return scalehist.Duration(time.Duration(s) * time.Second) }
	w := &r.Workloads[slices.IndexFunc(r.Workloads, func(w scalehist.WorkloadResult) bool { return w.Name == "web" })]
	value := 2.5
	w.SizedBy = "vpa"
	w.Requests = []scalehist.RequestsAt{{CPU: 14.4, Memory: 32 << 30}, {Offset: off(60), CPU: 14.4, Memory: 16 << 30}}
	w.Work = []scalehist.WorkResult{{Metric: "cpu", Container: "a", Used: []scalehist.UsedAt{{Value: &value}, {Offset: off(120)}}}, {Metric: "cpu", Container: "b", Used: []scalehist.UsedAt{{Value: &value}}}}
	w.OOMKills = []scalehist.OOMKill{{Offset: off(90)}, {Offset: off(90)}}
	evicts := func(pod, failed string) scalehist.WorkloadResize {
		return scalehist.WorkloadResize{Workload: w.WorkloadRef, Action: scalehist.Evicted, Pod: pod, Error: failed}
	}
	r.WorkloadDecisions = append(r.WorkloadDecisions, scalehist.WorkloadDecision{At: r.StartTime.Add(30 * time.Second), Controller: "vpa", Resizes: []scalehist.WorkloadResize{
		{Workload: w.WorkloadRef, Action: scalehist.Recommended, Containers: []scalehist.ContainerResize{{Name: "a", To: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}}}},
		evicts("web-1", ""), evicts("web-2", ""), evicts("web-3", "a budget"),
	}})
	pod := r.Batches[0].DeployedPods[0]
	r.Batches[0].Resized = []scalehist.PodResize{{Pod: pod.Namespace + "/" + pod.Name, Requests: map[string]string{"cpu": "100m", "memory": "1Gi"}}}
	type curve struct {
		T []int64
		V []float64
	}
	type sized struct {
		Resource     string
		Requested    curve
		Used, Target *curve
	}
	type mark struct {
		At   int64
		Kind string
		Pods int
	}
	var v struct {
		Runs []struct {
			Workloads []struct {
				Sized []sized
				Marks []mark
			}
			Pods    struct{ Name []string }
			Resizes *struct{ Pod, At, CPU, Memory []int64 }
		}
	}
	decode(t, page(t, html.Run{Label: "a", Report: r}), &v)
	got := v.Runs[0].Workloads[0]
	target := got.Sized[0].Target
	got.Sized[0].Target = nil
	want := []sized{
		{Resource: "cpu", Requested: curve{[]int64{0}, []float64{14.4}}, Used: &curve{[]int64{0, 120_000}, []float64{5, -1}}},
		{Resource: "memory", Requested: curve{[]int64{0, 60_000}, []float64{32, 16}}},
	}
	if diff := cmp.Diff(want, got.Sized); diff != "" {
		t.Errorf("curves (-want +got):\n%s", diff)
	}
	if target == nil || target.V[1] != 0.5*float64(report.ReplicasAt(w, 30*time.Second).Ready) {
		t.Errorf("recommended %+v, want half a core for each ready replica", target)
	}
	if diff := cmp.Diff([]mark{{30_000, "evicted", 2}, {90_000, "out of memory", 2}}, got.Marks); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
	z := v.Runs[0].Resizes
	if z == nil || len(z.Pod) != 2 || z.CPU[1] != 100 || z.Memory[1] != 1024 || v.Runs[0].Pods.Name[z.Pod[1]] != pod.Namespace+"/"+pod.Name {
		t.Errorf("resizes %+v, want what the pod asked for, and 100m and 1Gi after that", z)
	}
}
