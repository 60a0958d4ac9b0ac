package contract

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

// determinism runs one program of changes on two control planes and compares everything that was decided.
func determinism(t *testing.T, boot func(t *testing.T) kvcl.ControlPlane) {
	first := Program(t, boot(t), 1)
	second := Program(t, boot(t), 1)
	if d := cmp.Diff(first, second); d != "" {
		t.Errorf("the same program twice (-first +second):\n%s", d)
	}
	bound, victims := 0, 0
	for _, o := range first {
		bound += len(o.Settled.Bindings)
		victims += len(o.Settled.Victims)
	}
	if bound < 100 || victims == 0 {
		t.Errorf("the program bound %d pods and preempted %d, too few to show anything", bound, victims)
	}
}

// Outcome is what one step of a program led to: what was settled and, for every pod, its metadata, place, and reason.
type Outcome struct {
	Settled kvcl.Settled
	Pods    []string
}

// Program applies a random but seeded program of changes and returns the outcome of every step. Two control planes
// that keep the contract return the same.
func Program(t *testing.T, cp kvcl.ControlPlane, seed uint64) []Outcome {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	now, next := Now, 0
	var (
		out   []Outcome
		nodes []*corev1.Node
	)
	for step := range 8 {
		var changes []scalehist.Change
		change := func(op scalehist.Op, o scalehist.Object) {
			changes = append(changes, scalehist.Change{At: now, Op: op, Object: o})
		}
		for range 3 {
			n := node(fmt.Sprintf("n-%d", len(nodes)), 8, inZone(string(rune('a'+len(nodes)%3))))
			nodes = append(nodes, n)
			change(scalehist.OpAdd, n)
		}
		for range 30 {
			change(scalehist.OpAdd, randomPod(r, next))
			next++
		}
		for _, p := range cp.Objects().Pods {
			if r.IntN(10) == 0 {
				change(scalehist.OpDelete, p)
			}
		}
		if err := cp.Apply(t.Context(), changes); err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		now = now.Add(time.Duration(1+r.IntN(20)) * time.Second)
		settled, err := cp.Settle(t.Context(), now)
		if err != nil {
			t.Fatalf("step %d: %v", step, err)
		}
		checkInvariants(t, step, cp.Objects())
		o := Outcome{Settled: settled}
		for _, p := range cp.Objects().Pods {
			line := fmt.Sprintf("%s %s %s %s %q", p.Name, p.UID, p.CreationTimestamp.UTC().Format(time.RFC3339), p.Spec.NodeName, p.Status.NominatedNodeName)
			if c := scheduledCondition(p); c != nil {
				line += fmt.Sprintf(" %s %s %s %s", c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.RFC3339), c.Message)
			}
			o.Pods = append(o.Pods, line)
		}
		out = append(out, o)
	}
	return out
}

// checkInvariants: after Settle every pod has a node or a reason, and no node holds more than it has.
func checkInvariants(t *testing.T, step int, o *scalehist.Objects) {
	t.Helper()
	used := map[string]int64{}
	for _, p := range o.Pods {
		if p.Spec.NodeName != "" {
			used[p.Spec.NodeName] += p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			continue
		}
		if c := scheduledCondition(p); c == nil || c.Status != corev1.ConditionFalse || c.Message == "" {
			t.Errorf("step %d: pod %s has neither a node nor a reason: %v", step, p.Name, c)
		}
	}
	for _, n := range o.Nodes {
		if has := n.Status.Allocatable.Cpu().MilliValue(); used[n.Name] > has {
			t.Errorf("step %d: node %s holds %dm CPU and has %dm", step, n.Name, used[n.Name], has)
		}
	}
}

// randomPod has one of three priorities and sometimes spreads over zones, hosts, or away from its kind.
func randomPod(r *rand.Rand, n int) *corev1.Pod {
	app := fmt.Sprintf("app-%d", r.IntN(4))
	sel := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	p := pod(fmt.Sprintf("p-%d", n), 1+r.IntN(3), withPriority(int32(r.IntN(3)*10)))
	p.Labels["app"] = app
	switch r.IntN(4) {
	case 0:
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: sel},
			{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: sel},
		}
	case 1:
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: sel, TopologyKey: corev1.LabelHostname}},
		}}
	}
	return p
}
