package expander

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/config"
)

// Option is one way to help pods: so many nodes of a group.
type Option struct {
	Group string
	Nodes int
	Pods  []*corev1.Pod
	// Similar are the groups that the nodes may be shared with.
	Similar []string
	// Template is a fresh node of the group.
	Template *corev1.Node
	// Scores are by expander, Reason says why the option was chosen or not: both are filled in by Choose.
	Scores map[string]float64
	Reason string
}

// Situation is what expanders look at beside the options.
type Situation struct {
	Now time.Time
	// Nodes counts the nodes of the cluster.
	Nodes  int
	Prices Prices
	// Requests are what a pod asks for, in milli cores and bytes.
	Requests func(*corev1.Pod) (cpu, memory int64)
	HasGPU   func(*corev1.Node) bool
	// Note takes remarks for the decision, Unmatched the groups of which the priority expander knows nothing.
	Note      func(format string, args ...any)
	Unmatched func(group string)
}

// Chain is the expanders of --expander in their order.
type Chain struct {
	names  []string
	random *rand.Rand
	// draws says that ties are drawn, as upstream does. Seed 0 takes the first, which is one of the draws that are possible.
	draws bool
	// priorities are the priority expander's, prioritiesErr why there are none.
	priorities    map[int][]*regexp.Regexp
	prioritiesErr error
}

// New makes the chain that the settings name. The same seed gives the same random choices. Priorities that cannot be used are noted where they
// would matter.
func New(s *config.Settings) *Chain {
	c := &Chain{names: s.Expander, random: rand.New(rand.NewSource(s.Seed))}
	c.draws = slices.Contains(s.Expander, config.ExpanderRandom) || s.Seed != 0 && !s.FirstOfTies
	if s.Priorities != "" {
		c.priorities, c.prioritiesErr = parsePriorities(s.Priorities)
	}
	return c
}

// weighing is one choice of a chain.
type weighing struct {
	*Chain
	Situation
}

// expanders narrow options down. Each sets its score on every option it looks at and a reason on those it drops.
var expanders = map[string]func(*weighing, []*Option) []*Option{
	"most-pods":   mostPods,
	"least-nodes": leastNodes,
	"least-waste": leastWaste,
	"price":       cheapest,
	"priority":    byPriority,
}

// Choose runs the chain and returns the winner, or nil when an expander left nothing. Ties left after the chain are
// random upstream; here they are drawn by the seed, but with seed 0 the first in the order of the groups wins, unless the chain ends in random.
func (c *Chain) Choose(s Situation, options []*Option) *Option {
	w := &weighing{c, s}
	left := options
	decider := ""
	for _, name := range c.names {
		if name == config.ExpanderRandom || len(left) == 1 {
			break
		}
		before := len(left)
		left = expanders[name](w, left)
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
		best.Reason = "the only option"
	case len(left) == 1:
		best.Reason = "best by " + decider
	case c.draws:
		best = left[c.random.Intn(len(left))]
		best.Reason = fmt.Sprintf("random among %d tied", len(left))
	default:
		best.Reason = fmt.Sprintf("first of %d tied", len(left))
	}
	for _, o := range left {
		if o != best {
			o.Reason = "tied with " + best.Group
		}
	}
	return best
}

// narrow keeps the options with the best score. eligible leaves options out before; less says which score is better.
func narrow(name string, options []*Option, value func(*Option) (float64, bool), less func(a, b float64) bool) []*Option {
	var best []*Option
	for _, o := range options {
		v, ok := value(o)
		if !ok {
			continue
		}
		o.Scores[name] = v
		switch {
		case best == nil || less(v, best[0].Scores[name]):
			best = []*Option{o}
		case v == best[0].Scores[name]:
			best = append(best, o)
		}
	}
	for _, o := range options {
		if !slices.Contains(best, o) && o.Reason == "" && len(best) > 0 {
			o.Reason = fmt.Sprintf("%s: %s is better", name, best[0].Group)
		}
	}
	return best
}

func lower(a, b float64) bool  { return a < b }
func higher(a, b float64) bool { return a > b }

func mostPods(_ *weighing, options []*Option) []*Option {
	return narrow("most-pods", options, func(o *Option) (float64, bool) { return float64(len(o.Pods)), true }, higher)
}

func leastNodes(_ *weighing, options []*Option) []*Option {
	return narrow("least-nodes", options, func(o *Option) (float64, bool) { return float64(o.Nodes), o.Nodes > 0 }, lower)
}

// leastWaste adds up the unused shares of cpu and memory of all new nodes together, capacity taken, not allocatable.
func leastWaste(w *weighing, options []*Option) []*Option {
	return narrow("least-waste", options, func(o *Option) (float64, bool) {
		var cpu, memory int64
		for _, p := range o.Pods {
			c, m := w.Requests(p)
			cpu += c
			memory += m
		}
		capacity := o.Template.Status.Capacity
		haveCPU := capacity.Cpu().MilliValue() * int64(o.Nodes)
		haveMemory := capacity.Memory().Value() * int64(o.Nodes)
		return float64(haveCPU-cpu)/float64(haveCPU) + float64(haveMemory-memory)/float64(haveMemory), true
	}, lower)
}
