package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/internal/plural"
)

var podRules = []Rule{
	{Code: "SH221", Title: "pod pending all the time, nobody said why", Severity: Warning, run: silentlyPending,
		Doc: "A pod had no node in the whole window, and its condition PodScheduled was never False: no scheduler looked at it. A replay's " +
			"scheduler does, and the autoscaler may add a node for it that the real one never thought of.",
		Advice: "check that a scheduler ran in the cluster, and that status of pods was recorded"},
	{Code: "SH222", Title: "pods without verdict at the start", Severity: Info, run: undecidedAtStart,
		Doc: "At the start of the window pods have no node and no condition that says they are unschedulable: the scheduler was about to look at " +
			"them. A replay feeds them in at once, which may shift the first decision.",
		Advice: "start the window a little earlier or later, when no pod is on its way: --from"},
	{Code: "SH223", Title: "static pods", Severity: Info, run: staticPods,
		Doc: "Kubelets ran mirror pods on nodes of a group. A replay gives each new node those of the group's first node at the start. Where nodes of a " +
			"group have different ones, or the group had no node at the start, new nodes have another amount of room than the real ones.",
		Advice: "start the window when the group has a node; otherwise know that new nodes have slightly more room"},
	{Code: "SH224", Title: "a replay has to guess", Severity: Warning, run: replayGuesses,
		Doc: "What a replay of this window would warn about: evicted pods whose owner made no other, nodes that went without the autoscaler's mark, " +
			"failures it takes for faults, node groups that come late. The recording cannot tell what was meant.",
		Advice: "read each; recorded failures are left out with `scalehist replay --recorded-faults=false`"},
}

func gated(p *corev1.Pod) bool { return len(p.Spec.SchedulingGates) > 0 }

// unplaced pods wait for the default scheduler in silence.
func unplaced(l *life) bool {
	return l.bound.IsZero() && !l.unschedulable && !l.ended && !gated(l.pod) && !otherScheduler(l.pod)
}

func silentlyPending(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, l := range in.scene.pods {
		if l.initial && l.gone.IsZero() && unplaced(l) {
			out = append(out, Finding{At: l.seen, Object: l.ref().String(),
				Message: fmt.Sprintf("pending from the start to the end (%s) without condition PodScheduled", in.To.Sub(in.From))})
		}
	}
	return out, nil
}

func undecidedAtStart(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, p := range in.Initial.UnscheduledPods {
		l := in.scene.byUID[p.Pod.UID]
		unschedulable := slices.ContainsFunc(p.Pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
		})
		if unschedulable || l == nil || gated(p.Pod) || otherScheduler(p.Pod) || l.gone.IsZero() && unplaced(l) {
			continue
		}
		out = append(out, Finding{At: in.From, Object: l.ref().String(), Message: "no node yet, and no condition PodScheduled"})
	}
	return out, nil
}

func staticPods(_ context.Context, in *Input) ([]Finding, error) {
	group := map[string]string{}
	initial := map[string]bool{} // groups with a node at the start
	for _, n := range in.scene.nodes {
		group[n.node.Name] = n.group()
		if n.initial {
			initial[n.group()] = true
		}
	}
	// What runs where: the mirror pod's name ends in its node's.
	on := map[string]map[string][]string{}
	first := map[string]*life{}
	for _, l := range in.scene.pods {
		o := metav1.GetControllerOf(l.pod)
		node := l.pod.Spec.NodeName
		if o == nil || o.Kind != "Node" || group[node] == "" {
			continue
		}
		g := group[node]
		if on[g] == nil {
			on[g], first[g] = map[string][]string{}, l
		}
		on[g][node] = append(on[g][node], l.pod.Namespace+"/"+strings.TrimSuffix(l.pod.Name, "-"+node))
	}
	var out []Finding
	for _, g := range slices.Sorted(maps.Keys(on)) {
		kinds := map[string]bool{}
		for _, n := range in.scene.nodes {
			if n.group() == g {
				names := on[g][n.node.Name]
				slices.Sort(names)
				kinds[strings.Join(slices.Compact(names), ", ")] = true
			}
		}
		what := "new nodes get those of its first node"
		switch {
		case !initial[g]:
			what = "it has no node at the start, so new nodes get none"
		case len(kinds) > 1:
			what = "its nodes have different ones, new nodes get those of its first node"
		}
		out = append(out, Finding{At: first[g].seen, Object: "NodeGroup " + g, Message: "mirror pods on " + plural.Of(len(on[g]), "node") + ": " + what})
	}
	return out, nil
}

func replayGuesses(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, w := range in.Replay {
		switch {
		case strings.Contains(w, " were not watched from "): // SH102
		case strings.Contains(w, "which is not there: it starts pending"): // SH206
		default:
			out = append(out, Finding{At: in.From, Message: w})
		}
	}
	return out, nil
}
