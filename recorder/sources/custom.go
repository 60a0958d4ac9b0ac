package sources

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// The kinds of providers that sources read.
var (
	machineDeploymentKind    = schema.GroupKind{Group: "machine.sapcloud.io", Kind: "MachineDeployment"}
	machineSetKind           = schema.GroupKind{Group: "machine.sapcloud.io", Kind: "MachineSet"}
	machineKind              = schema.GroupKind{Group: "machine.sapcloud.io", Kind: "Machine"}
	machineClassKind         = schema.GroupKind{Group: "machine.sapcloud.io", Kind: "MachineClass"}
	workerKind               = schema.GroupKind{Group: "extensions.gardener.cloud", Kind: "Worker"}
	clusterMachineDeployment = schema.GroupKind{Group: "cluster.x-k8s.io", Kind: "MachineDeployment"}
	nodePoolKind             = schema.GroupKind{Group: "karpenter.sh", Kind: "NodePool"}
	nodeClaimKind            = schema.GroupKind{Group: "karpenter.sh", Kind: "NodeClaim"}
)

// of are the custom objects of a kind, by namespace and name.
func (s State) of(gk schema.GroupKind) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, o := range s.Custom {
		if o.GroupVersionKind().GroupKind() == gk {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
	return out
}

// text is a string or a number at a path, "" if there is none.
func text(o map[string]any, path ...string) string {
	v, ok, err := unstructured.NestedFieldNoCopy(o, path...)
	if !ok || err != nil || v == nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case bool, int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// count is a number of nodes at a path.
func count(o map[string]any, path ...string) (int32, bool) {
	n, err := strconv.ParseInt(text(o, path...), 10, 64)
	if err != nil || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

func object(o map[string]any, path ...string) map[string]any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	m, _ := v.(map[string]any)
	return m
}

func list(o map[string]any, path ...string) []any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	l, _ := v.([]any)
	return l
}

// texts are the strings of a map at a path.
func texts(o map[string]any, path ...string) map[string]string {
	out := map[string]string{}
	for k, v := range object(o, path...) {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// taints at a path; one without a value is one all the same.
func taints(o map[string]any, path ...string) []corev1.Taint {
	var out []corev1.Taint
	for _, e := range list(o, path...) {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		var t corev1.Taint
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &t); err == nil && t.Key != "" {
			t.TimeAdded = nil
			out = append(out, t)
		}
	}
	return out
}

// resources at a path; what is no quantity is left out.
func resources(o map[string]any, path ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for k := range object(o, path...) {
		if q, err := resource.ParseQuantity(text(o, append(slices.Clone(path), k)...)); err == nil {
			out[corev1.ResourceName(k)] = q
		}
	}
	return out
}

// ownerOf is the name of the controlling owner of a kind, "" if there is none.
func ownerOf(o metav1.Object, kind string) string {
	for _, r := range o.GetOwnerReferences() {
		if r.Kind == kind {
			return r.Name
		}
	}
	return ""
}

// shape is what a provider's objects say of a group's nodes.
type shape struct {
	labels, annotations                map[string]string
	taints                             []corev1.Taint
	capacity                           corev1.ResourceList
	zone, region, machineType, cpuArch string
}

// defaultPods is what the kubelet takes (--max-pods), and providers of the cluster-autoscaler with it, when nothing is said.
const defaultPods = 110

// template is the node an autoscaler builds from a shape when the group has none: the provider's labels and those every
// node has, and no reservations: allocatable is capacity. It is nil when the capacity is not known.
func (s shape) template() *v1alpha1.NodeTemplate {
	if s.capacity.Cpu().IsZero() || s.capacity.Memory().IsZero() {
		return nil
	}
	labels := map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: cmp.Or(s.cpuArch, "amd64")}
	for k, v := range map[string]string{corev1.LabelTopologyZone: s.zone, corev1.LabelTopologyRegion: s.region, corev1.LabelInstanceTypeStable: s.machineType} {
		if v != "" {
			labels[k] = v
		}
	}
	for k, v := range s.labels {
		labels[k] = v
	}
	capacity := s.capacity.DeepCopy()
	if _, ok := capacity[corev1.ResourcePods]; !ok {
		capacity[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	t := &v1alpha1.NodeTemplate{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.NodeSpec{Taints: s.taints},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity.DeepCopy()}}
	if len(s.annotations) > 0 {
		t.Annotations = s.annotations
	}
	return t
}
