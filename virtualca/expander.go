package virtualca

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/virtualca/expander"
)

// choose runs the chain of expanders; nil when it left nothing.
func (l *loop) choose(options []*expander.Option) *expander.Option {
	return l.a.expanders.Choose(expander.Situation{
		Now: l.now, Nodes: len(l.objects.Nodes), Prices: l.a.provider, Requests: l.a.checker.Requests, HasGPU: l.hasGPU, Note: l.note,
		Unmatched: func(group string) {
			l.event("PriorityConfigMapNotMatchedGroup", "ConfigMap/"+l.a.settings.Namespace+"/cluster-autoscaler-priority-expander",
				fmt.Sprintf("Priority expander: node group %s not found in priority expander configuration. The group won't be used.", group))
		},
	}, options)
}

// hasGPU: the node carries the provider's GPU label, or has GPUs.
func (l *loop) hasGPU(n *corev1.Node) bool {
	if label := l.a.provider.GPULabel(); label != "" {
		if _, ok := n.Labels[label]; ok {
			return true
		}
	}
	q, ok := n.Status.Allocatable[gpuResource]
	return ok && !q.IsZero()
}

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
func (l *loop) report(options []*expander.Option, best *expander.Option) {
	for _, o := range options {
		names := firstNames(o.Pods, 20)
		// A template without cpu or memory has no least-waste; a Decision holds numbers only.
		maps.DeleteFunc(o.Scores, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
		l.d.Options = append(l.d.Options, scalehist.Option{
			NodeGroup: o.Group, NodeCount: o.Nodes, Pods: len(o.Pods), PodNames: names,
			SimilarNodeGroups: o.Similar, Scores: o.Scores, Chosen: o == best, Reason: o.Reason,
		})
	}
}
