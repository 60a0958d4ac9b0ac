package recorder

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/snapshot"
	"github.com/scalehist/scalehist/recorder/sources"
)

// nodeGroups turns what sources look at into node groups over time. Only the writer uses it.
type nodeGroups struct {
	source    sources.Source
	namespace string // of the autoscaler, "" for any
	timeless  bool   // the cluster lives in virtual time
	counted   func(delta int64)

	nodes  map[string]*corev1.Node // what a source looks at, nothing else
	whole  map[string]*corev1.Node // the nodes as last recorded
	named  map[string]string       // the group a node was recorded in
	custom map[customKey]*unstructured.Unstructured
	status map[types.NamespacedName]*corev1.ConfigMap
	fresh  map[string]bool // nodes in the present batch
	ca     types.NamespacedName
	flags  []string
	last   []*v1alpha1.NodeGroup
	from   string // the source's name as last logged
	dirty  bool
	when   time.Time // of the change that made it dirty
	direct map[string]bool
	// refused groups are not recorded, with the reason as last logged.
	refused map[string]string
}

type customKey struct {
	kind string
	name types.NamespacedName
}

func newNodeGroups(r *Recorder) *nodeGroups {
	return &nodeGroups{source: r.o.NodeGroups, namespace: r.o.CANamespace, timeless: r.o.Times != nil, last: r.previous,
		nodes: map[string]*corev1.Node{}, whole: map[string]*corev1.Node{}, named: map[string]string{}, fresh: map[string]bool{},
		custom: map[customKey]*unstructured.Unstructured{}, status: map[types.NamespacedName]*corev1.ConfigMap{},
		direct: map[string]bool{}, refused: map[string]string{}, counted: func(delta int64) { r.objects.Add(delta) }}
}

// observe takes note of a change.
func (g *nodeGroups) observe(e *history.Entry) {
	_, isEvent := e.Change.Object.(*corev1.Event)
	switch {
	case isEvent:
	case e.Change.Op == scalehist.OpAdd:
		g.counted(1)
	case e.Change.Op == scalehist.OpDelete:
		g.counted(-1)
	}
	gone := e.Change.Op == scalehist.OpDelete
	switch o := e.Change.Object.(type) {
	case *corev1.Node:
		g.fresh[o.Name] = true
		if gone {
			delete(g.nodes, o.Name)
			delete(g.whole, o.Name)
			g.touch(e)
			return
		}
		g.whole[o.Name] = o
		if small := groupView(o); !equality.Semantic.DeepEqual(g.nodes[o.Name], small) {
			g.nodes[o.Name] = small
			g.touch(e)
		}
	case *appsv1.Deployment:
		g.deployment(e, o)
	case *corev1.ConfigMap:
		if o.Name != sources.StatusConfigMap {
			return
		}
		if g.status[scalehist.NameOf(o)] = o; gone {
			delete(g.status, scalehist.NameOf(o))
		}
		g.touch(e)
	case *unstructured.Unstructured:
		key := customKey{kindOf(e), scalehist.NameOf(o)}
		if gone {
			delete(g.custom, key)
		} else {
			g.custom[key] = o
		}
		g.touch(e)
	case *v1alpha1.NodeGroup:
		g.direct[o.Name] = true // Record knows better than a source
	}
}

func (g *nodeGroups) touch(e *history.Entry) {
	g.dirty, g.when = true, e.ObservedAt
}

func (g *nodeGroups) deployment(e *history.Entry, d *appsv1.Deployment) {
	flags := caflags.Of(d)
	if g.namespace != "" && d.Namespace != g.namespace {
		return
	}
	switch {
	case e.Change.Op == scalehist.OpDelete && g.ca == scalehist.NameOf(d):
		g.ca, g.flags = types.NamespacedName{}, nil
	case e.Change.Op == scalehist.OpDelete || flags == nil || slices.Equal(flags, g.flags):
		return
	default:
		g.ca, g.flags = scalehist.NameOf(d), flags
	}
	g.touch(e)
}

// annotate names a node's group on it, unless somebody did. A deleted node keeps the group it was in: what said so may
// have gone before.
func (g *nodeGroups) annotate(e *history.Entry) {
	n, ok := e.Change.Object.(*corev1.Node)
	if !ok || n.Annotations[v1alpha1.NodeGroupAnnotation] != "" {
		return
	}
	name := g.source.GroupOf(n)
	if e.Change.Op == scalehist.OpDelete {
		name = cmp.Or(name, g.named[n.Name])
		delete(g.named, n.Name)
	} else {
		g.named[n.Name] = name
	}
	if name != "" {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[v1alpha1.NodeGroupAnnotation] = name
	}
}

// moved are the nodes that are in another group than they were recorded in, though nothing about the node changed: its
// Machine names it only now.
func (g *nodeGroups) moved() []history.Entry {
	var out []history.Entry
	for _, name := range slices.Sorted(maps.Keys(g.named)) {
		n := g.whole[name]
		if n == nil || g.fresh[name] {
			continue
		}
		now := g.source.GroupOf(g.nodes[name])
		if now == g.named[name] || now == "" { // a Machine goes before its node does
			continue
		}
		n = n.DeepCopy()
		delete(n.Annotations, v1alpha1.NodeGroupAnnotation)
		g.whole[name] = n
		out = append(out, history.Entry{ObservedAt: g.when, Change: scalehist.Change{Op: scalehist.OpUpdate, Object: n}})
	}
	return out
}

func (g *nodeGroups) state() sources.State {
	s := sources.State{Flags: g.flags, Previous: g.last}
	if !g.timeless {
		s.At = g.when
	}
	for _, name := range slices.Sorted(maps.Keys(g.nodes)) {
		s.Nodes = append(s.Nodes, g.nodes[name])
	}
	for _, o := range g.custom {
		s.Custom = append(s.Custom, o) // sources sort
	}
	for _, name := range sortedNames(g.status) {
		s.Status = append(s.Status, g.status[name])
	}
	return s
}

// changes are the node groups that differ from the last call. Groups given to Record are left to it.
func (g *nodeGroups) changes() []history.Entry {
	defer clear(g.fresh)
	if !g.dirty {
		return nil
	}
	g.dirty = false
	was := map[string]*v1alpha1.NodeGroup{}
	for _, group := range g.last {
		was[group.Name] = group
	}
	now := g.possible(g.source.Groups(g.state()))
	if name := g.source.Name(); name != g.from {
		g.from = name
		klog.Background().Info("Node groups", "from", name)
	}
	out := g.moved()
	add := func(op scalehist.Op, group *v1alpha1.NodeGroup) {
		if !g.direct[group.Name] {
			out = append(out, history.Entry{ObservedAt: g.when, Change: scalehist.Change{Op: op, Object: group}})
		}
	}
	for _, group := range now {
		before, ok := was[group.Name]
		delete(was, group.Name)
		switch {
		case !ok:
			add(scalehist.OpAdd, group)
		case !equality.Semantic.DeepEqual(before, group):
			add(scalehist.OpUpdate, group)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		add(scalehist.OpDelete, was[name])
	}
	g.last = now
	return out
}

// possible leaves groups out of which no cluster could have the nodes: what a source reads is what somebody wrote.
func (g *nodeGroups) possible(groups []*v1alpha1.NodeGroup) []*v1alpha1.NodeGroup {
	return slices.DeleteFunc(groups, func(group *v1alpha1.NodeGroup) bool {
		if !group.Spec.TooLarge() {
			return false
		}
		if problem := group.Spec.Problem(); g.refused[group.Name] != problem {
			g.refused[group.Name] = problem
			klog.Background().Info("A node group is not recorded", "nodeGroup", group.Name, "reason", problem)
		}
		return true
	})
}

// groupView is the part of a node that sources look at: what changes with every heartbeat is not in it.
func groupView(n *corev1.Node) *corev1.Node {
	view := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, CreationTimestamp: n.CreationTimestamp, Labels: n.Labels},
		Spec:       corev1.NodeSpec{Taints: n.Spec.Taints, ProviderID: n.Spec.ProviderID},
		Status:     corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable},
	}
	for k, v := range n.Annotations {
		if strings.HasPrefix(k, v1alpha1.GroupName+"/") || strings.HasPrefix(k, "cluster.x-k8s.io/") {
			if view.Annotations == nil {
				view.Annotations = map[string]string{}
			}
			view.Annotations[k] = v
		}
	}
	return view
}

// apiNodeGroup turns a node group read from a history back into the object that was written.
func apiNodeGroup(g scalehist.NodeGroup) *v1alpha1.NodeGroup {
	out := snapshot.NodeGroupObject(g)
	out.Annotations = map[string]string{sources.BoundsFrom: sources.FromNodes, sources.TargetSizeFrom: sources.FromNodes}
	return out
}
