package doctor

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// scene is what the window shows, indexed once for all rules. Its slices are in order of first sight.
type scene struct {
	pods  []*life
	byUID map[types.UID]*life
	// byName has every life of a name: a name is used again.
	byName map[ref][]*life
	nodes  []*nodeLife
	// seen holds every object of the window by kind, namespace and name.
	seen map[ref]bool
	// claims of the window, one for each life of a name.
	claims []sighting[*corev1.PersistentVolumeClaim]
	// groups are all states of node groups, those at From first; gone groups are not told apart.
	groups []sighting[*v1alpha1.NodeGroup]
}

// ref names an object.
type ref struct{ kind, namespace, name string }

func (r ref) String() string {
	if r.namespace == "" {
		return r.kind + " " + r.name
	}
	return r.kind + " " + r.namespace + "/" + r.name
}

func refOf(o scalehist.Object) ref {
	return ref{objectlog.KindOf(o), o.GetNamespace(), o.GetName()}
}

// sighting is an object and when it was seen so.
type sighting[T any] struct {
	at     time.Time
	object T
}

// life is what the window shows of one pod.
type life struct {
	pod *corev1.Pod // newest version
	// initial: it was there at From.
	initial bool
	seen    time.Time
	// bound is when it was first seen on a node, gone when it was deleted; zero if never.
	bound, gone time.Time
	// ended: it Succeeded or Failed.
	ended bool
	// unschedulable: its condition PodScheduled was ever False.
	unschedulable bool
}

func (l *life) ref() ref { return ref{"Pod", l.pod.Namespace, l.pod.Name} }

// nodeLife is what the window shows of one node.
type nodeLife struct {
	node    *corev1.Node // newest version
	initial bool
	seen    time.Time
}

func (n *nodeLife) group() string { return n.node.Annotations[v1alpha1.NodeGroupAnnotation] }

func newScene(in *Input) *scene {
	s := &scene{byUID: map[types.UID]*life{}, byName: map[ref][]*life{}, seen: map[ref]bool{}}
	nodes := map[types.UID]*nodeLife{}
	see := func(o scalehist.Object, at time.Time, op scalehist.Op, initial bool) {
		s.seen[refOf(o)] = true
		switch o := o.(type) {
		case *corev1.Pod:
			s.seePod(o, at, op, initial)
		case *corev1.Node:
			n := nodes[o.UID]
			if n == nil {
				n = &nodeLife{initial: initial, seen: at}
				nodes[o.UID] = n
				s.nodes = append(s.nodes, n)
			}
			if n.node == nil || op != scalehist.OpDelete {
				n.node = o
			}
		case *corev1.PersistentVolumeClaim:
			if op != scalehist.OpDelete {
				s.claims = append(s.claims, sighting[*corev1.PersistentVolumeClaim]{at, o})
			}
		case *v1alpha1.NodeGroup:
			if op != scalehist.OpDelete {
				s.groups = append(s.groups, sighting[*v1alpha1.NodeGroup]{at, o})
			}
		}
	}
	for _, g := range in.Groups {
		see(g, in.From, scalehist.OpAdd, true)
	}
	for _, o := range in.Initial.Objects.All() {
		see(o, in.From, scalehist.OpAdd, true)
	}
	for _, c := range in.Initial.Objects.RuntimeClasses {
		see(c, in.From, scalehist.OpAdd, true)
	}
	for _, ch := range in.Changes {
		see(ch.Object, ch.At, ch.Op, false)
	}
	return s
}

func (s *scene) seePod(p *corev1.Pod, at time.Time, op scalehist.Op, initial bool) {
	l := s.byUID[p.UID]
	if l == nil {
		l = &life{pod: p, initial: initial, seen: at}
		s.byUID[p.UID] = l
		s.byName[l.ref()] = append(s.byName[l.ref()], l)
		s.pods = append(s.pods, l)
	}
	if op == scalehist.OpDelete {
		l.gone = at
	}
	if op != scalehist.OpDelete || p.Spec.NodeName != "" {
		l.pod = p
	}
	if p.Spec.NodeName != "" && l.bound.IsZero() {
		l.bound = at
	}
	l.ended = l.ended || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	l.unschedulable = l.unschedulable || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}

// podOf is the pod that an event is about, nil if the window does not show it. An event that names no UID means the pod that had
// the name at the time: of those that had it, the last one seen by then, else the first that came after.
func (s *scene) podOf(e history.Event) *life {
	if e.Regarding.UID != "" {
		return s.byUID[e.Regarding.UID]
	}
	var found *life
	for _, l := range s.byName[ref{"Pod", e.Regarding.Namespace, e.Regarding.Name}] {
		if found == nil || !l.seen.After(e.ObservedAt.Add(ahead)) {
			found = l
		}
	}
	return found
}

// needsRoom: the pod is one that somebody has to find a node for, and did not end before.
func (l *life) needsRoom() bool { return !l.ended || l.bound.IsZero() }
