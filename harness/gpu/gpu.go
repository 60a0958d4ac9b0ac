package gpu

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// gardenerProvider is the provider of Gardener's cluster-autoscaler, the machine-controller-manager.
const gardenerProvider = "mcm"

// labels are the node labels by which providers of the cluster-autoscaler mark nodes with GPUs and name their type: GPULabel
// in its cloudprovider/*, by the value of --cloud-provider.
var labels = []struct{ provider, label string }{
	{"gce", "cloud.google.com/gke-accelerator"},
	{"aws", "k8s.amazonaws.com/accelerator"},
	{"azure", "accelerator"},
	{"clusterapi", "cluster-api/accelerator"},
	{gardenerProvider, "gardener.cloud/accelerator"},
	{"alicloud", "aliyun.accelerator/nvidia_name"},
}

// Rule is how a provider marks which nodes have GPUs.
type Rule struct {
	// Label marks the nodes and names the type of GPU; "" if nobody knows.
	Label string
	// Ignored: the provider does not say what a node has, whatever its labels: Gardener's GetNodeGpuConfig has no answer
	// (gardener/autoscaler cloudprovider/mcm/mcm_cloud_provider.go).
	Ignored bool
}

// RuleOf is the rule of the recorded provider: by the label that was given, else by the provider that the flags, the nodes or
// the names of groups show, else by the known label that is on the most nodes and templates.
func RuleOf(given string, flags []string, groups []scalehist.NodeGroup, nodes []*corev1.Node) Rule {
	if given != "" {
		return Rule{Label: given}
	}
	if provider := providerOf(flags, groups, nodes); provider != "" {
		for _, known := range labels {
			if known.provider == provider {
				return Rule{Label: known.label, Ignored: provider == gardenerProvider}
			}
		}
	}
	for _, g := range groups {
		if g.Template != nil {
			nodes = append(slices.Clip(nodes), g.Template)
		}
	}
	out, most := "", 0
	for _, known := range labels {
		if n := countLabelled(nodes, known.label); n > most {
			out, most = known.label, n
		}
	}
	return Rule{Label: out}
}

func countLabelled(nodes []*corev1.Node, label string) int {
	n := 0
	for _, node := range nodes {
		if _, ok := node.Labels[label]; ok {
			n++
		}
	}
	return n
}

// providerOf is the value of --cloud-provider that the recorded autoscaler has, "" if nothing shows it.
func providerOf(flags []string, groups []scalehist.NodeGroup, nodes []*corev1.Node) string {
	if values := flagValues(flags, "cloud-provider"); len(values) > 0 {
		return values[len(values)-1]
	}
	if countLabelled(nodes, "worker.gardener.cloud/pool") > 0 {
		return gardenerProvider
	}
	if slices.ContainsFunc(groups, func(g scalehist.NodeGroup) bool { return strings.HasPrefix(g.Name, "MachineDeployment/") }) {
		return "clusterapi"
	}
	for _, n := range nodes {
		scheme, _, ok := strings.Cut(n.Spec.ProviderID, "://")
		if ok && slices.ContainsFunc(labels, func(k struct{ provider, label string }) bool { return k.provider == scheme }) {
			return scheme
		}
	}
	return ""
}

// flagValues are the values that flags give to a name, in order; "--name value" and "--name=value", one dash or two.
func flagValues(flags []string, name string) []string {
	var out []string
	for i, f := range flags {
		if !strings.HasPrefix(f, "-") {
			continue
		}
		n, value, ok := strings.Cut(strings.TrimLeft(f, "-"), "=")
		if strings.ReplaceAll(n, "_", "-") != name {
			continue
		}
		if !ok && i+1 < len(flags) {
			value = flags[i+1]
		}
		out = append(out, value)
	}
	return out
}

// Unbound are warnings for limits of GPUs (--gpu-total=TYPE:MIN:MAX) that bind nothing.
func Unbound(rule Rule, flags []string, groups []scalehist.NodeGroup, nodes []*corev1.Node) []string {
	var out []string
	for _, value := range flagValues(flags, "gpu-total") {
		kind, _, _ := strings.Cut(value, ":")
		is := func(n *corev1.Node) bool { return n.Labels[rule.Label] == kind }
		why := ""
		switch {
		case rule.Ignored:
			why = "Gardener's provider does not say which nodes have GPUs, so that its autoscaler does not count them either"
		case rule.Label == "":
			why = "nothing recorded shows by which label nodes with GPUs are marked: name it (--gpu-label)"
		case !slices.ContainsFunc(nodes, is) &&
			!slices.ContainsFunc(groups, func(g scalehist.NodeGroup) bool { return g.Template != nil && is(g.Template) }):
			why = fmt.Sprintf("no node and no template has the label %s=%s", rule.Label, kind)
		default:
			continue
		}
		out = append(out, fmt.Sprintf("--gpu-total=%s limits nothing: %s", value, why))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
