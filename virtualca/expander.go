package virtualca

import (
	"fmt"
	"maps"
	"math"
	"math/rand"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// expanderRandom is not a filter: it ends a chain by picking one of what is left.
const expanderRandom = "random"

// option is one way to help pods, while it is being weighed.
type option struct {
	group    string
	nodes    int
	pods     []*corev1.Pod
	similar  []string
	template *template
	scores   map[string]float64
	reason   string
}

// expanders narrow options down. Each sets its score on every option it looks at and a reason on those it drops.
var expanders = map[string]func(*loop, []*option) []*option{
	"most-pods":   mostPods,
	"least-nodes": leastNodes,
	"least-waste": leastWaste,
	"price":       cheapest,
	"priority":    byPriority,
}

// choose runs the chain and returns the winner, or nil when an expander left nothing. Ties left after the chain are
// random upstream; here the first in the order of the groups wins, or a seeded random one if the chain ends in random.
func (l *loop) choose(options []*option) *option {
	left := options
	decider := ""
	for _, name := range l.a.settings.Expander {
		if name == expanderRandom || len(left) == 1 {
			break
		}
		before := len(left)
		left = expanders[name](l, left)
		if len(left) < before {
			decider = name
		}
		if len(left) == 0 {
			return nil
		}
	}
	best := left[0]
	switch {
	case len(left) == 1 && decider == "":
		best.reason = "the only option"
	case len(left) == 1:
		best.reason = "best by " + decider
	case slices.Contains(l.a.settings.Expander, expanderRandom):
		best = left[l.a.random.Intn(len(left))]
		best.reason = fmt.Sprintf("random among %d tied", len(left))
	default:
		best.reason = fmt.Sprintf("first of %d tied", len(left))
	}
	for _, o := range left {
		if o != best {
			o.reason = "tied with " + best.group
		}
	}
	return best
}

// narrow keeps the options with the best score. eligible leaves options out before; less says which score is better.
func narrow(name string, options []*option, value func(*option) (float64, bool), less func(a, b float64) bool) []*option {
	var best []*option
	for _, o := range options {
		v, ok := value(o)
		if !ok {
			continue
		}
		o.scores[name] = v
		switch {
		case best == nil || less(v, best[0].scores[name]):
			best = []*option{o}
		case v == best[0].scores[name]:
			best = append(best, o)
		}
	}
	for _, o := range options {
		if !slices.Contains(best, o) && o.reason == "" && len(best) > 0 {
			o.reason = fmt.Sprintf("%s: %s is better", name, best[0].group)
		}
	}
	return best
}

func lower(a, b float64) bool  { return a < b }
func higher(a, b float64) bool { return a > b }

func mostPods(_ *loop, options []*option) []*option {
	return narrow("most-pods", options, func(o *option) (float64, bool) { return float64(len(o.pods)), true }, higher)
}

func leastNodes(_ *loop, options []*option) []*option {
	return narrow("least-nodes", options, func(o *option) (float64, bool) { return float64(o.nodes), o.nodes > 0 }, lower)
}

// leastWaste adds up the unused shares of cpu and memory of all new nodes together, capacity taken, not allocatable.
func leastWaste(l *loop, options []*option) []*option {
	return narrow("least-waste", options, func(o *option) (float64, bool) {
		var cpu, memory int64
		for _, p := range o.pods {
			c, m := l.a.checker.Requests(p)
			cpu += c
			memory += m
		}
		capacity := o.template.node.Status.Capacity
		haveCPU := capacity.Cpu().MilliValue() * int64(o.nodes)
		haveMemory := capacity.Memory().Value() * int64(o.nodes)
		return float64(haveCPU-cpu)/float64(haveCPU) + float64(haveMemory-memory)/float64(haveMemory), true
	}, lower)
}

// newRandom is the source of the random expander: the same seed gives the same choices.
func newRandom(seed int64) *rand.Rand { return rand.New(rand.NewSource(seed)) }

// firstNames are the first names of pods in alphabetical order, so many at most.
func firstNames(pods []*corev1.Pod, most int) []string {
	out := make([]string, 0, min(len(pods), most)+1)
	for _, p := range pods {
		// Most pods are behind the last one kept, and of the same namespace: no name is made for them.
		if len(out) == most {
			if ns, last, ok := strings.Cut(out[most-1], "/"); ok && ns == p.Namespace && p.Name >= last {
				continue
			}
		}
		name := podName(p)
		at, _ := slices.BinarySearch(out, name)
		if out = slices.Insert(out, at, name); len(out) > most {
			out = out[:most]
		}
	}
	return out
}

// report turns options into what a Decision shows.
func (l *loop) report(options []*option, best *option) {
	for _, o := range options {
		names := firstNames(o.pods, 20)
		// A template without cpu or memory has no least-waste; a Decision holds numbers only.
		maps.DeleteFunc(o.scores, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		l.d.Options = append(l.d.Options, scalehist.Option{
			NodeGroup: o.group, NodeCount: o.nodes, Pods: len(o.pods), PodNames: names,
			SimilarNodeGroups: o.similar, Scores: o.scores, Chosen: o == best, Reason: o.reason,
		})
	}
}
