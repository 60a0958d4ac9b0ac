package plane

import (
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/scalehist/scalehist"
)

// Kind is a kind of object a control plane stores.
type Kind struct {
	// Order is its place in Kinds.
	Order int
	// Name is the Kubernetes kind, Resource its plural in URLs.
	Name, Resource string
	// Group and Version are those of the API; the core group is empty.
	Group, Version string
	Namespaced     bool
	// Status: the kind has a status subresource.
	Status bool
	// New returns an empty object.
	New func() scalehist.Object
	// patch makes the kind's slice of o again from the one that was in from. ordinals are those of the objects in from; it
	// returns those of the objects in o, and whether they are others, for which spare is memory.
	patch func(o, from *scalehist.Objects, ordinals, spare []int64, edits []edit) (now []int64, fresh bool)
}

// Kinds are all of scalehist.Objects, in the order in which the scheduler sees their changes: what pods need comes
// before pods.
var (
	Kinds = []*Kind{
		newKind("Namespace", "namespaces", false, true, "", func(o *scalehist.Objects) *[]*corev1.Namespace { return &o.Namespaces }),
		newKind("PriorityClass", "priorityclasses", false, false, "scheduling.k8s.io", func(o *scalehist.Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
		newKind("RuntimeClass", "runtimeclasses", false, false, "node.k8s.io", func(o *scalehist.Objects) *[]*nodev1.RuntimeClass { return &o.RuntimeClasses }),
		newKind("ConfigMap", "configmaps", true, false, "", func(o *scalehist.Objects) *[]*corev1.ConfigMap { return &o.ConfigMaps }),
		newKind("StorageClass", "storageclasses", false, false, "storage.k8s.io", func(o *scalehist.Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
		newKind("CSINode", "csinodes", false, false, "storage.k8s.io", func(o *scalehist.Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
		newKind("PersistentVolume", "persistentvolumes", false, true, "", func(o *scalehist.Objects) *[]*corev1.PersistentVolume { return &o.PersistentVolumes }),
		newKind("PersistentVolumeClaim", "persistentvolumeclaims", true, true, "", func(o *scalehist.Objects) *[]*corev1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
		newKind("DaemonSet", "daemonsets", true, true, "apps", func(o *scalehist.Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
		newKind("Deployment", "deployments", true, true, "apps", func(o *scalehist.Objects) *[]*appsv1.Deployment { return &o.Deployments }),
		newKind("ReplicaSet", "replicasets", true, true, "apps", func(o *scalehist.Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
		newKind("StatefulSet", "statefulsets", true, true, "apps", func(o *scalehist.Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
		newKind("Job", "jobs", true, true, "batch", func(o *scalehist.Objects) *[]*batchv1.Job { return &o.Jobs }),
		newKind("ReplicationController", "replicationcontrollers", true, true, "", func(o *scalehist.Objects) *[]*corev1.ReplicationController { return &o.ReplicationControllers }),
		newKind("Service", "services", true, true, "", func(o *scalehist.Objects) *[]*corev1.Service { return &o.Services }),
		newKind("PodDisruptionBudget", "poddisruptionbudgets", true, true, "policy", func(o *scalehist.Objects) *[]*policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
		newKind("Node", "nodes", false, true, "", func(o *scalehist.Objects) *[]*corev1.Node { return &o.Nodes }),
		newKind("Pod", "pods", true, true, "", func(o *scalehist.Objects) *[]*corev1.Pod { return &o.Pods }),
	}
	kindByType = func() map[reflect.Type]*Kind {
		m := make(map[reflect.Type]*Kind, len(Kinds))
		for i, k := range Kinds {
			k.Order = i
			m[reflect.TypeOf(k.New())] = k
		}
		return m
	}()
	PodKind       = kindByType[reflect.TypeFor[*corev1.Pod]()]
	NodeKind      = kindByType[reflect.TypeFor[*corev1.Node]()]
	NamespaceKind = kindByType[reflect.TypeFor[*corev1.Namespace]()]
	PDBKind       = kindByType[reflect.TypeFor[*policyv1.PodDisruptionBudget]()]
	classKind     = kindByType[reflect.TypeFor[*storagev1.StorageClass]()]
	runtimeKind   = kindByType[reflect.TypeFor[*nodev1.RuntimeClass]()]
	priorityKind  = kindByType[reflect.TypeFor[*schedulingv1.PriorityClass]()]
)

func newKind[T scalehist.Object](name, resource string, namespaced, status bool, group string, slot func(*scalehist.Objects) *[]T) *Kind {
	elem := reflect.TypeFor[T]().Elem()
	return &Kind{
		Name: name, Resource: resource, Namespaced: namespaced, Status: status, Group: group, Version: "v1",
		New: func() scalehist.Object { return reflect.New(elem).Interface().(scalehist.Object) },
		patch: func(o, from *scalehist.Objects, ordinals, spare []int64, edits []edit) (now []int64, fresh bool) {
			*slot(o), now, fresh = patched(*slot(from), ordinals, spare, edits)
			return now, fresh
		},
	}
}

// KindOf is the kind of an object.
func KindOf(obj scalehist.Object) (*Kind, error) {
	if obj == nil {
		return nil, fmt.Errorf("a change without an object")
	}
	if k, ok := kindByType[reflect.TypeOf(obj)]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("%s: a control plane does not store %T", Name(obj), obj)
}

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Name is an object's name among those of its kind.
func Name(obj scalehist.Object) string { return key(obj.GetNamespace(), obj.GetName()) }

// statusOf is the addressable Status field of an object that has one.
func statusOf(obj scalehist.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}
