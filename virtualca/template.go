package virtualca

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

const (
	templateNodeLabel  = "cluster-autoscaler.kubernetes.io/template-node"
	upcomingAnnotation = "cluster-autoscaler.k8s.io/upcoming-node"
	// nodeStable is how long a real node must have been Ready to stand for its group.
	nodeStable = time.Minute
)

// template is what a fresh node of a group looks like, with the pods that come with it.
type template struct {
	node *corev1.Node
	pods []*corev1.Pod
}

// example is what a template is made from: a real node with the pods that come with it, or the provider's template.
type example struct {
	node *corev1.Node
	pods []*corev1.Pod
	// provided: it is the provider's. at is when it was taken, for the cache.
	provided bool
	at       time.Time
}

// nodeInfo makes a new node of the template; its name is the template's and the suffix.
func (t *template) nodeInfo(suffix string) *framework.NodeInfo {
	return nodetemplate.Instance(t.node, t.pods, t.node.Name+"-"+suffix, suffix)
}

// findExamples finds for every group what a fresh node would be: a good real node, else what an earlier good one looked
// like, else the provider's template, else a bad real node. Groups without any are left out
// (processors/nodeinfosprovider/mixed_nodeinfos_processor.go). Real nodes are tried in creation order.
func (l *loop) findExamples() {
	a := l.a
	l.examples, l.templates = map[string]*example{}, map[string]*template{}
	for _, n := range l.nodes {
		g, ok := l.groupOf[n.Name]
		if !ok || l.examples[g] != nil || !l.goodExample(n) {
			continue
		}
		e := l.fromNode(n)
		l.examples[g], a.exampleCache[g] = e, e
	}
	for _, g := range l.groups {
		if l.examples[g.Name] != nil {
			continue
		}
		if e := a.exampleCache[g.Name]; e != nil && e.at.Add(a.settings.NodeInfoCacheExpiry).After(l.now) {
			l.examples[g.Name] = e
			continue
		}
		if n, ok := a.provider.Template(g.Name); ok {
			l.examples[g.Name] = &example{node: n, pods: a.provider.TemplatePods(g.Name), provided: true, at: l.now}
		}
	}
	for g := range a.exampleCache {
		if _, ok := l.group[g]; !ok {
			delete(a.exampleCache, g)
		}
	}
	for _, n := range l.nodes {
		if g, ok := l.groupOf[n.Name]; ok && l.examples[g] == nil {
			l.examples[g] = l.fromNode(n)
		}
	}
}

// template is the group's template, made from its example when first asked for in a loop; nil when there is none.
func (l *loop) template(group string) *template {
	if t := l.templates[group]; t != nil {
		return t
	}
	e := l.examples[group]
	if e == nil {
		return nil
	}
	n := e.node.DeepCopy()
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if e.provided {
		nodetemplate.DeprecatedLabels(n.Labels)
	}
	t := l.sanitize(n, e.pods, group, e.provided || l.a.settings.ForceDaemonSets)
	l.templates[group] = t
	return t
}

// goodExample: the node is Ready for more than a minute, schedulable, and stays.
func (l *loop) goodExample(n *corev1.Node) bool {
	ok, since := ready(n)
	return ok && since.Add(nodeStable).Before(l.now) && !n.Spec.Unschedulable && !scalehist.HasTaint(n, toBeDeletedTaint)
}

// fromNode makes an example of a real node. The snapshot is as the cluster is.
func (l *loop) fromNode(n *corev1.Node) *example {
	s := l.a.checker.Snapshot()
	at, _ := s.Index(n.Name)
	return &example{node: n, pods: l.facts(s.NodeInfo(at)).standing, at: l.now}
}

// sanitize turns a node (owned by the call) into a template: a name of its own, without what only that node has, and
// with the DaemonSet pods that would run on it. Of the DaemonSets not among the pods, all come when force is set,
// else only those that are system-node-critical (simulator/node_info_utils.go).
func (l *loop) sanitize(n *corev1.Node, pods []*corev1.Pod, group string, force bool) *template {
	name := fmt.Sprintf("template-node-for-%s-%d", group, l.d.Loop)
	n.Name, n.UID = name, types.UID("node/"+name)
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Labels[corev1.LabelHostname] = name
	n.Labels[templateNodeLabel] = "true"
	n.Annotations[v1alpha1.NodeGroupAnnotation] = group
	n.Spec.Taints = l.a.settings.SanitizeTaints(n.Spec.Taints)
	if l.a.settings.ScaleFromUnschedulable {
		n.Spec.Unschedulable = false
	}
	return &template{node: n, pods: nodetemplate.Pods(n, pods, l.objects.DaemonSets, force)}
}
