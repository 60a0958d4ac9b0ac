package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recommender"
)

// FromRequest is the request on the wire. Parallelism is not in it: it changes no answer, and is the server's to choose.
func FromRequest(r *recommender.Request) *Request {
	return &Request{APIVersion: Version, Now: r.Now.UTC(), Objects: objectsOf(r.Objects), Terms: r.Terms}
}

// Recommender is what the request asks of a recommender, and warnings that say what it lacks. The objects are the
// request's own.
func (r *Request) Recommender() (*recommender.Request, []string) {
	out := &recommender.Request{Now: r.Now.UTC(), Objects: &scalehist.Objects{}, Terms: r.Terms}
	out.NodeGroupOf = maps.Clone(r.NodeGroupOf)
	groups := slices.Clone(r.NodeGroups)
	if s := r.Snapshot; s != nil {
		takeSnapshot(out, s)
		if len(groups) == 0 {
			groups = groupsOf(s)
		}
	}
	for _, o := range r.Objects {
		if g, ok := o.Value.(*v1alpha1.NodeGroup); ok {
			groups = append(groups, nodeGroupOf(g))
			continue
		}
		findType(o.Value).add(out.Objects, o.Value)
	}
	out.NodeGroups = groups
	known := map[string]bool{}
	for _, g := range groups {
		known[g.Name] = true
	}
	if r.Snapshot != nil { // a snapshot's nodes may be of groups that are gone
		maps.DeleteFunc(out.NodeGroupOf, func(node, group string) bool { return !known[group] && r.NodeGroupOf[node] == "" })
	}
	return out, Warnings(out)
}

// nodeGroupOf reads the object of object logs. Its template becomes a Node without a name.
func nodeGroupOf(g *v1alpha1.NodeGroup) recommender.NodeGroup {
	out := recommender.NodeGroup{Name: g.Name, MinSize: int(g.Spec.MinSize), MaxSize: int(g.Spec.MaxSize), TargetSize: int(g.Spec.TargetSize),
		GuessedMax: g.GuessedMax(), Zone: g.Spec.Zone, MachineType: g.Spec.MachineType}
	if t := g.Spec.Template.DeepCopy(); t != nil {
		out.Template = &corev1.Node{ObjectMeta: t.ObjectMeta, Spec: t.Spec, Status: t.Status}
	}
	return out
}

// takeSnapshot takes the whole objects of a report's snapshot over, those of one kind in the order of their creation.
func takeSnapshot(out *recommender.Request, s *scalehist.ClusterSnapshot) {
	if out.Now.IsZero() {
		out.Now = s.At.UTC()
	}
	if out.NodeGroupOf == nil {
		out.NodeGroupOf = map[string]string{}
	}
	o := out.Objects
	for i := range s.Nodes {
		n := &s.Nodes[i]
		o.Nodes = append(o.Nodes, n.Node)
		if _, given := out.NodeGroupOf[n.Name]; !given && n.NodeGroup != "" {
			out.NodeGroupOf[n.Name] = n.NodeGroup
		}
	}
	for _, pods := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
		for i := range pods {
			o.Pods = append(o.Pods, pods[i].Pod)
		}
	}
	byCreation(o.Nodes)
	byCreation(o.Pods)
}

func byCreation[T metav1.Object](list []T) {
	slices.SortStableFunc(list, func(a, b T) int {
		x, y := a.GetCreationTimestamp(), b.GetCreationTimestamp()
		return cmp.Or(x.Compare(y.Time), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
}

// FromSnapshot is a request about a snapshot with all objects, as a history gives it. It is an error when the node groups ask
// for more nodes than any cluster has.
func FromSnapshot(s *scalehist.ClusterSnapshot) (*recommender.Request, error) {
	nodes := 0
	for _, g := range s.NodeGroups {
		if err := tooMany(&nodes, "node group "+g.Name, g.MinSize, g.TargetSize); err != nil {
			return nil, err
		}
	}
	out := &recommender.Request{Now: s.At.UTC(), Objects: s.Objects, Terms: recommender.Terms{NodeGroups: groupsOf(s), NodeGroupOf: map[string]string{}}}
	known := map[string]bool{}
	for _, g := range out.NodeGroups {
		known[g.Name] = true
	}
	for i := range s.Nodes {
		if n := &s.Nodes[i]; known[n.NodeGroup] {
			out.NodeGroupOf[n.Name] = n.NodeGroup
		}
	}
	return out, nil
}

// groupsOf are a snapshot's node groups. It does not name the nodes that are on their way: they get names here, one for
// each node that the target size is ahead of the nodes.
func groupsOf(s *scalehist.ClusterSnapshot) []recommender.NodeGroup {
	stand := map[string]int{}
	for i := range s.Nodes {
		stand[s.Nodes[i].NodeGroup]++
	}
	out := make([]recommender.NodeGroup, 0, len(s.NodeGroups))
	for _, g := range s.NodeGroups {
		ng := recommender.GroupOf(g)
		for i := range g.TargetSize - stand[g.Name] {
			ng.Upcoming = append(ng.Upcoming, fmt.Sprintf("%s-upcoming-%d", g.Name, i))
		}
		out = append(out, ng)
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
