package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// Object is a Kubernetes object, or a v1alpha1.NodeGroup, with apiVersion and kind.
type Object struct {
	Value scalehist.Object
	// raw is what a request has until it is decoded as its kind says.
	raw json.RawMessage
}

// kind is one that a recommendation reads.
type kind struct {
	apiVersion, name string
	namespaced       bool
	typ              reflect.Type
	// add takes an object of the kind over.
	add func(*scalehist.Objects, scalehist.Object)
}

func kindOf[T any, P interface {
	*T
	scalehist.Object
}](apiVersion, name string, namespaced bool, list func(*scalehist.Objects) *[]*T) kind {
	return kind{apiVersion, name, namespaced, reflect.TypeFor[T](), func(o *scalehist.Objects, v scalehist.Object) {
		l := list(o)
		*l = append(*l, (*T)(v.(P)))
	}}
}

// kinds are all of scalehist.Objects but custom resources and what decides on requests and replicas.
var kinds = []kind{
	kindOf("v1", "Namespace", false, func(o *scalehist.Objects) *[]*corev1.Namespace { return &o.Namespaces }),
	kindOf("v1", "Node", false, func(o *scalehist.Objects) *[]*corev1.Node { return &o.Nodes }),
	kindOf("v1", "Pod", true, func(o *scalehist.Objects) *[]*corev1.Pod { return &o.Pods }),
	kindOf("v1", "Service", true, func(o *scalehist.Objects) *[]*corev1.Service { return &o.Services }),
	kindOf("v1", "ReplicationController", true, func(o *scalehist.Objects) *[]*corev1.ReplicationController { return &o.ReplicationControllers }),
	kindOf("v1", "PersistentVolume", false, func(o *scalehist.Objects) *[]*corev1.PersistentVolume { return &o.PersistentVolumes }),
	kindOf("v1", "PersistentVolumeClaim", true, func(o *scalehist.Objects) *[]*corev1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
	kindOf("v1", "ConfigMap", true, func(o *scalehist.Objects) *[]*corev1.ConfigMap { return &o.ConfigMaps }),
	kindOf("v1", "ResourceQuota", true, func(o *scalehist.Objects) *[]*corev1.ResourceQuota { return &o.ResourceQuotas }),
	kindOf("apps/v1", "DaemonSet", true, func(o *scalehist.Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
	kindOf("apps/v1", "Deployment", true, func(o *scalehist.Objects) *[]*appsv1.Deployment { return &o.Deployments }),
	kindOf("apps/v1", "ReplicaSet", true, func(o *scalehist.Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
	kindOf("apps/v1", "StatefulSet", true, func(o *scalehist.Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
	kindOf("batch/v1", "Job", true, func(o *scalehist.Objects) *[]*batchv1.Job { return &o.Jobs }),
	kindOf("policy/v1", "PodDisruptionBudget", true, func(o *scalehist.Objects) *[]*policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
	kindOf("scheduling.k8s.io/v1", "PriorityClass", false, func(o *scalehist.Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
	kindOf("storage.k8s.io/v1", "StorageClass", false, func(o *scalehist.Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
	kindOf("storage.k8s.io/v1", "CSINode", false, func(o *scalehist.Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
	kindOf("node.k8s.io/v1", "RuntimeClass", false, func(o *scalehist.Objects) *[]*nodev1.RuntimeClass { return &o.RuntimeClasses }),
	{v1alpha1.GroupVersion.String(), "NodeGroup", false, reflect.TypeFor[v1alpha1.NodeGroup](), nil},
}

func findKind(apiVersion, name string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.apiVersion == apiVersion && k.name == name })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

func kindNames() string {
	out := make([]string, 0, len(kinds))
	for _, k := range kinds {
		out = append(out, k.apiVersion+" "+k.name)
	}
	return strings.Join(out, ", ")
}

func findType(o scalehist.Object) *kind {
	t := reflect.TypeOf(o).Elem()
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.typ == t })
	if i < 0 {
		return nil
	}
	return &kinds[i]
}

// MarshalJSON implements json.Marshaler: the object with its apiVersion and kind, which typed objects seldom have.
func (o Object) MarshalJSON() ([]byte, error) {
	if o.Value == nil {
		if o.raw == nil {
			return []byte("null"), nil
		}
		return o.raw, nil
	}
	b, err := json.Marshal(o.Value)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", o.Value.GetName(), err)
	}
	if !o.Value.GetObjectKind().GroupVersionKind().Empty() {
		return b, nil
	}
	k := findType(o.Value)
	if k == nil {
		return nil, fmt.Errorf("object %s: a recommendation reads no %T", o.Value.GetName(), o.Value)
	}
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q`, k.name, k.apiVersion) // the order of those that have them
	if rest := bytes.TrimPrefix(b, []byte("{")); !bytes.Equal(rest, []byte("}")) {
		return slices.Concat([]byte(head), []byte(","), rest), nil
	}
	return []byte(head + "}"), nil
}

// UnmarshalJSON implements json.Unmarshaler. The object is decoded with the whole request, so that errors name its place.
func (o *Object) UnmarshalJSON(b []byte) error {
	o.Value, o.raw = nil, bytes.Clone(b)
	return nil
}

// objectsOf lists what a request carries of a cluster: all but what is a provider's own.
func objectsOf(o *scalehist.Objects) []Object {
	if o == nil {
		return nil
	}
	all := o.Workloads()
	for _, v := range o.RuntimeClasses {
		all = append(all, v)
	}
	for _, v := range o.ResourceQuotas {
		all = append(all, v)
	}
	for _, v := range o.Nodes {
		all = append(all, v)
	}
	for _, v := range o.Pods {
		all = append(all, v)
	}
	out := make([]Object, len(all))
	for i, v := range all {
		out[i].Value = v
	}
	return out
}

// fillIn gives an object what an API server would have given it and what identity rests on: namespace and UID. Objects
// written by hand have neither.
func (k *kind) fillIn(o scalehist.Object) {
	if k.namespaced && o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	if o.GetUID() == "" {
		o.SetUID(types.UID(strings.ToLower(k.name) + "/" + o.GetNamespace() + "/" + o.GetName()))
	}
}
