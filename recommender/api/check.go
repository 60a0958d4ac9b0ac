package api

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/simulator/drain"
)

// maxNamed bounds the names in a warning.
const maxNamed = 3

// Warnings say what a request lacks, and what that does to the answer.
func Warnings(r *recommender.Request) []string {
	claims := map[string]bool{}
	for _, c := range r.Objects.PersistentVolumeClaims {
		claims[c.Namespace+"/"+c.Name] = true
	}
	var claimless, prioless, templateless, guessed []string
	daemons := 0
	for _, p := range r.Objects.Pods {
		name := p.Namespace + "/" + p.Name
		for i := range p.Spec.Volumes {
			if c := p.Spec.Volumes[i].PersistentVolumeClaim; c != nil && !claims[p.Namespace+"/"+c.ClaimName] {
				claimless = append(claimless, name)
				break
			}
		}
		if p.Spec.PriorityClassName != "" && p.Spec.Priority == nil {
			prioless = append(prioless, name)
		}
		if drain.IsDaemonSet(p) {
			daemons++
		}
	}
	for _, g := range r.NodeGroups {
		stands := slices.ContainsFunc(r.Objects.Nodes, func(n *corev1.Node) bool {
			return cmp.Or(r.NodeGroupOf[n.Name], n.Annotations[v1alpha1.NodeGroupAnnotation]) == g.Name
		})
		if g.GuessedMax {
			guessed = append(guessed, g.Name)
		}
		if g.Template == nil && !stands {
			templateless = append(templateless, g.Name)
		}
	}
	var out []string
	warn := func(names []string, text string) {
		if len(names) == 0 {
			return
		}
		list := strings.Join(names[:min(len(names), maxNamed)], ", ")
		if more := len(names) - maxNamed; more > 0 {
			list += fmt.Sprintf(" and %d more", more)
		}
		out = append(out, list+": "+text)
	}
	warn(claimless, "the pods' PersistentVolumeClaims are not among the objects, so pending ones fit nowhere: add claims, volumes and storage classes to objects")
	warn(prioless, "the pods have a priorityClassName and no priority, which counts as 0: set spec.priority")
	warn(templateless, "the node groups have no template and no node, so they cannot grow: give nodeGroups with a template")
	warn(guessed, "nobody recorded how large the node groups may be: their max size is a guess, the most nodes seen at once; give nodeGroups with a maxSize")
	if daemons > 0 && len(r.Objects.DaemonSets) == 0 {
		out = append(out, plural.Of(daemons, "pod")+" of DaemonSets and no DaemonSet among the objects: a new node is taken to have DaemonSet pods only where a node of its group stands")
	}
	return out
}

// check refuses what can be seen without simulating: the places of what the recommender would refuse later, in the
// words of the request.
func (r *Request) check() error {
	if s := r.Snapshot; s != nil {
		if err := checkSnapshot(s, "snapshot"); err != nil {
			return err
		}
	}
	if r.Now.IsZero() && (r.Snapshot == nil || r.Snapshot.At.IsZero()) {
		return &RequestError{"now", "it is missing", "write the instant of the snapshot, such as 2024-05-28T10:00:00Z"}
	}
	if err := checkConstraints(&r.Constraints); err != nil {
		return err
	}
	groups, nodes := map[string]bool{}, 0
	for i := range r.NodeGroups {
		g, path := &r.NodeGroups[i], fmt.Sprintf("nodeGroups[%d]", i)
		switch {
		case g.Name == "":
			return &RequestError{path + ".name", "it is missing", "every node group has a name"}
		case groups[g.Name]:
			return &RequestError{path + ".name", fmt.Sprintf("%s is given twice", g.Name), "leave one out"}
		case badSizes(g.MinSize, g.MaxSize, g.TargetSize):
			return sizesError(path, g.MinSize, g.MaxSize, g.TargetSize)
		}
		if err := tooMany(&nodes, path, g.MinSize, g.TargetSize); err != nil {
			return err
		}
		groups[g.Name] = true
		pod := findKind("v1", "Pod")
		for j, p := range g.TemplatePods {
			if p == nil || p.Name == "" {
				return &RequestError{fmt.Sprintf("%s.templatePods[%d]", path, j), "the pod has no metadata.name", "give it one"}
			}
			pod.fillIn(p)
		}
	}
	for _, o := range r.Objects {
		if p, ok := o.Value.(*corev1.Pod); ok {
			if err := checkPod(p, "objects"); err != nil {
				return err
			}
		}
		if g, ok := o.Value.(*v1alpha1.NodeGroup); ok {
			if d := nodeGroupOf(g); badSizes(d.MinSize, d.MaxSize, d.TargetSize) {
				return sizesError("objects: NodeGroup "+g.Name, d.MinSize, d.MaxSize, d.TargetSize)
			}
			if err := tooMany(&nodes, "objects: NodeGroup "+g.Name, int(g.Spec.MinSize), int(g.Spec.TargetSize)); err != nil {
				return err
			}
		}
	}
	if r.Prices != nil {
		return checkPrices(r)
	}
	return nil
}

// maxNodes bounds what may exist and be asked for: far above any cluster, and low enough that nobody's request takes all
// memory.
const maxNodes = v1alpha1.MaxNodes

// tooMany adds a group to the nodes that all groups ask for, and refuses what they ask for together.
func tooMany(nodes *int, path string, minSize, target int) error {
	if *nodes += max(minSize, target); *nodes > maxNodes {
		return &RequestError{path, fmt.Sprintf("the node groups up to this one ask for %d nodes and more", *nodes), fmt.Sprintf("want at most %d", maxNodes)}
	}
	return nil
}

func badSizes(minSize, maxSize, target int) bool {
	return minSize < 0 || target < 0 || maxSize < minSize || minSize > maxNodes || target > maxNodes
}

func sizesError(path string, minSize, maxSize, target int) error {
	return &RequestError{path, fmt.Sprintf("minSize %d, maxSize %d, targetSize %d", minSize, maxSize, target),
		fmt.Sprintf("want 0 <= minSize <= maxSize and 0 <= targetSize, minSize and targetSize at most %d", maxNodes)}
}

func checkPrices(r *Request) error {
	p := r.Prices
	if p.Currency == "" {
		return &RequestError{"prices.currency", "it is missing", "write one, such as EUR"}
	}
	bad := func(v float64) bool { return v < 0 || math.IsNaN(v) || math.IsInf(v, 0) }
	for i, list := range []map[string]float64{p.MachineTypes, p.NodeGroups} {
		path := []string{"prices.machineTypes", "prices.nodeGroups"}[i]
		for _, name := range sortedKeys(list) {
			if bad(list[name]) {
				return &RequestError{join(path, name), fmt.Sprintf("%v is no price", list[name]), "write what an hour costs, 0 or more"}
			}
		}
	}
	for _, name := range sortedKeys(p.Models) {
		m := p.Models[name]
		for _, v := range []*float64{m.OnDemand, m.Spot, m.Reserved} {
			if v != nil && bad(*v) {
				return &RequestError{join("prices.models", name), fmt.Sprintf("%v is no price", *v), "write what an hour costs, 0 or more"}
			}
		}
	}
	return nil
}

// checkSnapshot refuses summaries: they have no objects to simulate with.
func checkSnapshot(s *scalehist.ClusterSnapshot, path string) error {
	const advice = "make the report with whole objects: 'scalehist replay --full-snapshots', FullSnapshots of harness.Settings in Go"
	for i := range s.Nodes {
		if n := s.Nodes[i].Node; n == nil || n.Name == "" {
			return &RequestError{join(path, fmt.Sprintf("nodes[%d].node", i)), "it is missing: the snapshot is a summary", advice}
		}
		findKind("v1", "Node").fillIn(s.Nodes[i].Node)
	}
	total := 0
	for i, g := range s.NodeGroups {
		if badSizes(g.MinSize, g.MaxSize, g.TargetSize) {
			return sizesError(join(path, fmt.Sprintf("nodeGroups[%d]", i)), g.MinSize, g.MaxSize, g.TargetSize)
		}
		if err := tooMany(&total, join(path, fmt.Sprintf("nodeGroups[%d]", i)), g.MinSize, g.TargetSize); err != nil {
			return err
		}
	}
	for l, pods := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods} {
		name := []string{"scheduledPods", "unscheduledPods"}[l]
		for i := range pods {
			if p := pods[i].Pod; p == nil || p.Name == "" {
				return &RequestError{join(path, fmt.Sprintf("%s[%d].pod", name, i)), "it is missing: the snapshot is a summary", advice}
			}
			findKind("v1", "Pod").fillIn(pods[i].Pod)
			if err := checkPod(pods[i].Pod, join(path, fmt.Sprintf("%s[%d].pod", name, i))); err != nil {
				return err
			}
		}
	}
	return nil
}
