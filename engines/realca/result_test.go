package realca

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/truth"
)

func testRun(sizes [][2]float64) *truth.Run {
	return &truth.Run{
		Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), DurationSeconds: 60, Loops: []float64{10, 20, 30},
		TargetSizes: map[string][][2]float64{"a": sizes, "b": {{0, 1}}},
		ScaledUp:    map[string]int{"a": 2, "b": 0}, ScaledDown: map[string]int{"a": 1, "b": 0}, FinalSizes: map[string]int{"a": 2, "b": 1},
		UnschedulableAtEnd: []string{},
	}
}

func TestTruthOfRuns(t *testing.T) {
	one := testRun([][2]float64{{0, 1}, {10.5, 2}, {10.6, 3}, {20.1, 2}})
	two := testRun([][2]float64{{0, 1}, {11.5, 3}, {30.1, 2}})
	s := &Scenario{Name: "x", Groups: []Group{
		{NodeGroup: scalehist.NodeGroup{Name: "a", MaxSize: 3, TargetSize: 1}, Delay: 20 * time.Second, StockOuts: [][2]time.Duration{{0, time.Minute}}},
		{NodeGroup: scalehist.NodeGroup{Name: "b", MaxSize: 1, TargetSize: 1}},
	}}
	f := truthOf(s, Options{Flags: []string{"--expander=most-pods"}}, []*truth.Run{one, two})
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := truth.Parse(b)
	if err != nil {
		t.Fatalf("the harness cannot read it: %v", err)
	}
	wantSteps := []truth.Step{{At: 10.5, Sizes: map[string][2]int{"a": {1, 3}}}, {At: 20.1, Sizes: map[string][2]int{"a": {3, 2}}}}
	if d := cmp.Diff(wantSteps, got.FirstStepsInAllRuns); d != "" {
		t.Errorf("steps in all runs (-want +got):\n%s", d)
	}
	if got.SameSizeHistoryInAllRuns || len(got.Outcomes) != 1 {
		t.Errorf("same size history: %v, outcomes: %v", got.SameSizeHistoryInAllRuns, got.Outcomes)
	}
	if d := cmp.Diff([][2]float64{{0, 60}}, got.NodeGroups[0].StockOutSeconds); d != "" {
		t.Errorf("stock-outs (-want +got):\n%s", d)
	}
}

func TestFlagsOfTheCommandLineWin(t *testing.T) {
	s := &Scenario{Flags: []string{"--expander=least-waste", "--nodes=1:8:a", "--nodes=0:4:b"}}
	got := inForce(s, Options{Flags: []string{"--expander=random"}})
	want := []string{"--cloud-provider=externalgrpc", "--leader-elect=false", "--nodes=1:8:a", "--nodes=0:4:b", "--expander=random"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestBudgetStatus(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase, leaving bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase}}
		if leaving {
			now := metav1.Now()
			p.DeletionTimestamp = &now
		}
		return p
	}
	pods := []*corev1.Pod{
		pod("a", corev1.PodRunning, false), pod("b", corev1.PodRunning, false), pod("c", corev1.PodPending, false),
		pod("d", corev1.PodRunning, true), pod("e", corev1.PodRunning, false), pod("f", corev1.PodSucceeded, false),
	}
	least := intstr.FromString("50%")
	b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &least}}
	b.Generation = 3
	granted := metav1.Now()
	b.Status.DisruptedPods = map[string]metav1.Time{"e": granted, "gone": granted}
	want := policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: 3, ExpectedPods: 4, CurrentHealthy: 2, DesiredHealthy: 2, DisruptionsAllowed: 0, DisruptedPods: map[string]metav1.Time{"e": granted},
	}
	if d := cmp.Diff(want, budgetStatus(b, pods)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
