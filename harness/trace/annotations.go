package trace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
)

// annotationRule says what a replay makes of an annotation that a history keeps.
type annotationRule struct {
	// key is the annotation's, or what it begins with if it ends in "/", "-" or ".".
	key string
	// heeded: a replay does as it says. Else what is met of it is warned about, unless it is without influence.
	heeded, silent bool
	about          string
}

// The domains whose annotations speak to autoscalers: one of them that no rule knows is warned about.
var autoscalerDomains = []string{
	"cluster-autoscaler.kubernetes.io/", "delay-deletion.cluster-autoscaler.kubernetes.io/", "autoscaling.x-k8s.io/", "autoscaler.gardener.cloud/", "karpenter.sh/",
}

// annotationRules are looked at in order; the first that fits holds. Upstream's are those of its FAQ and of
// simulator/drainability, core/scaledown and provisioningrequest; Karpenter's of https://karpenter.sh/docs/concepts/disruption/;
// Gardener's of machine-controller-manager and gardener/autoscaler cloudprovider/mcm.
var annotationRules = []annotationRule{
	{"cluster-autoscaler.kubernetes.io/safe-to-evict", true, false, "whether a pod may be moved: true, false, on-completion"},
	{"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", true, false, "local volumes that do not keep a pod in its place"},
	{"cluster-autoscaler.kubernetes.io/pod-scale-up-delay", true, false, "how old a pod must be to scale up"},
	{"cluster-autoscaler.kubernetes.io/enable-ds-eviction", true, false, "whether a DaemonSet pod is evicted with its node"},
	{"cluster-autoscaler.kubernetes.io/daemonset-pod", true, false, "a pod that counts as a DaemonSet's"},
	{"cluster-autoscaler.kubernetes.io/scale-down-disabled", true, false, "a node that is not to be removed"},
	{"delay-deletion.cluster-autoscaler.kubernetes.io/", true, false, "a drained node that is to be deleted later"},
	{"cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm", false, true, "who put scale-down-disabled there"},
	{"cluster-autoscaler.kubernetes.io/last-updated", false, true, "when the status ConfigMap was written"},
	{"cluster-autoscaler.kubernetes.io/consume-provisioning-request", false, false, "ProvisioningRequests are not modelled: such pods count as any others"},
	{"cluster-autoscaler.kubernetes.io/provisioning-class-name", false, false, "ProvisioningRequests are not modelled: such pods count as any others"},
	{"autoscaling.x-k8s.io/consume-provisioning-request", false, false, "ProvisioningRequests are not modelled: such pods count as any others"},
	{"autoscaling.x-k8s.io/provisioning-class-name", false, false, "ProvisioningRequests are not modelled: such pods count as any others"},
	{"capacity.cluster-autoscaler.kubernetes.io/", true, false, "the template of a Cluster API group; the recorder reads it"},
	{"cluster.x-k8s.io/autoscaling-options-", true, false, "options of a Cluster API group; the recorder reads them"},
	{"cluster.x-k8s.io/cluster-api-autoscaler-node-group-", true, false, "bounds of a Cluster API group; the recorder reads them"},
	{"cluster.k8s.io/cluster-api-autoscaler-node-group-", true, false, "the same, before cluster.x-k8s.io"},
	{"cluster.x-k8s.io/", false, true, "which Cluster API objects a node belongs to"},
	{"cluster.k8s.io/machine", false, true, "which machine a node is"},
	{"autoscaler.gardener.cloud/scale-down-utilization-threshold", true, false, "an option of a Gardener group; the recorder reads it"},
	{"autoscaler.gardener.cloud/scale-down-gpu-utilization-threshold", true, false, "the same"},
	{"autoscaler.gardener.cloud/scale-down-unneeded-time", true, false, "the same"},
	{"autoscaler.gardener.cloud/scale-down-unready-time", true, false, "the same"},
	{"autoscaler.gardener.cloud/max-node-provision-time", true, false, "the same"},
	{"machinepriority.machine.sapcloud.io", false, true, "which machine of a Gardener group goes first: the recorded autoscaler's choice"},
	{"node.machine.sapcloud.io/trigger-deletion-by-mcm", false, true, "which machines of a Gardener group go: the recorded autoscaler's choice"},
	{"karpenter.sh/do-not-disrupt", false, false, "only Karpenter reads it: a cluster-autoscaler may remove such nodes, and move such pods"},
	{"karpenter.sh/do-not-evict", false, false, "only Karpenter read it: a cluster-autoscaler may move such pods"},
	{"karpenter.sh/do-not-consolidate", false, false, "only Karpenter read it: a cluster-autoscaler may remove such nodes"},
	{"karpenter.sh/nodepool-hash", false, true, "Karpenter's own bookkeeping"},
	{"karpenter.sh/nodepool-hash-version", false, true, "Karpenter's own bookkeeping"},
	{"karpenter.sh/provisioner-hash", false, true, "Karpenter's own bookkeeping"},
	{"karpenter.sh/nodeclaim-termination-timestamp", false, true, "when the recorded Karpenter wanted a node gone"},
	{"karpenter.sh/managed-by", false, true, "Karpenter's own bookkeeping"},
	{"autoscaling.keda.sh/", false, true, "whether KEDA scales a workload: its replicas are recorded"},
	{"scheduling.k8s.io/group-name", false, false, "pods of a group that another scheduler places at once are scheduled one by one"},
	{"scheduler.alpha.kubernetes.io/", false, true, "defaults that pods have in full when they are recorded"},
	{"node-lifecycle.", false, true, "what is planned with a node: it goes when it went"},
	{"controller.kubernetes.io/pod-deletion-cost", false, true, "which pods a ReplicaSet deletes: those that were deleted are"},
	{"batch.kubernetes.io/job-completion-index", false, true, "which pod of a Job it is"},
	{"kubernetes.io/config.", true, false, "a static pod, which is not moved"},
	{"pv.kubernetes.io/", true, false, "the binding of volumes and claims"},
	{"volume.kubernetes.io/", true, false, "the binding of volumes and claims"},
	{"volume.beta.kubernetes.io/", true, false, "the binding of volumes and claims"},
	{"storageclass.", true, false, "the default storage class"},
	{"storage.alpha.kubernetes.io/migrated-plugins", true, false, "which limits of volumes count"},
	{"scalehist.io/", true, false, "this program's own"},
}

// ruleOf finds the rule of an annotation.
func ruleOf(key string) (annotationRule, bool) {
	for _, r := range annotationRules {
		if key == r.key || strings.ContainsAny(r.key[len(r.key)-1:], "/-.") && strings.HasPrefix(key, r.key) {
			return r, true
		}
	}
	return annotationRule{}, false
}

// met is an annotation that is not heeded, and who has it.
type met struct {
	first  string
	things map[string]map[string]bool // by "pod" or "node": which
}

// annotationWarnings names, of the pods and nodes of a window, those whose annotations ask for what a replay does not do, and
// MachineDeployments whose options did not come with their group.
func (r *recorded) annotationWarnings() []string {
	unheeded, bare := map[string]*met{}, r.bareGroups()
	note := func(key, what, name string) {
		m := unheeded[key]
		if m == nil {
			m = &met{first: what + " " + name, things: map[string]map[string]bool{}}
			unheeded[key] = m
		}
		if m.things[what] == nil {
			m.things[what] = map[string]bool{}
		}
		m.things[what][name] = true
	}
	look := func(o scalehist.Object) {
		what, name := "", o.GetName()
		switch o := o.(type) {
		case *corev1.Pod:
			what, name = "pod", scalehist.NameOf(o).String()
		case *corev1.Node:
			what = "node"
		case *unstructured.Unstructured:
			if o.GetKind() == "MachineDeployment" && hasOptions(o.GetAnnotations()) &&
				(bare[o.GetNamespace()+"."+o.GetName()] || bare["MachineDeployment/"+o.GetNamespace()+"/"+o.GetName()]) {
				note("", "MachineDeployment", scalehist.NameOf(o).String())
			}
			return
		default:
			return
		}
		for _, key := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
			rule, known := ruleOf(key)
			speaks := slices.ContainsFunc(autoscalerDomains, func(d string) bool { return strings.HasPrefix(key, d) })
			if v := o.GetAnnotations()[key]; v == "" || v == "false" || known && (rule.heeded || rule.silent) || !known && !speaks {
				continue
			}
			note(key, what, name)
		}
	}
	for _, o := range r.initial.Objects.All() {
		look(o)
	}
	for _, o := range r.initial.Objects.Custom {
		look(o)
	}
	for _, ch := range r.changes {
		if ch.Op != scalehist.OpDelete {
			look(ch.Object)
		}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(unheeded)) {
		m := unheeded[key]
		if key == "" {
			out = append(out, fmt.Sprintf("autoscaling options are on %s, but their node groups were recorded without: flags decide", m))
			continue
		}
		rule, known := ruleOf(key)
		if !known {
			rule.about = "it is not known here, and nothing is done about it"
		}
		out = append(out, fmt.Sprintf("annotation %s is on %s: %s", key, m, rule.about))
	}
	return out
}

// String is "3 pods and 1 node (the first: pod default/web-1)".
func (m *met) String() string {
	var counts []string
	total := 0
	for _, what := range slices.Sorted(maps.Keys(m.things)) {
		n := len(m.things[what])
		total += n
		plural := what
		if n > 1 {
			plural += "s"
		}
		counts = append(counts, fmt.Sprintf("%d %s", n, plural))
	}
	if total == 1 {
		return m.first
	}
	return fmt.Sprintf("%s (the first: %s)", strings.Join(counts, " and "), m.first)
}

// hasOptions: annotations of a MachineDeployment say how its group scales.
func hasOptions(annotations map[string]string) bool {
	for k, v := range annotations {
		if v != "" && (strings.HasPrefix(k, "autoscaler.gardener.cloud/") || strings.HasPrefix(k, "cluster.x-k8s.io/autoscaling-options-")) {
			return true
		}
	}
	return false
}

// bareGroups names the groups that never have options within the window.
func (r *recorded) bareGroups() map[string]bool {
	out := map[string]bool{}
	see := func(g scalehist.NodeGroup) {
		if bare, seen := out[g.Name]; !seen || bare {
			out[g.Name] = g.Options == nil
		}
	}
	for _, g := range r.groups {
		see(g)
	}
	for _, c := range r.groupChanges() {
		see(c.Group)
	}
	return out
}

// steersRemoval are the annotations of a node that say whether and when it may be removed: they are causes.
func steersRemoval(n *corev1.Node) map[string]string {
	out := map[string]string{}
	for k, v := range n.Annotations {
		if k == "cluster-autoscaler.kubernetes.io/scale-down-disabled" || strings.HasPrefix(k, "delay-deletion.cluster-autoscaler.kubernetes.io/") {
			out[k] = v
		}
	}
	return out
}
