package recorder

import (
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/sources"
)

// nodeGroups turns nodes and the autoscaler's flags into node groups over time. Only the writer uses it.
type nodeGroups struct {
	source    sources.Source
	namespace string // of the autoscaler, "" for any
	counted   func(delta int64)

	nodes  map[string]*corev1.Node // what a source looks at, nothing else
	ca     types.NamespacedName
	flags  []string
	last   []*v1alpha1.NodeGroup
	dirty  bool
	when   time.Time // of the change that made it dirty
	direct map[string]bool
}

func newNodeGroups(r *Recorder) *nodeGroups {
	return &nodeGroups{source: r.o.NodeGroups, namespace: r.o.CANamespace, nodes: map[string]*corev1.Node{}, last: r.previous,
		direct: map[string]bool{}, counted: func(delta int64) { r.objects.Add(delta) }}
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
	switch o := e.Change.Object.(type) {
	case *corev1.Node:
		if e.Change.Op == scalehist.OpDelete {
			delete(g.nodes, o.Name)
			g.touch(e)
		} else if small := groupView(o); !equality.Semantic.DeepEqual(g.nodes[o.Name], small) {
			g.nodes[o.Name] = small
			g.touch(e)
		}
	case *appsv1.Deployment:
		g.deployment(e, o)
	case *v1alpha1.NodeGroup:
		g.direct[o.Name] = true // Record knows better than a source
	}
}

func (g *nodeGroups) touch(e *history.Entry) {
	g.dirty, g.when = true, e.ObservedAt
}

func (g *nodeGroups) deployment(e *history.Entry, d *appsv1.Deployment) {
	flags := sources.FlagsOf(d)
	if g.namespace != "" && d.Namespace != g.namespace {
		return
	}
	switch {
	case e.Change.Op == scalehist.OpDelete && g.ca == nameOf(d):
		g.ca, g.flags = types.NamespacedName{}, nil
	case e.Change.Op == scalehist.OpDelete || flags == nil || slices.Equal(flags, g.flags):
		return
	default:
		g.ca, g.flags = nameOf(d), flags
	}
	g.touch(e)
}

// annotate names a node's group on it, unless somebody did.
func (g *nodeGroups) annotate(e *history.Entry) {
	n, ok := e.Change.Object.(*corev1.Node)
	if !ok || n.Annotations[v1alpha1.NodeGroupAnnotation] != "" {
		return
	}
	if name := g.source.GroupOf(n); name != "" {
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[v1alpha1.NodeGroupAnnotation] = name
	}
}

func (g *nodeGroups) state() sources.State {
	s := sources.State{Flags: g.flags, Previous: g.last}
	for _, name := range slices.Sorted(maps.Keys(g.nodes)) {
		s.Nodes = append(s.Nodes, g.nodes[name])
	}
	return s
}

// changes are the node groups that differ from the last call. Groups given to Record are left to it.
func (g *nodeGroups) changes() []history.Entry {
	if !g.dirty {
		return nil
	}
	g.dirty = false
	was := map[string]*v1alpha1.NodeGroup{}
	for _, group := range g.last {
		was[group.Name] = group
	}
	now := g.source.Groups(g.state())
	var out []history.Entry
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

// groupView is the part of a node that sources look at: what changes with every heartbeat is not in it.
func groupView(n *corev1.Node) *corev1.Node {
	view := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, CreationTimestamp: n.CreationTimestamp, Labels: n.Labels},
		Spec:       corev1.NodeSpec{Taints: n.Spec.Taints},
		Status:     corev1.NodeStatus{Capacity: n.Status.Capacity, Allocatable: n.Status.Allocatable},
	}
	for k, v := range n.Annotations {
		if strings.HasPrefix(k, v1alpha1.GroupName+"/") {
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
	out := history.NodeGroupObject(g)
	out.Annotations = map[string]string{sources.BoundsFrom: sources.FromNodes, sources.TargetSizeFrom: sources.FromNodes}
	return out
}
