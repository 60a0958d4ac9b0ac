package contract

import (
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// victim is one that high preempts.
func victim(pod, node string) kvcl.Victim {
	return kvcl.Victim{Pod: id(pod), Node: node, Preemptor: id("high")}
}

// since is a running pod that started some minutes before Now.
func since(node string, minutes int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		running(node)(p)
		p.Status.StartTime = ptr.To(metav1.NewTime(Now.Add(-time.Duration(minutes) * time.Minute)))
	}
}

func labelled(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

// guard is a budget that allows no disruption of the pods labelled guarded=yes.
func guard() *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "guard"},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"guarded": "yes"}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1},
	}
}

func neverPreempts(p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever) }

// highWins: high comes to two full nodes of 2 CPUs with these pods on them; the one place it gets, and who goes.
func highWins(s *suite, node0, node1 []*corev1.Pod, place string, victims ...kvcl.Victim) {
	s.t.Helper()
	s.add(node("n-0", 2), node("n-1", 2))
	for _, p := range append(node0, node1...) {
		s.add(p)
	}
	s.wantSettled(kvcl.Settled{})
	s.add(pod("high", 2, withPriority(100)))
	s.wantPreempted(victims, kvcl.Settled{Bindings: []kvcl.Binding{binding("high", place)}})
}

// The next five are upstream's criteria for the node, first to last; each is shown to count for more than those after it.
// The last, the latest start, is preemptsTheYoungest.

func preemptsWithFewestViolations(s *suite) {
	s.add(guard())
	highWins(s,
		[]*corev1.Pod{pod("a", 2, withPriority(0), since("n-0", 1), labelled("guarded", "yes"))},
		[]*corev1.Pod{pod("b", 2, withPriority(50), since("n-1", 9))},
		"n-1", victim("b", "n-1"))
}

func preemptsTheLeastImportant(s *suite) {
	highWins(s,
		[]*corev1.Pod{pod("a", 2, withPriority(5), since("n-0", 1))},
		[]*corev1.Pod{pod("b", 1, withPriority(4), since("n-1", 9)), pod("c", 1, withPriority(4), since("n-1", 8))},
		"n-1", victim("b", "n-1"), victim("c", "n-1"))
}

func preemptsTheLowestSum(s *suite) {
	highWins(s,
		[]*corev1.Pod{pod("a", 1, withPriority(5), since("n-0", 1)), pod("b", 1, withPriority(3), since("n-0", 1))},
		[]*corev1.Pod{pod("c", 1, withPriority(5), since("n-1", 9)), pod("d", 1, withPriority(1), since("n-1", 9))},
		"n-1", victim("c", "n-1"), victim("d", "n-1"))
}

// preemptsTheFewest: sums of priorities are of 2^31 and each pod's, so only a pod of the lowest priority there is adds nothing.
func preemptsTheFewest(s *suite) {
	highWins(s,
		[]*corev1.Pod{pod("a", 1, withPriority(5), since("n-0", 1)), pod("b", 1, withPriority(math.MinInt32), since("n-0", 1))},
		[]*corev1.Pod{pod("c", 2, withPriority(5), since("n-1", 9))},
		"n-1", victim("c", "n-1"))
}

// preemptsOnlyWhoMustGo: of the pods of a node, the most important and the longest running stay, but a budget counts first.
func preemptsOnlyWhoMustGo(s *suite) {
	s.add(guard(), node("n-0", 4),
		pod("important", 1, withPriority(9), since("n-0", 1)),
		pod("guarded", 1, withPriority(0), since("n-0", 2), labelled("guarded", "yes")),
		pod("old", 1, withPriority(0), since("n-0", 60)),
		pod("young", 1, withPriority(0), since("n-0", 3)))
	s.settle()
	s.add(pod("high", 1, withPriority(100)))
	s.wantPreempted([]kvcl.Victim{victim("young", "n-0")}, kvcl.Settled{Bindings: []kvcl.Binding{binding("high", "n-0")}})
	// A budget holds nobody back when there is nobody else (upstream: best effort).
	s.apply(scalehist.OpDelete, pod("high", 1))
	s.add(pod("larger", 4, withPriority(50)))
	s.wantPreempted([]kvcl.Victim{
		{Pod: id("important"), Node: "n-0", Preemptor: id("larger")},
		{Pod: id("old"), Node: "n-0", Preemptor: id("larger")},
		{Pod: id("guarded"), Node: "n-0", Preemptor: id("larger")},
	}, kvcl.Settled{Bindings: []kvcl.Binding{binding("larger", "n-0")}})
}

// preemptsInTurn: several preemptors, each with its own victims, the most important first; and who preempts may be
// preempted.
func preemptsInTurn(s *suite) {
	s.add(node("n-0", 1), node("n-1", 1), pod("a", 1, withPriority(0), since("n-0", 9)), pod("b", 1, withPriority(0), since("n-1", 5)))
	s.settle()
	s.add(pod("mid", 1, withPriority(5)), pod("high", 1, withPriority(10)), pod("low", 1, withPriority(1)))
	s.wantPreempted([]kvcl.Victim{victim("b", "n-1"), {Pod: id("a"), Node: "n-0", Preemptor: id("mid")}}, kvcl.Settled{
		Bindings: []kvcl.Binding{binding("high", "n-1"), binding("mid", "n-0")},
		Unschedulable: []kvcl.Unschedulable{
			{Pod: id("low"), Message: noVictims(2, "2 Insufficient cpu")},
		},
	})
	s.add(pod("top", 1, withPriority(20)))
	s.wantPreempted([]kvcl.Victim{{Pod: id("mid"), Node: "n-0", Preemptor: id("top")}}, kvcl.Settled{
		Bindings: []kvcl.Binding{binding("top", "n-0")},
		// A victim that is removed wakes who waits for room.
		Unschedulable: []kvcl.Unschedulable{{Pod: id("low"), Message: noVictims(2, "2 Insufficient cpu")}},
	})
}

// saysWhyPreemptionDoesNotHelp: nobody less important; not enough even without them; not allowed to.
func saysWhyPreemptionDoesNotHelp(s *suite) {
	s.add(node("n-0", 2), node("n-1", 9, tainted("reserved")), node("n-2", 1),
		pod("equal", 1, withPriority(10), since("n-0", 1)), pod("low", 1, withPriority(0), since("n-0", 1)),
		pod("same", 1, withPriority(10), since("n-2", 1)))
	s.settle()
	const why = "1 node(s) had untolerated taint(s), 2 Insufficient cpu"
	s.add(pod("big", 2, withPriority(10)), pod("meek", 1, withPriority(10), neverPreempts))
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{
		{Pod: id("big"), Message: mixed(3, why, "1 Insufficient cpu, 2 Preemption is not helpful for scheduling")},
		{Pod: id("meek"), Message: fmt.Sprintf("0/3 nodes are available: %s. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.", why)},
	}})
	// Room that others leave is for the meek as well.
	s.apply(scalehist.OpDelete, pod("low", 1))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("meek", "n-0")}, got.Bindings)
}

// keepsNominations: what preemption made room for is kept from pods no more important, not from others.
func keepsNominations(s *suite) {
	nominated := func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending, NominatedNodeName: "n-0"} }
	tooSmall := mixed(2, "2 Insufficient cpu", "1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling")
	s.add(node("n-0", 2), node("n-1", 1), pod("early", 2, withPriority(10)), pod("chosen", 2, withPriority(10), nominated))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("chosen", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("early"), Message: tooSmall}},
	})
	s.apply(scalehist.OpDelete, pod("chosen", 2), pod("early", 2))
	s.settle()
	s.add(pod("chosen", 2, withPriority(10), nominated), pod("higher", 2, withPriority(20)))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("higher", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("chosen"), Message: tooSmall}},
	})
	if got := s.pod(namespace, "chosen").Status.NominatedNodeName; got != "" {
		s.t.Errorf("nominated for %s still, where there is no room", got)
	}
}

// preemptsForPorts: not only room is taken from others.
func preemptsForPorts(s *suite) {
	port := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
	}
	s.add(node("n-0", 9), pod("low", 1, withPriority(0), port, running("n-0")), pod("beside", 1, withPriority(0), running("n-0")))
	s.settle()
	s.add(pod("equal", 1, withPriority(0), port))
	s.wantSettled(waits("equal", noVictims(1, "1 node(s) didn't have free ports for the requested pod ports")))
	s.add(pod("high", 1, withPriority(100), port))
	s.wantPreempted([]kvcl.Victim{victim("low", "n-0")}, kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("high", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("equal"), Message: noVictims(1, "1 node(s) didn't have free ports for the requested pod ports")}},
	})
}

// victimsTerminate: a victim holds its room until it is removed, with its grace period and with the condition that says why it ends.
// Meanwhile the preemptor waits, preempts nobody else when it is tried again, and its room is not for others.
func victimsTerminate(s *suite) {
	patient := func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](90) }
	s.add(node("n-0", 2), node("n-1", 2),
		pod("low", 2, withPriority(0), since("n-0", 1), patient), pod("old", 1, withPriority(0), since("n-1", 9)), pod("older", 1, withPriority(0), since("n-1", 10)))
	s.settle()
	s.add(pod("high", 2, withPriority(100)))
	waiting := kvcl.Unschedulable{Pod: id("high"), Message: "0/2 nodes are available: 2 Insufficient cpu.", Nominated: "n-0"}
	s.wantSettled(kvcl.Settled{Victims: []kvcl.Victim{victim("low", "n-0")}, Unschedulable: []kvcl.Unschedulable{waiting}})
	preempted := s.now
	low := s.pod(namespace, "low")
	if want := preempted.Add(90 * time.Second); low.DeletionTimestamp == nil || !low.DeletionTimestamp.Time.Equal(want) {
		s.t.Errorf("low ends at %v, want %v", low.DeletionTimestamp, want)
	}
	s.equal("conditions", []corev1.PodCondition{{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		Message: "default-scheduler: preempting to accommodate a higher priority pod", LastTransitionTime: metav1.NewTime(preempted),
	}}, slices.DeleteFunc(slices.Clone(low.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type != corev1.DisruptionTarget }))
	if got := s.pod(namespace, "high").Status.NominatedNodeName; got != "n-0" {
		s.t.Errorf("high is nominated for %q, want n-0", got)
	}
	// Room elsewhere, less than it needs, is worth a try: with the room of another victim it would do.
	s.apply(scalehist.OpDelete, pod("old", 1))
	waiting.Message += " no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node."
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{waiting}})
	s.add(pod("equal", 2, withPriority(100), neverPreempts), pod("small", 1, withPriority(50)))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("small", "n-1")}, got.Bindings)
	s.equal("victims", []kvcl.Victim(nil), got.Victims)
	s.stopped([]kvcl.Victim{victim("low", "n-0")})
	got = s.settle()
	s.equal("bindings", []kvcl.Binding{binding("high", "n-0")}, got.Bindings)
}
