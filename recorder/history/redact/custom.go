package redact

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// custom rewrites an object of a provider: its metadata, then every text by the name of its field. Field names stay:
// they are the history's own list. A text whose field is not known is taken for a name.
func (r *rewriter) custom(o *unstructured.Unstructured) {
	kind := o.GetKind()
	w := walk{r, kind}
	meta := metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), Labels: o.GetLabels(),
		Annotations: o.GetAnnotations(), OwnerReferences: o.GetOwnerReferences()}
	w.meta(&meta, "")
	for k, v := range o.Object {
		if k != "metadata" && k != "apiVersion" && k != "kind" {
			o.Object[k] = r.customValue(k, "", v)
		}
	}
	created, deleted := o.GetCreationTimestamp(), o.GetDeletionTimestamp()
	delete(o.Object, "metadata")
	o.SetName(meta.Name)
	o.SetNamespace(meta.Namespace)
	o.SetUID(meta.UID)
	o.SetCreationTimestamp(created)
	o.SetDeletionTimestamp(deleted)
	o.SetLabels(meta.Labels)
	o.SetAnnotations(meta.Annotations)
	o.SetOwnerReferences(meta.OwnerReferences)
}

// plainFields hold enumerations, versions, amounts and times.
var plainFields = words(`
	operator effect status type phase severity state budgets schedule duration consolidationPolicy consolidateAfter expireAfter
	terminationGracePeriod architecture version kubernetesVersion lastTransitionTime lastUpdateTime drainTimeout creationTimeout
	healthTimeout maxSurge maxUnavailable size errorCode updateStrategy instanceType machineType minimum maximum priority weight
	timeoutActive nodes cpu memory scaleDownUtilizationThreshold scaleDownUnneededTime scaleDownUnreadyTime maxNodeProvisionTime
	scaleDownGpuUtilizationThreshold`)

// resourceFields are lists of resources, labelFields of labels.
var (
	resourceFields = words(`capacity virtualCapacity allocatable limits resources requests`)
	labelFields    = words(`labels matchLabels nodeSelector`)
)

// zoneFields are values of topology labels.
var zoneFields = map[string]string{"zone": corev1.LabelTopologyZone, "zones": corev1.LabelTopologyZone,
	"failureDomain": corev1.LabelTopologyZone, "region": corev1.LabelTopologyRegion}

// customAmount are texts without names in any field.
var customAmount = regexp.MustCompile(`^(-?\d{1,3}|\d+(\.\d+)?(%|m|k|M|G|T|Ki|Mi|Gi|Ti|h|s|ms)|(\d+[hms])+|Never|\d{4}-\d\d-\d\dT[0-9:.Z+-]+)$`)

// customValue rewrites a value of a field; key is the label key that the values beside it belong to.
func (r *rewriter) customValue(field, key string, v any) any {
	switch v := v.(type) {
	case string:
		return r.customText(field, key, v)
	case []any:
		for i := range v {
			v[i] = r.customValue(field, key, v[i])
		}
	case map[string]any:
		return r.customMap(field, v)
	}
	return v
}

func (r *rewriter) customMap(field string, m map[string]any) map[string]any {
	switch {
	case labelFields[field], field == "annotations", resourceFields[field]:
		out := make(map[string]any, len(m))
		for k, v := range m {
			s, ok := v.(string)
			switch {
			case resourceFields[field]:
				out[r.resource(k)] = v
			case !ok:
				out[r.labelKey(k)] = r.customValue("value", k, v)
			case field == "annotations":
				out[r.labelKey(k)] = r.annotation(k, s)
			default:
				out[r.labelKey(k)] = r.labelValue(k, s)
			}
		}
		return out
	}
	key, _ := m["key"].(string)
	if op, _ := m["operator"].(string); op == "Gt" || op == "Lt" {
		r.numeric[key] = true
	}
	_, condition := m["lastTransitionTime"]
	for k, v := range m {
		if t, ok := v.(string); ok && condition && k == "type" {
			m[k] = r.open("condition", t, openConditions)
			continue
		}
		m[k] = r.customValue(k, key, v)
	}
	return m
}

func (r *rewriter) customText(field, key, s string) string {
	switch {
	case s == "", plainValues[s], customAmount.MatchString(s):
		return s
	case field == "values" || field == "value":
		return r.labelValue(key, s)
	case plainFields[field]:
		return r.enumeration(field, s)
	case field == "key":
		return r.labelKey(s)
	case zoneFields[field] != "":
		return r.labelValue(zoneFields[field], s)
	case field == "reason" || field == "reasons":
		return r.open("reason", s, openReasons)
	case field == "kind":
		return r.open("kind", s, openKinds)
	case field == "apiVersion":
		return r.apiVersion(s)
	case field == "group" || field == "apiGroup":
		return r.open("api group", s, openGroups)
	case field == "providerID":
		return r.providerID(s)
	case field == "node" || field == "nodeName":
		return r.name("node", s)
	case field == "uid":
		return string(r.uid(types.UID(s)))
	case field == "provider":
		return r.open("provider", s, openSchemes)
	case strings.ContainsAny(s, " \n\t"):
		return r.text(s)
	}
	return r.name("name", s)
}

// enumerationForm is what a word of an API looks like.
var enumerationForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._*/@-]*$`)

// enumeration keeps a word of an API; types of machines, images and volumes are words of the provider.
func (r *rewriter) enumeration(field, s string) string {
	if len(s) <= 63 && enumerationForm.MatchString(s) && (field != "type" || !strings.Contains(s, "/")) {
		return s
	}
	return r.text(s)
}
