package sources

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// gardenerPool is the label Gardener puts on every node of a worker pool.
const gardenerPool = "worker.gardener.cloud/pool"

// gardener knows groups by the MachineDeployments of the machine-controller-manager.
type gardener struct {
	byMachine map[string]string    // node -> group, by machines
	byPool    map[[2]string]string // pool and zone -> group, "" if there are several
}

// Gardener takes every MachineDeployment of machine.sapcloud.io as a group, named "NAMESPACE.NAME" as Gardener's
// cluster-autoscaler does (its flags are --nodes=MIN:MAX:NAMESPACE.NAME).
//
//   - target size: spec.replicas;
//   - bounds: the autoscaler's flag of that name, else the Worker's status.machineDeployments, else minimum and maximum
//     of the Worker's pool spread over its zones, the first zones taking the remainder (DistributeOverZones in
//     gardener/gardener extensions/pkg/controller/worker/helper.go);
//   - template: the MachineClass's nodeTemplate (capacity, virtualCapacity, instance type, zone) with labels and taints of
//     the MachineDeployment's node template, as the provider of gardener/autoscaler builds it for a group at zero;
//   - options: the MachineDeployment's annotations autoscaler.gardener.cloud/*, else clusterAutoscaler of the Worker's pool;
//   - members: nodes that a Machine of the MachineDeployment names, else by worker.gardener.cloud/pool and zone.
func Gardener() Source { return &gardener{} }

func (g *gardener) Name() string { return "gardener" }

func (g *gardener) GroupOf(n *corev1.Node) string {
	if name := g.byMachine[n.Name]; name != "" {
		return name
	}
	pool := n.Labels[gardenerPool]
	if pool == "" {
		return ""
	}
	if name := g.byPool[[2]string{pool, n.Labels[corev1.LabelTopologyZone]}]; name != "" {
		return name
	}
	return g.byPool[[2]string{pool, ""}]
}

func (g *gardener) Groups(s State) []*v1alpha1.NodeGroup {
	g.byMachine, g.byPool = map[string]string{}, map[[2]string]string{}
	index := func(list []*unstructured.Unstructured) map[types.NamespacedName]*unstructured.Unstructured {
		out := map[types.NamespacedName]*unstructured.Unstructured{}
		for _, o := range list {
			out[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = o
		}
		return out
	}
	classes, workers := index(s.of(machineClassKind)), s.of(workerKind)
	deployments := s.of(machineDeploymentKind)
	groups := map[string]*v1alpha1.NodeGroup{}
	for _, d := range deployments {
		if d.GetDeletionTimestamp() != nil && d.GetName() == "" {
			continue
		}
		class := classes[types.NamespacedName{Namespace: d.GetNamespace(), Name: text(d.Object, "spec", "template", "spec", "class", "name")}]
		w := poolFor(d, workers)
		group := g.group(d, class, w)
		groups[group.Name] = group
		for _, key := range [][2]string{{w.name, group.Spec.Zone}, {w.name, ""}} {
			if was, taken := g.byPool[key]; taken && was != group.Name {
				g.byPool[key] = ""
			} else {
				g.byPool[key] = group.Name
			}
		}
	}
	g.machines(s, index(s.of(machineSetKind)), index(deployments))
	statedBy(s).apply(groups, nil, "")
	for _, was := range s.Previous {
		if group := groups[was.Name]; group != nil && group.Spec.Template == nil {
			group.Spec.Template = was.Spec.Template.DeepCopy()
		}
	}
	members := byGroup(g, s.Nodes)
	for name, group := range groups {
		if seen := members[name]; group.Spec.Template == nil && len(seen) > 0 {
			group.Spec.Template = templateOf(seen)
		}
	}
	return sorted(groups)
}

// machines follows Machine -> MachineSet -> MachineDeployment by owners, else the label "name" that Gardener gives to
// the machines of a MachineDeployment.
func (g *gardener) machines(s State, sets, deployments map[types.NamespacedName]*unstructured.Unstructured) {
	for _, m := range s.of(machineKind) {
		node := cmp.Or(text(m.Object, "status", "node"), m.GetLabels()["node"])
		if node == "" {
			continue
		}
		at := func(name string) types.NamespacedName {
			return types.NamespacedName{Namespace: m.GetNamespace(), Name: name}
		}
		name := ""
		if set := sets[at(ownerOf(m, "MachineSet"))]; set != nil {
			name = ownerOf(set, "MachineDeployment")
		}
		name = cmp.Or(name, m.GetLabels()["name"])
		if deployments[at(name)] != nil {
			g.byMachine[node] = m.GetNamespace() + "." + name
		}
	}
}

func (g *gardener) group(d, class *unstructured.Unstructured, p pool) *v1alpha1.NodeGroup {
	node := object(d.Object, "spec", "template", "spec", "nodeTemplate")
	s := shape{labels: texts(node, "metadata", "labels"), annotations: texts(node, "metadata", "annotations"), taints: taints(node, "spec", "taints"),
		zone: p.zone, machineType: text(p.spec, "machineType"), cpuArch: text(p.spec, "architecture")}
	s.capacity = resources(p.spec, "nodeTemplate", "capacity")
	if class != nil {
		t := object(class.Object, "nodeTemplate")
		for k, v := range resources(t, "capacity") {
			s.capacity[k] = v
		}
		for k, v := range resources(t, "virtualCapacity") {
			s.capacity[k] = v
		}
		s.zone, s.region = cmp.Or(text(t, "zone"), s.zone), text(t, "region")
		s.machineType, s.cpuArch = cmp.Or(text(t, "instanceType"), s.machineType), cmp.Or(text(t, "architecture"), s.cpuArch)
	}
	out := newGroup(d.GetNamespace()+"."+d.GetName(), FromObject, FromObject)
	out.Annotations[v1alpha1.MachineDeploymentAnnotation] = d.GetNamespace() + "/" + d.GetName()
	if p.name != "" {
		out.Annotations[v1alpha1.WorkerPoolAnnotation] = p.name
	}
	out.Spec.TargetSize, _ = count(d.Object, "spec", "replicas")
	out.Spec.MinSize, out.Spec.MaxSize = p.min, p.max
	if !p.bounded {
		out.Annotations[BoundsFrom] = FromNodes
		out.Spec.MaxSize = out.Spec.TargetSize
	}
	out.Spec.Zone, out.Spec.MachineType, out.Spec.Template = s.zone, s.machineType, s.template()
	out.Spec.Options = gardenerGroupOptions(d, p)
	return out
}

// pool is what a Worker says of one MachineDeployment.
type pool struct {
	name, zone string
	spec       map[string]any
	min, max   int32
	bounded    bool
}

// zoned is how Gardener's worker controller ends the names of MachineDeployments: "NAMESPACE-POOL-z1" is the first zone.
var zoned = regexp.MustCompile(`^(.+)-z([1-9][0-9]?)$`)

func poolFor(d *unstructured.Unstructured, workers []*unstructured.Unstructured) pool {
	out := pool{name: text(d.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels", gardenerPool)}
	if out.name == "" {
		if labels := texts(d.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels"); labels[gardenerPool] != "" {
			out.name = labels[gardenerPool]
		}
	}
	base, index := d.GetName(), -1
	if m := zoned.FindStringSubmatch(base); m != nil {
		n, _ := strconv.Atoi(m[2]) // two digits
		base, index = m[1], n-1
	}
	for _, w := range workers {
		if w.GetNamespace() != d.GetNamespace() {
			continue
		}
		for _, e := range list(w.Object, "spec", "pools") {
			spec, ok := e.(map[string]any)
			if name := text(spec, "name"); !ok || name == "" || name != out.name && (out.name != "" || !strings.HasSuffix(base, "-"+name)) {
				continue
			}
			out.name, out.spec = text(spec, "name"), spec
			zones := list(spec, "zones")
			if index >= 0 && index < len(zones) {
				out.zone, _ = zones[index].(string)
			}
			low, ok1 := count(spec, "minimum")
			high, ok2 := count(spec, "maximum")
			if ok1 && ok2 && (len(zones) <= 1 || index >= 0) {
				out.min, out.max, out.bounded = spread(index, low, len(zones)), spread(index, high, len(zones)), true
			}
		}
		for _, e := range list(w.Object, "status", "machineDeployments") {
			status, ok := e.(map[string]any)
			low, ok1 := count(status, "minimum")
			high, ok2 := count(status, "maximum")
			if ok && ok1 && ok2 && text(status, "name") == d.GetName() {
				out.min, out.max, out.bounded = low, high, true
			}
		}
	}
	return out
}

// spread is the share of zone index when size is spread over zones.
func spread(index int, size int32, zones int) int32 {
	if zones <= 1 {
		return size
	}
	share := size / int32(zones)
	if int32(index) < size%int32(zones) {
		share++
	}
	return share
}
