package projection

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
)

// customFields are the fields kept of each custom kind, besides its metadata. "a.b" keeps b whole, "a[].b" keeps b of
// every element. A field called metadata keeps labels and the annotations of keepAnnotation, one called conditions is
// kept without messages and heartbeats, and metadata of a trigger as far as keptTrigger says. What is not named stays out: provider
// specs, user data, secret references.
var customFields = func() map[string][]string {
	out := maps.Clone(providerFields)
	maps.Copy(out, autoscalerFields)
	return out
}()

// providerFields are those of the kinds that node groups are made of.
var providerFields = map[string][]string{
	// https://github.com/gardener/machine-controller-manager/blob/master/docs/documents/apis.md
	"MachineDeployment.machine.sapcloud.io": append([]string{
		"spec.replicas", "spec.minReadySeconds", "spec.paused", "spec.priority", "spec.progressDeadlineSeconds",
		"spec.selector", "spec.strategy", "status.replicas", "status.updatedReplicas", "status.readyReplicas",
		"status.availableReplicas", "status.unavailableReplicas", "status.conditions",
	}, machineTemplate("spec.template.")...),
	"MachineSet.machine.sapcloud.io": append([]string{
		"spec.replicas", "spec.minReadySeconds", "spec.selector", "spec.machineClass.kind", "spec.machineClass.name",
		"status.replicas", "status.fullyLabeledReplicas", "status.readyReplicas", "status.availableReplicas", "status.conditions",
	}, machineTemplate("spec.template.")...),
	"Machine.machine.sapcloud.io": append([]string{
		"spec.providerID", "status.node", "status.conditions", "status.currentStatus.phase", "status.currentStatus.timeoutActive",
		"status.lastOperation.type", "status.lastOperation.state", "status.lastOperation.errorCode", "status.lastOperation.lastUpdateTime",
	}, machineTemplate("")...),
	"MachineClass.machine.sapcloud.io": {"nodeTemplate.capacity", "nodeTemplate.virtualCapacity", "nodeTemplate.instanceType",
		"nodeTemplate.region", "nodeTemplate.zone", "nodeTemplate.architecture", "provider"},
	// https://github.com/gardener/gardener/blob/master/docs/extensions/resources/worker.md
	"Worker.extensions.gardener.cloud": append([]string{
		"spec.type", "spec.region", "status.machineDeployments[].name", "status.machineDeployments[].minimum",
		"status.machineDeployments[].maximum", "status.machineDeployments[].priority", "status.conditions",
	}, each("spec.pools[].", "name", "machineType", "minimum", "maximum", "maxSurge", "maxUnavailable", "zones", "labels", "taints",
		"architecture", "nodeTemplate.capacity", "nodeTemplate.virtualCapacity", "clusterAutoscaler", "priority", "updateStrategy", "kubernetesVersion",
		"machineImage.name", "machineImage.version", "volume.type", "volume.size")...),
	// https://cluster-api.sigs.k8s.io: v1beta1 has strategy, v1beta2 rollout
	"MachineDeployment.cluster.x-k8s.io": append(append([]string{
		"spec.clusterName", "spec.replicas", "spec.selector", "spec.paused", "spec.minReadySeconds", "spec.strategy",
		"spec.rollout.strategy", "spec.template.metadata"},
		each("spec.template.spec.", "failureDomain", "version", "taints", "infrastructureRef.apiVersion", "infrastructureRef.apiGroup",
			"infrastructureRef.kind", "infrastructureRef.name")...),
		each("status.", "replicas", "readyReplicas", "updatedReplicas", "upToDateReplicas", "availableReplicas", "unavailableReplicas",
			"phase", "conditions")...),
	// https://karpenter.sh/docs/concepts/nodepools/
	"NodePool.karpenter.sh": append([]string{"spec.disruption", "spec.limits", "spec.weight", "spec.replicas", "spec.template.metadata",
		"status.resources", "status.nodes", "status.conditions"}, each("spec.template.spec.", claimFields...)...),
	"NodeClaim.karpenter.sh": append([]string{"spec.resources", "status.nodeName", "status.providerID", "status.capacity",
		"status.allocatable", "status.conditions"}, each("spec.", claimFields...)...),
}

// claimFields are shared by a NodeClaim and the template of a NodePool.
var claimFields = []string{"taints", "startupTaints", "requirements", "expireAfter", "terminationGracePeriod",
	"nodeClassRef.group", "nodeClassRef.kind", "nodeClassRef.name"}

// machineTemplate are the fields of Gardener's machine at prefix: the class and the node it becomes.
func machineTemplate(prefix string) []string {
	out := []string{}
	if prefix != "" {
		out = append(out, prefix+"metadata")
	}
	return append(out, each(prefix+"spec.", "class.kind", "class.name", "nodeTemplate.metadata", "nodeTemplate.spec.taints",
		"nodeTemplate.status.capacity", "drainTimeout", "creationTimeout", "healthTimeout")...)
}

func each(prefix string, fields ...string) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = prefix + f
	}
	return out
}

// Fields are the fields that a history keeps of a custom kind ("Machine.machine.sapcloud.io"), besides its metadata: "a.b" is
// b with all that is in it, "a[].b" that of every element. There are none of other kinds.
func Fields(kind string) []string { return slices.Clone(customFields[kind]) }

// projectCustom keeps the named fields of a custom kind. API version and kind stay in the object.
func projectCustom(o *unstructured.Unstructured) (scalehist.Object, bool) {
	fields, ok := customFields[o.GroupVersionKind().GroupKind().String()]
	if !ok {
		return nil, false
	}
	content := map[string]any{}
	for _, f := range fields {
		keepField(o.Object, content, "", strings.Split(f, "."))
	}
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(o.GroupVersionKind())
	meta := projectMeta(metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()})
	SetMeta(out, meta)
	return out, true
}

// SetMeta gives a custom object the metadata that histories keep. What meta does not have, the object does not have either.
func SetMeta(o *unstructured.Unstructured, meta metav1.ObjectMeta) {
	o.SetNamespace(meta.Namespace)
	o.SetName(meta.Name)
	o.SetUID(meta.UID)
	o.SetCreationTimestamp(meta.CreationTimestamp)
	o.SetDeletionTimestamp(meta.DeletionTimestamp)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	o.SetOwnerReferences(meta.OwnerReferences)
}

// keepField copies the field at path, below the field called parent. What is of another type than the path says is left out.
func keepField(from, to map[string]any, parent string, path []string) {
	name, list := strings.CutSuffix(path[0], "[]")
	v, ok := from[name]
	if !ok || v == nil {
		return
	}
	if len(path) == 1 {
		if v, ok = keptValue(parent, name, v); ok {
			to[name] = v
		}
		return
	}
	if list {
		elements, ok := v.([]any)
		if !ok {
			return
		}
		kept, _ := to[name].([]any)
		for i, e := range elements {
			if i >= len(kept) {
				kept = append(kept, map[string]any{})
			}
			if m, ok := e.(map[string]any); ok {
				keepField(m, kept[i].(map[string]any), name, path[1:])
			}
		}
		to[name] = kept
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		return
	}
	inner, _ := to[name].(map[string]any)
	if inner == nil {
		inner = map[string]any{}
	}
	if keepField(m, inner, name, path[1:]); len(inner) > 0 {
		to[name] = inner
	}
}

func keptValue(parent, name string, v any) (any, bool) {
	switch name {
	case "metadata":
		if parent == "triggers" {
			return keptTrigger(v)
		}
		return keptTemplateMeta(v)
	case "containerRecommendations":
		return keptRecommendations(v)
	case "conditions":
		list, ok := v.([]any)
		if !ok {
			return nil, false
		}
		out := []any{}
		for _, e := range list {
			m, _ := e.(map[string]any)
			kept := map[string]any{}
			for _, f := range []string{"type", "status", "reason", "severity", "lastTransitionTime"} {
				if v, ok := m[f].(string); ok {
					kept[f] = v
				}
			}
			out = append(out, kept)
		}
		return out, true
	}
	return copyJSON(v), true
}

func keptTemplateMeta(v any) (any, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := map[string]any{}
	for field, keep := range map[string]func(string) bool{"labels": func(k string) bool { return !droppedLabels[k] }, "annotations": keepAnnotation} {
		kept := map[string]any{}
		values, _ := m[field].(map[string]any)
		for k, v := range values {
			if keep(k) {
				kept[k] = copyJSON(v)
			}
		}
		if len(kept) > 0 {
			out[field] = kept
		}
	}
	return out, len(out) > 0
}

// copyJSON copies a JSON value. Integers of other widths than JSON's, which only a caller's own map has, become int64.
func copyJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = copyJSON(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = copyJSON(e)
		}
		return out
	case int:
		return int64(v)
	case int32:
		return int64(v)
	}
	return v
}
