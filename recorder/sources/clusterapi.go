package sources

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// The annotations of Cluster API that say how a MachineDeployment scales
// (https://cluster-api.sigs.k8s.io/tasks/automated-machine-management/autoscaling, and cluster-autoscaler's
// cloudprovider/clusterapi/README.md), and those it puts on nodes.
const (
	capiMin      = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
	capiMax      = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"
	capiMinOld   = "cluster.k8s.io/cluster-api-autoscaler-node-group-min-size"
	capiMaxOld   = "cluster.k8s.io/cluster-api-autoscaler-node-group-max-size"
	capiCapacity = "capacity.cluster-autoscaler.kubernetes.io/"

	capiOwnerKind        = "cluster.x-k8s.io/owner-kind"
	capiOwnerName        = "cluster.x-k8s.io/owner-name"
	capiClusterName      = "cluster.x-k8s.io/cluster-name"
	capiClusterNamespace = "cluster.x-k8s.io/cluster-namespace"
)

// clusterAPI knows groups by the MachineDeployments of Cluster API.
type clusterAPI struct {
	groups map[string]bool
}

// ClusterAPI takes every MachineDeployment of cluster.x-k8s.io that has both size annotations as a group, named
// "MachineDeployment/NAMESPACE/NAME" as the cluster-autoscaler's provider clusterapi does.
//
//   - which: those of this cluster, where its name is known from the nodes' annotation cluster.x-k8s.io/cluster-name or
//     the autoscaler's --node-group-auto-discovery=clusterapi:namespace=N,clusterName=C;
//   - target size: spec.replicas;
//   - bounds: the annotations; options: the annotations cluster.x-k8s.io/autoscaling-options-*;
//   - template: the annotations capacity.cluster-autoscaler.kubernetes.io/{cpu,memory,ephemeral-disk,maxPods,gpu-count,
//     gpu-type,labels,taints} and the failure domain; without cpu and memory what the nodes seen have in common;
//   - members: nodes whose annotations cluster.x-k8s.io/owner-kind and owner-name name a MachineSet of the
//     MachineDeployment, which is the MachineDeployment's name and a suffix.
func ClusterAPI() Source { return &clusterAPI{} }

func (c *clusterAPI) Name() string { return "cluster-api" }

func (c *clusterAPI) GroupOf(n *corev1.Node) string {
	namespace, set := n.Annotations[capiClusterNamespace], n.Annotations[capiOwnerName]
	if n.Annotations[capiOwnerKind] != "MachineSet" || set == "" {
		return ""
	}
	for i := strings.LastIndexByte(set, '-'); i > 0; i = strings.LastIndexByte(set[:i], '-') {
		if name := capiName(namespace, set[:i]); c.groups[name] {
			return name
		}
	}
	return ""
}

func capiName(namespace, name string) string { return "MachineDeployment/" + namespace + "/" + name }

func (c *clusterAPI) Groups(s State) []*v1alpha1.NodeGroup {
	c.groups = map[string]bool{}
	groups := map[string]*v1alpha1.NodeGroup{}
	namespace, clusters := discovery(s.Flags), map[string]bool{}
	if namespace.cluster != "" {
		clusters[namespace.cluster] = true
	}
	for _, n := range s.Nodes {
		if name := n.Annotations[capiClusterName]; name != "" {
			clusters[name] = true
		}
	}
	for _, d := range s.of(clusterMachineDeployment) {
		if namespace.namespace != "" && d.GetNamespace() != namespace.namespace ||
			len(clusters) > 0 && !clusters[text(d.Object, "spec", "clusterName")] {
			continue
		}
		if g := capiGroup(d); g != nil {
			groups[g.Name], c.groups[g.Name] = g, true
		}
	}
	statedBy(s).apply(groups, nil, "")
	members := byGroup(c, s.Nodes)
	previous := byName(s.Previous)
	for name, g := range groups {
		if g.Spec.Template != nil {
			continue
		}
		if seen := members[name]; len(seen) > 0 {
			g.Spec.Template, g.Spec.MachineType = templateOf(seen), common(seen, corev1.LabelInstanceTypeStable)
		} else if was := previous[name]; was != nil {
			g.Spec.Template, g.Spec.MachineType = was.Spec.Template.DeepCopy(), was.Spec.MachineType
		}
	}
	return sorted(groups)
}

// scope narrows which MachineDeployments an autoscaler looks at.
type scope struct{ namespace, cluster string }

func discovery(flags []string) scope {
	var out scope
	for _, f := range flags {
		spec, ok := strings.CutPrefix(strings.TrimLeft(f, "-"), "node-group-auto-discovery=clusterapi:")
		if !ok {
			continue
		}
		for _, pair := range strings.Split(spec, ",") {
			switch k, v, _ := strings.Cut(pair, "="); k {
			case "namespace":
				out.namespace = v
			case "clusterName":
				out.cluster = v
			}
		}
	}
	return out
}

// capiGroup is nil for a MachineDeployment that the autoscaler leaves alone: without both annotations, or with bounds
// that leave nothing.
func capiGroup(d *unstructured.Unstructured) *v1alpha1.NodeGroup {
	a := d.GetAnnotations()
	low, ok1 := bound32(a, capiMin, capiMinOld)
	high, ok2 := bound32(a, capiMax, capiMaxOld)
	if !ok1 || !ok2 || high < low || high == 0 {
		return nil
	}
	g := newGroup(capiName(d.GetNamespace(), d.GetName()), FromObject, FromObject)
	g.Annotations[v1alpha1.MachineDeploymentAnnotation] = d.GetNamespace() + "/" + d.GetName()
	g.Spec.MinSize, g.Spec.MaxSize = low, high
	g.Spec.TargetSize, _ = count(d.Object, "spec", "replicas")
	g.Spec.Zone = text(d.Object, "spec", "template", "spec", "failureDomain")
	g.Spec.Options = capiGroupOptions(d)
	s := shape{zone: g.Spec.Zone, labels: capiLabels(d), taints: parseTaints(a[capiCapacity+"taints"]), capacity: corev1.ResourceList{}}
	for key, name := range map[string]corev1.ResourceName{"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory,
		"ephemeral-disk": corev1.ResourceEphemeralStorage, "maxPods": corev1.ResourcePods} {
		if q, err := resource.ParseQuantity(a[capiCapacity+key]); err == nil {
			s.capacity[name] = q
		}
	}
	if q, err := resource.ParseQuantity(a[capiCapacity+"gpu-count"]); err == nil && a[capiCapacity+"gpu-type"] != "" {
		s.capacity[corev1.ResourceName(a[capiCapacity+"gpu-type"])] = q
	}
	s.cpuArch = s.labels[corev1.LabelArchStable]
	s.machineType = s.labels[corev1.LabelInstanceTypeStable]
	g.Spec.MachineType, g.Spec.Template = s.machineType, s.template()
	return g
}

// capiLabels are the labels a new node has: those of the machine template that Cluster API propagates to nodes
// (https://cluster-api.sigs.k8s.io/reference/api/metadata-propagation), then those of the capacity annotation, which win.
func capiLabels(d *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for k, v := range texts(d.Object, "spec", "template", "metadata", "labels") {
		domain, _, ok := strings.Cut(k, "/")
		if ok && (domain == "node-role.kubernetes.io" || domain == "node-restriction.kubernetes.io" || strings.HasSuffix(domain, ".node-restriction.kubernetes.io") ||
			domain == "node.cluster.x-k8s.io" || strings.HasSuffix(domain, ".node.cluster.x-k8s.io")) {
			out[k] = v
		}
	}
	for _, pair := range strings.Split(d.GetAnnotations()[capiCapacity+"labels"], ",") {
		if k, v, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && k != "" {
			out[k] = v
		}
	}
	return out
}

// parseTaints reads "key1=value1:NoSchedule,key2:NoExecute".
func parseTaints(s string) []corev1.Taint {
	var out []corev1.Taint
	for _, part := range strings.Split(s, ",") {
		at := strings.LastIndexByte(part, ':')
		if at < 0 {
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(part[:at]), "=")
		switch effect := corev1.TaintEffect(strings.TrimSpace(part[at+1:])); effect {
		case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
			if key != "" {
				out = append(out, corev1.Taint{Key: key, Value: value, Effect: effect})
			}
		}
	}
	return out
}

// bound32 is the number of the first of some annotations that is there.
func bound32(a map[string]string, keys ...string) (int32, bool) {
	for _, k := range keys {
		if v, ok := a[k]; ok {
			n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 32)
			return int32(n), err == nil && n >= 0
		}
	}
	return 0, false
}

func byName(groups []*v1alpha1.NodeGroup) map[string]*v1alpha1.NodeGroup {
	out := make(map[string]*v1alpha1.NodeGroup, len(groups))
	for _, g := range groups {
		out[g.Name] = g
	}
	return out
}
