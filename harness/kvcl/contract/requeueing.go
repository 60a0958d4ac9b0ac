package contract

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func tolerating(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func term(app string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{
		TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}
}

// near wants a node with a pod of app, awayFrom one without.
func near(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(app)}}}
	}
}

func awayFrom(app string, edits ...func(*corev1.PodAffinityTerm)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		t := term(app)
		for _, e := range edits {
			e(&t)
		}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{t}}}
	}
}

// Settled lists every pod that was tried, so an event that wakes a pod it cannot help shows.

// nodesWakeWhoFits: a new node, and changes of labels, taints and room of one that is there.
func nodesWakeWhoFits(s *suite) {
	n := node("n-0", 2)
	s.add(n, pod("wide", 4), pod("picky", 1, selecting("disk", "ssd")), pod("shy", 1, selecting("pool", "quiet"), tolerating("loud")))
	s.settle()
	s.add(node("n-1", 1)) // fits none
	s.wantSettled(kvcl.Settled{})
	s.add(node("n-2", 1, func(n *corev1.Node) { n.Labels["disk"] = "ssd" }))
	s.wantSettled(bound(binding("picky", "n-2")))
	labelled := n.DeepCopy()
	labelled.Labels["pool"] = "quiet"
	s.apply(scalehist.OpUpdate, labelled)
	s.wantSettled(bound(binding("shy", "n-0")))
	smaller := labelled.DeepCopy()
	smaller.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("32Gi")
	s.apply(scalehist.OpUpdate, smaller)
	s.wantSettled(kvcl.Settled{})
	larger := smaller.DeepCopy()
	larger.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
	s.apply(scalehist.OpUpdate, larger)
	s.wantSettled(bound(binding("wide", "n-0")))
}

// taintsWakeWhoWaitedForThem: a taint that goes, not one that another takes the place of. Pods that wait for room are woken by
// any change of taints: upstream's way not to miss a node that was added with a taint (kubernetes issue 109437).
func taintsWakeWhoWaitedForThem(s *suite) {
	s.add(node("n-0", 4, tainted("reserved")), node("n-1", 1, tainted("reserved")), pod("plain", 2), pod("wide", 9))
	s.settle()
	s.apply(scalehist.OpUpdate, node("n-1", 1, tainted("another")))
	s.wantSettled(kvcl.Settled{})
	if err := s.cp.SetTaints(s.t.Context(), "n-0", nil); err != nil {
		s.t.Fatal(err)
	}
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("plain", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("wide"), Message: noFit(2, "1 Insufficient cpu, 1 node(s) had untolerated taint(s)")}},
	})
	s.apply(scalehist.OpUpdate, node("n-1", 1, tainted("third")))
	s.wantSettled(waits("wide", noFit(2, "1 Insufficient cpu, 1 node(s) had untolerated taint(s)")))
}

// uncordonedNodesWakeWhoFits: pods that waited for the node, all of them, and those that wait for its room.
func uncordonedNodesWakeWhoFits(s *suite) {
	closed := node("n-0", 4, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	s.add(closed, pod("plain", 2), pod("picky", 1, selecting("disk", "ssd")))
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{
		{Pod: id("plain"), Message: noFit(1, "1 node(s) were unschedulable")},
		{Pod: id("picky"), Message: noFit(1, "1 node(s) were unschedulable")},
	}})
	s.apply(scalehist.OpUpdate, node("n-0", 4))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("plain", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("picky"), Message: noFit(1, "1 node(s) didn't match Pod's node affinity/selector")}},
	})
}

// podsThatGoWakeWhoNeedsTheirRoom, and nobody who needs something else.
func podsThatGoWakeWhoNeedsTheirRoom(s *suite) {
	s.add(node("n-0", 2), pod("a", 1), pod("b", 1))
	s.settle()
	s.add(pod("next", 1), pod("wide", 2), pod("picky", 1, selecting("disk", "ssd")))
	s.settle()
	s.apply(scalehist.OpDelete, pod("a", 1))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("next", "n-0")}, got.Bindings)
	for _, u := range got.Unschedulable {
		if u.Pod == id("picky") {
			s.t.Errorf("a pod that went woke %v, which lacks a node with its label", u)
		}
	}
	// A pod that finishes makes room as a deleted one does.
	done := s.pod(namespace, "b").DeepCopy()
	done.Status.Phase = corev1.PodSucceeded
	s.apply(scalehist.OpUpdate, done)
	s.settle()
	s.apply(scalehist.OpDelete, pod("next", 1))
	got = s.settle()
	s.equal("bindings", []kvcl.Binding{binding("wide", "n-0")}, got.Bindings)
}

// labelsOfPodsWakeWhoAvoidsThem: a pod elsewhere changes its label, and one that must not be near such pods has a place; one
// that must be near has a place as soon as there is a pod to be near to.
func labelsOfPodsWakeWhoAvoidsThem(s *suite) {
	s.add(node("n-0", 9), pod("cache", 1, running("n-0"), labelled("app", "cache")), pod("away", 1, awayFrom("cache")), pod("near", 1, near("store")))
	s.wantSettled(kvcl.Settled{Unschedulable: []kvcl.Unschedulable{
		{Pod: id("away"), Message: noVictims(1, "1 node(s) didn't match pod anti-affinity rules")},
		{Pod: id("near"), Message: noFit(1, "1 node(s) didn't match pod affinity rules")},
	}})
	moved := s.pod(namespace, "cache").DeepCopy()
	moved.Labels["app"] = "former"
	s.apply(scalehist.OpUpdate, moved)
	s.wantSettled(bound(binding("away", "n-0")))
	s.add(pod("store", 1, running("n-0"), labelled("app", "store")))
	s.wantSettled(bound(binding("near", "n-0")))
	// One that the scheduler itself has just placed will do.
	s.add(pod("near-2", 1, near("queue")))
	s.settle()
	s.add(pod("queue", 1, labelled("app", "queue")))
	s.wantSettled(bound(binding("queue", "n-0"), binding("near-2", "n-0")))
}

// ownUpdatesWakeAPod: its tolerations, its labels; what does not bear on its place does not.
func ownUpdatesWakeAPod(s *suite) {
	s.add(node("n-0", 4, tainted("reserved")), pod("a", 1))
	s.settle()
	s.apply(scalehist.OpUpdate, pod("a", 1, labelled("version", "2")))
	s.wantSettled(kvcl.Settled{})
	s.apply(scalehist.OpUpdate, pod("a", 1, labelled("version", "2"), tolerating("reserved")))
	s.wantSettled(bound(binding("a", "n-0")))
}

// resizesWakeWhoNeedsTheRoom: a pod that shrinks in place, running or waiting.
func resizesWakeWhoNeedsTheRoom(s *suite) {
	s.add(node("n-0", 3), pod("a", 3), pod("wide", 4))
	s.settle()
	s.add(pod("next", 2))
	s.settle()
	small := s.pod(namespace, "a").DeepCopy()
	small.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("1")
	s.apply(scalehist.OpUpdate, small)
	got := s.settle()
	s.equal("bindings", []kvcl.Binding{binding("next", "n-0")}, got.Bindings)
	s.apply(scalehist.OpDelete, pod("next", 2))
	s.settle()
	s.apply(scalehist.OpUpdate, pod("wide", 2))
	s.wantSettled(bound(binding("wide", "n-0")))
}

// quietNamespaces is a pod that must not share a host with web pods of namespaces labelled team=loud, and such a pod.
func quietNamespaces(s *suite) *corev1.Namespace {
	s.t.Helper()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "loud"}}}
	away := awayFrom("web", func(t *corev1.PodAffinityTerm) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "loud"}}
	})
	s.add(shop, node("n-0", 9), pod("noisy", 1, inNamespace("shop"), running("n-0")), pod("quiet", 1, away))
	s.wantSettled(waits("quiet", noVictims(1, "1 node(s) didn't match pod anti-affinity rules")))
	return shop
}

// retriesWhatNoEventWoke: upstream has no event for labels of namespaces; a ticker retries pods that have waited for more
// than five minutes, every half minute. A pod that the clock brought back in vain is not reported again.
func retriesWhatNoEventWoke(s *suite) {
	s.now = s.now.Truncate(time.Minute).Add(time.Minute - time.Second) // the next settle is on a full minute
	shop := quietNamespaces(s)
	s.later(4*time.Minute + 59*time.Second)
	s.wantSettled(kvcl.Settled{}) // five minutes, not more
	s.later(28 * time.Second)
	s.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "another"}})
	s.wantSettled(kvcl.Settled{}) // the next tick is in one second
	s.wantSettled(kvcl.Settled{}) // it was retried in vain
	calm := shop.DeepCopy()
	calm.Labels["team"] = "calm"
	s.apply(scalehist.OpUpdate, calm)
	s.later(4*time.Minute + 59*time.Second)
	s.wantSettled(kvcl.Settled{})
	s.later(28 * time.Second)
	s.wantSettled(kvcl.Settled{})
	s.wantSettled(bound(binding("quiet", "n-0")))
}

// refreshesMessages: the retry says what is so by now, where the events that made it so concerned nobody.
func refreshesMessages(s *suite) {
	s.add(node("n-0", 1), pod("wide", 4))
	s.wantSettled(waits("wide", noFit(1, "1 Insufficient cpu")))
	s.add(node("n-1", 1))
	s.wantSettled(kvcl.Settled{})
	s.later(6 * time.Minute)
	s.wantSettled(waits("wide", noFit(2, "2 Insufficient cpu")))
	s.later(6 * time.Minute)
	s.wantSettled(kvcl.Settled{})
}

// spreadsWakeWhoBalances: a pod that is deleted in the fullest zone, and a zone that comes.
func spreadsWakeWhoBalances(s *suite) {
	balanced := func(p *corev1.Pod) {
		p.Labels["app"] = "spread"
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}},
		}}
	}
	on := func(node string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { balanced(p); running(node)(p) }
	}
	s.add(node("n-a", 9, inZone("a")), node("n-b", 2, inZone("b")), pod("full", 1, running("n-b")),
		pod("a-0", 1, on("n-a")), pod("b-0", 1, on("n-b")), pod("a-1", 1, on("n-a")), pod("next", 1, balanced))
	const skewed = "1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints"
	s.wantSettled(waits("next", mixed(2, skewed, "2 No preemption victims found for incoming pod")))
	s.add(pod("other", 1)) // not one of them: it does not change the balance
	s.wantSettled(bound(binding("other", "n-a")))
	s.apply(scalehist.OpDelete, pod("a-1", 1))
	s.wantSettled(bound(binding("next", "n-a")))
	s.add(pod("last", 1, balanced))
	s.wantSettled(waits("last", mixed(2, skewed, "2 No preemption victims found for incoming pod")))
	s.add(node("n-c", 1, inZone("c")))
	s.wantSettled(bound(binding("last", "n-c")))
}

// portsWakeWhoNeedsThem, and no other pod that is deleted.
func portsWakeWhoNeedsThem(s *suite) {
	port := func(n int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: n, HostPort: n}}
		}
	}
	s.add(node("n-0", 9), pod("a", 1, port(80)), pod("b", 1, port(81)), pod("next", 1, port(80)))
	s.wantSettled(kvcl.Settled{
		Bindings:      []kvcl.Binding{binding("a", "n-0"), binding("b", "n-0")},
		Unschedulable: []kvcl.Unschedulable{{Pod: id("next"), Message: noVictims(1, "1 node(s) didn't have free ports for the requested pod ports")}},
	})
	s.apply(scalehist.OpDelete, pod("b", 1))
	s.wantSettled(kvcl.Settled{})
	s.apply(scalehist.OpDelete, pod("a", 1))
	s.wantSettled(bound(binding("next", "n-0")))
}

// gatesWakeOnlyWhoIsFree: one gate of two that goes is not enough, and nothing else brings a gated pod in.
func gatesWakeOnlyWhoIsFree(s *suite) {
	gates := func(names ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, n := range names {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: n})
			}
		}
	}
	s.add(node("n-0", 1), pod("a", 1, gates("example.com/one", "example.com/two")))
	s.wantSettled(kvcl.Settled{})
	s.apply(scalehist.OpUpdate, pod("a", 1, gates("example.com/two")))
	s.wantSettled(kvcl.Settled{})
	s.add(node("n-1", 9))
	s.later(10 * time.Minute)
	s.wantSettled(kvcl.Settled{})
	s.apply(scalehist.OpUpdate, pod("a", 1))
	s.wantSettled(bound(binding("a", "n-1")))
}
