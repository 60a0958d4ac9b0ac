package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// gardenerPool is the label of Gardener's nodes that names their worker pool.
const gardenerPool = "worker.gardener.cloud/pool"

// providerObjects are the worker pools and machine deployments of an instant, by name: those a node-group source noted on the
// groups, and those that were recorded as the provider's own objects (machine deployments of Gardener and Cluster API, Workers of
// Gardener), whatever source the groups are of.
func providerObjects(groups []*v1alpha1.NodeGroup, custom []*unstructured.Unstructured) ([]scalehist.WorkerPool, []scalehist.MachineDeployment) {
	p := provider{groups: map[string]bool{}, pools: map[string]map[string]bool{}, seen: map[string]bool{}}
	for _, g := range groups {
		p.groups[g.Name] = true
	}
	for _, g := range groups {
		p.noted(g)
	}
	for _, o := range custom {
		switch o.GroupVersionKind().GroupKind().String() {
		case "MachineDeployment.machine.sapcloud.io", "MachineDeployment.cluster.x-k8s.io":
			p.machineDeployment(o)
		case "Worker.extensions.gardener.cloud":
			p.worker(o)
		}
	}
	var pools []scalehist.WorkerPool
	for _, name := range slices.Sorted(maps.Keys(p.pools)) {
		pools = append(pools, scalehist.WorkerPool{Name: name, NodeGroups: slices.AppendSeq([]string{}, maps.Keys(p.pools[name]))})
		slices.Sort(pools[len(pools)-1].NodeGroups)
	}
	slices.SortStableFunc(p.deployments, func(a, b scalehist.MachineDeployment) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return pools, p.deployments
}

// provider collects what belongs to the node groups of an instant.
type provider struct {
	groups      map[string]bool
	pools       map[string]map[string]bool // their node groups
	deployments []scalehist.MachineDeployment
	seen        map[string]bool // machine deployments, "namespace/name" or "name"
}

// pool notes a pool, and a group of it unless that is empty.
func (p *provider) pool(name, group string) {
	if name == "" {
		return
	}
	if p.pools[name] == nil {
		p.pools[name] = map[string]bool{}
	}
	if group != "" {
		p.pools[name][group] = true
	}
}

// noted takes what a source wrote on a group.
func (p *provider) noted(g *v1alpha1.NodeGroup) {
	p.pool(g.Annotations[v1alpha1.WorkerPoolAnnotation], g.Name)
	id := g.Annotations[v1alpha1.MachineDeploymentAnnotation]
	if id == "" {
		return
	}
	namespace, name, found := strings.Cut(id, "/")
	if !found {
		namespace, name = "", id
	}
	p.seen[id] = true
	p.deployments = append(p.deployments, scalehist.MachineDeployment{Name: name, Namespace: namespace, NodeGroup: g.Name,
		Replicas: int(g.Spec.TargetSize), MachineType: g.Spec.MachineType})
}

// machineDeployment takes a recorded one that no group names. Its group is the one called as the autoscaler's providers call
// it: "NAMESPACE.NAME" of Gardener's, "MachineDeployment/NAMESPACE/NAME" of Cluster API's; or as it is called itself.
func (p *provider) machineDeployment(o *unstructured.Unstructured) {
	namespace, name := o.GetNamespace(), o.GetName()
	labels, _, _ := unstructured.NestedStringMap(o.Object, "spec", "template", "spec", "nodeTemplate", "metadata", "labels")
	if p.seen[namespace+"/"+name] || p.seen[name] {
		p.pool(labels[gardenerPool], "")
		return
	}
	group := ""
	for _, called := range []string{namespace + "." + name, "MachineDeployment/" + namespace + "/" + name, name} {
		if p.groups[called] {
			group = called
			break
		}
	}
	replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
	p.deployments = append(p.deployments, scalehist.MachineDeployment{Name: name, Namespace: namespace, NodeGroup: group, Replicas: int(replicas),
		MachineType: labels["node.kubernetes.io/instance-type"]})
	p.pool(labels[gardenerPool], group)
}

// worker takes the pools of a recorded Worker.
func (p *provider) worker(o *unstructured.Unstructured) {
	pools, _, _ := unstructured.NestedSlice(o.Object, "spec", "pools")
	for _, e := range pools {
		if pool, ok := e.(map[string]any); ok {
			name, _ := pool["name"].(string)
			p.pool(name, "")
		}
	}
}
