package contract

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

func placesPodsInOrder(s *suite) {
	s.add(node("n-0", 4), pod("a", 2), pod("b", 2))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("a", "n-0"), binding("b", "n-0")}})
	s.equal("placements", []string{"a n-0", "b n-0"}, s.placements())
	c := scheduledCondition(s.pod(namespace, "a"))
	if c == nil || c.Status != corev1.ConditionTrue || !c.LastTransitionTime.Time.Equal(s.now) {
		s.t.Errorf("PodScheduled of a bound pod is %v, want True at %s", c, s.now)
	}
	s.wantSettled(kvcl.Settled{})
}

func saysWhy(s *suite) {
	s.add(node("n-0", 1), node("n-1", 1), pod("big", 4))
	want := noFit(2, "2 Insufficient cpu")
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{{Pod: id("big"), Message: want}}})
	first := s.now
	c := scheduledCondition(s.pod(namespace, "big"))
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable || c.Message != want || !c.LastTransitionTime.Time.Equal(first) {
		s.t.Fatalf("PodScheduled is %v, want False, Unschedulable, %q since %s", c, want, first)
	}
	// A later message replaces the first; the time since when stays.
	s.add(node("n-2", 8, tainted("reserved")))
	later := noFit(3, "1 node(s) had untolerated taint(s), 2 Insufficient cpu")
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{{Pod: id("big"), Message: later}}})
	c = scheduledCondition(s.pod(namespace, "big"))
	if c == nil || c.Message != later || !c.LastTransitionTime.Time.Equal(first) {
		s.t.Errorf("PodScheduled is %v, want %q since %s", c, later, first)
	}
}

func scalesFromZero(s *suite) {
	s.add(pod("a", 1), pod("b", 1))
	const none = "0/0 nodes are available: no nodes available to schedule pods."
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{{Pod: id("a"), Message: none}, {Pod: id("b"), Message: none}}})
	s.add(node("n-0", 1))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("a", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("b"), Message: noVictims(1, "1 Insufficient cpu")}},
	})
}

// noVictims is upstream's message when there is nobody of lower priority on a node that is full.
func noVictims(nodes int, reason string) string {
	return fmt.Sprintf("0/%d nodes are available: %s. no new claims to deallocate, preemption: 0/%d nodes are available: %d No preemption victims found for incoming pod.",
		nodes, reason, nodes, nodes)
}

func retriesWhenANodeJoins(s *suite) {
	s.add(node("n-0", 1), pod("a", 1), pod("b", 1), pod("c", 1))
	s.settle()
	s.equal("placements", []string{"a n-0", "b -", "c -"}, s.placements())
	s.add(node("n-1", 2))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("b", "n-1"), binding("c", "n-1")}})
	// A pod that leaves makes room as well.
	s.add(pod("d", 1))
	s.settle()
	s.apply(scalehist.OpDelete, pod("a", 1))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("d", "n-0")}})
}

func triesOnce(s *suite) {
	s.add(node("n-0", 1), pod("big", 4))
	s.settle()
	s.wantSettled(kvcl.Settled{})
	s.add(node("n-1", 1)) // fits no better: the queueing hint of NodeResourcesFit says so
	s.wantSettled(kvcl.Settled{})
}

func keepsGatedPodsOut(s *suite) {
	gated := pod("gated", 1, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}} })
	s.add(node("n-0", 4), gated, pod("free", 1))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("free", "n-0")}})
	c := scheduledCondition(s.pod(namespace, "gated"))
	if c == nil || c.Reason != corev1.PodReasonSchedulingGated {
		s.t.Errorf("PodScheduled of the gated pod is %v, want reason SchedulingGated", c)
	}
	s.apply(scalehist.OpUpdate, pod("gated", 1))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("gated", "n-0")}})
}

func schedulesByPriority(s *suite) {
	s.add(pod("low", 1, withPriority(1)), pod("mid", 1, withPriority(5)), pod("high", 1, withPriority(10)), node("n-0", 2))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("high", "n-0"), binding("mid", "n-0")}, got.Bindings)
	if len(got.Unschedulable) != 1 || got.Unschedulable[0].Pod != id("low") {
		s.t.Errorf("unschedulable %v, want low", got.Unschedulable)
	}
}

// cordons: an update closes a node to new pods and opens it again; those on it stay.
func cordons(s *suite) {
	n := node("n-0", 4)
	s.add(n, pod("a", 1))
	s.settle()
	n.Spec.Unschedulable = true
	s.apply(scalehist.OpUpdate, n)
	s.add(pod("b", 1))
	s.settle()
	s.equal("placements", []string{"a n-0", "b -"}, s.placements())
	n.Spec.Unschedulable = false
	s.apply(scalehist.OpUpdate, n)
	s.settle()
	s.equal("placements", []string{"a n-0", "b n-0"}, s.placements())
}

func respectsTaints(s *suite) {
	tolerant := pod("tolerant", 1, func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "reserved", Operator: corev1.TolerationOpExists}}
	})
	s.add(node("n-0", 4, tainted("reserved")), pod("plain", 1), tolerant)
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("tolerant", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("plain"), Message: noFit(1, "1 node(s) had untolerated taint(s)")}},
	})
	if err := s.cp.SetTaints(s.t.Context(), "n-0", nil); err != nil {
		s.t.Fatal(err)
	}
	s.equal("taints", []corev1.Taint(nil), s.cp.Objects().Nodes[0].Spec.Taints)
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("plain", "n-0")}})
	if err := s.cp.SetTaints(s.t.Context(), "n-0", []corev1.Taint{taint("again")}); err != nil {
		s.t.Fatal(err)
	}
	s.equal("taints", []corev1.Taint{taint("again")}, s.cp.Objects().Nodes[0].Spec.Taints)
	s.wantError(s.cp.SetTaints(s.t.Context(), "absent", nil), "absent")
}

func spreads(s *suite) {
	s.add(node("n-a", 8, inZone("a")), node("n-b", 8, inZone("b")), node("n-c", 8, inZone("c")))
	for i := range 6 {
		s.add(pod(fmt.Sprintf("web-%d", i), 1, func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			}}
		}))
	}
	s.settle()
	perNode := map[string]int{}
	for _, p := range s.placements() {
		perNode[strings.Fields(p)[1]]++
	}
	s.equal("pods per node", map[string]int{"n-a": 2, "n-b": 2, "n-c": 2}, perNode)
}

func schedulesAThousand(s *suite) {
	var objects []scalehist.Object
	for i := range 20 {
		objects = append(objects, node(fmt.Sprintf("n-%d", i), 50))
	}
	for i := range 1000 {
		objects = append(objects, pod(fmt.Sprintf("p-%d", i), 1))
	}
	s.add(objects...)
	got := s.settle()
	if len(got.Bindings) != 1000 || len(got.Unschedulable) != 0 {
		s.t.Fatalf("%d bound and %d unschedulable, want 1000 and 0", len(got.Bindings), len(got.Unschedulable))
	}
	for i, b := range got.Bindings {
		if want := id(fmt.Sprintf("p-%d", i)); b.Pod != want {
			s.t.Fatalf("binding %d is %s, want %s: queue order is creation order", i, b.Pod, want)
		}
	}
}

func scheduledCondition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}
