package contract

import (
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

func preempts(s *suite) {
	s.add(node("n-0", 2), pod("low-0", 1, withPriority(0)), pod("low-1", 1, withPriority(0)))
	s.settle()
	s.add(pod("high", 2, withPriority(100)), pod("never", 2, withPriority(50), func(p *corev1.Pod) {
		p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
	}))
	got := s.settle()
	victims := map[string]bool{}
	for _, v := range got.Victims {
		victims[v.Pod.Name] = true
		if v.Node != "n-0" || v.Preemptor != id("high") {
			s.t.Errorf("victim %v, want one on n-0 for default/high", v)
		}
	}
	s.equal("victims", map[string]bool{"low-0": true, "low-1": true}, victims)
	s.equal("placements", []string{"low-0 n-0", "low-1 n-0", "high -", "never -"}, s.placements())
	s.stopped(got.Victims)
	got = s.settle()
	s.equal("bindings", []kvcl.Binding{binding("high", "n-0")}, got.Bindings)
	if len(got.Unschedulable) != 1 || got.Unschedulable[0].Pod != id("never") {
		s.t.Errorf("unschedulable %v, want never", got.Unschedulable)
	}
	s.equal("placements", []string{"high n-0", "never -"}, s.placements())
}

// stopped is what kubelets do with victims in the end: the API server removes them.
func (s *suite) stopped(victims []kvcl.Victim) {
	s.t.Helper()
	for _, v := range victims {
		s.apply(scalehist.OpDelete, s.pod(v.Pod.Namespace, v.Pod.Name))
	}
}

// wantPreempted: at the next settle these are the victims, in this order, and nobody gets their room; once they have stopped, the one
// after it comes to what is wanted.
func (s *suite) wantPreempted(victims []kvcl.Victim, want kvcl.Settled) {
	s.t.Helper()
	got := s.settle()
	s.equal("victims", victims, got.Victims)
	for _, b := range got.Bindings {
		s.t.Errorf("%s got node %s while victims terminate", b.Pod, b.Node)
	}
	s.stopped(got.Victims)
	s.wantSettled(want)
}

// preemptsTheYoungest: all else equal, the node whose victims started last is chosen, by recorded time.
func preemptsTheYoungest(s *suite) {
	started := func(node string, at time.Time) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			running(node)(p)
			p.Status.StartTime = ptr.To(metav1.NewTime(at))
		}
	}
	s.add(node("n-0", 1), node("n-1", 1), node("n-2", 1),
		pod("old", 1, withPriority(0), started("n-0", Now.Add(-3*time.Hour))),
		pod("young", 1, withPriority(0), started("n-1", Now.Add(-time.Hour))),
		pod("older", 1, withPriority(0), started("n-2", Now.Add(-5*time.Hour))))
	s.settle()
	s.add(pod("high", 1, withPriority(100)))
	s.wantPreempted([]kvcl.Victim{victim("young", "n-1")}, kvcl.Settled{Bindings: []kvcl.Binding{binding("high", "n-1")}})
}

func evicts(s *suite) {
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2},
	}
	s.add(node("n-0", 4), pdb, pod("a", 1, running("n-0")), pod("b", 1, running("n-0")))
	s.settle()
	if got := s.cp.Objects().PodDisruptionBudgets[0].Status.DisruptionsAllowed; got != 1 {
		s.t.Fatalf("disruptions allowed %d, want 1: status is kept", got)
	}
	if err := s.cp.Evict(s.t.Context(), namespace, "a"); err != nil {
		s.t.Fatal(err)
	}
	s.equal("placements", []string{"b n-0"}, s.placements())
	if got := s.cp.Objects().PodDisruptionBudgets[0].Status.DisruptionsAllowed; got != 0 {
		s.t.Errorf("disruptions allowed %d after an eviction, want 0", got)
	}
	err := s.cp.Evict(s.t.Context(), namespace, "b")
	s.wantError(err, "default/b", "web")
	if !errors.Is(err, kvcl.ErrEvictionRefused) {
		s.t.Errorf("error %v is not ErrEvictionRefused", err)
	}
	s.equal("placements", []string{"b n-0"}, s.placements())
	// A budget that was recomputed allows it again.
	pdb.Status.DisruptionsAllowed, pdb.Status.CurrentHealthy, pdb.Status.DesiredHealthy = 1, 1, 0
	pdb.Spec.MinAvailable = ptr.To(intstr.FromInt32(0))
	pdb.Status.ObservedGeneration = 2
	s.apply(scalehist.OpUpdate, pdb)
	if err := s.cp.Evict(s.t.Context(), namespace, "b"); err != nil {
		s.t.Fatal(err)
	}
	s.equal("placements", []string(nil), s.placements())
	s.wantError(s.cp.Evict(s.t.Context(), namespace, "absent"), "default/absent")
}
