package kvcl

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
)

// kind is a kind of object the control plane stores. order is its place in kinds.
type kind struct {
	order      int
	name       string
	resource   string
	namespaced bool
	// status: the kind has a status subresource.
	status bool
	group  func(kubernetes.Interface) rest.Interface
	new    func() scalehist.Object
	// put writes objects, in order, to their slice of o.
	put func(o *scalehist.Objects, objects []scalehist.Object)
}

// kinds are all of scalehist.Objects, in the order in which the scheduler sees their changes: what pods need comes
// before pods.
var (
	kinds = []*kind{
		newKind("Namespace", "namespaces", false, true, core, func(o *scalehist.Objects) *[]*corev1.Namespace { return &o.Namespaces }),
		newKind("PriorityClass", "priorityclasses", false, false, scheduling, func(o *scalehist.Objects) *[]*schedulingv1.PriorityClass { return &o.PriorityClasses }),
		newKind("RuntimeClass", "runtimeclasses", false, false, node, func(o *scalehist.Objects) *[]*nodev1.RuntimeClass { return &o.RuntimeClasses }),
		newKind("ConfigMap", "configmaps", true, false, core, func(o *scalehist.Objects) *[]*corev1.ConfigMap { return &o.ConfigMaps }),
		newKind("StorageClass", "storageclasses", false, false, storage, func(o *scalehist.Objects) *[]*storagev1.StorageClass { return &o.StorageClasses }),
		newKind("CSINode", "csinodes", false, false, storage, func(o *scalehist.Objects) *[]*storagev1.CSINode { return &o.CSINodes }),
		newKind("PersistentVolume", "persistentvolumes", false, true, core, func(o *scalehist.Objects) *[]*corev1.PersistentVolume { return &o.PersistentVolumes }),
		newKind("PersistentVolumeClaim", "persistentvolumeclaims", true, true, core, func(o *scalehist.Objects) *[]*corev1.PersistentVolumeClaim { return &o.PersistentVolumeClaims }),
		newKind("DaemonSet", "daemonsets", true, true, apps, func(o *scalehist.Objects) *[]*appsv1.DaemonSet { return &o.DaemonSets }),
		newKind("Deployment", "deployments", true, true, apps, func(o *scalehist.Objects) *[]*appsv1.Deployment { return &o.Deployments }),
		newKind("ReplicaSet", "replicasets", true, true, apps, func(o *scalehist.Objects) *[]*appsv1.ReplicaSet { return &o.ReplicaSets }),
		newKind("StatefulSet", "statefulsets", true, true, apps, func(o *scalehist.Objects) *[]*appsv1.StatefulSet { return &o.StatefulSets }),
		newKind("Job", "jobs", true, true, batch, func(o *scalehist.Objects) *[]*batchv1.Job { return &o.Jobs }),
		newKind("ReplicationController", "replicationcontrollers", true, true, core, func(o *scalehist.Objects) *[]*corev1.ReplicationController { return &o.ReplicationControllers }),
		newKind("Service", "services", true, true, core, func(o *scalehist.Objects) *[]*corev1.Service { return &o.Services }),
		newKind("PodDisruptionBudget", "poddisruptionbudgets", true, true, policy, func(o *scalehist.Objects) *[]*policyv1.PodDisruptionBudget { return &o.PodDisruptionBudgets }),
		newKind("Node", "nodes", false, true, core, func(o *scalehist.Objects) *[]*corev1.Node { return &o.Nodes }),
		newKind("Pod", "pods", true, true, core, func(o *scalehist.Objects) *[]*corev1.Pod { return &o.Pods }),
	}
	kindByType = func() map[reflect.Type]*kind {
		m := make(map[reflect.Type]*kind, len(kinds))
		for i, k := range kinds {
			k.order = i
			m[reflect.TypeOf(k.new())] = k
		}
		return m
	}()
	podKind       = kindByType[reflect.TypeFor[*corev1.Pod]()]
	nodeKind      = kindByType[reflect.TypeFor[*corev1.Node]()]
	namespaceKind = kindByType[reflect.TypeFor[*corev1.Namespace]()]
	pdbKind       = kindByType[reflect.TypeFor[*policyv1.PodDisruptionBudget]()]
	classKind     = kindByType[reflect.TypeFor[*storagev1.StorageClass]()]
	runtimeKind   = kindByType[reflect.TypeFor[*nodev1.RuntimeClass]()]
	priorityKind  = kindByType[reflect.TypeFor[*schedulingv1.PriorityClass]()]
)

func core(c kubernetes.Interface) rest.Interface       { return c.CoreV1().RESTClient() }
func apps(c kubernetes.Interface) rest.Interface       { return c.AppsV1().RESTClient() }
func batch(c kubernetes.Interface) rest.Interface      { return c.BatchV1().RESTClient() }
func policy(c kubernetes.Interface) rest.Interface     { return c.PolicyV1().RESTClient() }
func storage(c kubernetes.Interface) rest.Interface    { return c.StorageV1().RESTClient() }
func node(c kubernetes.Interface) rest.Interface       { return c.NodeV1().RESTClient() }
func scheduling(c kubernetes.Interface) rest.Interface { return c.SchedulingV1().RESTClient() }

func newKind[T scalehist.Object](name, resource string, namespaced, status bool, group func(kubernetes.Interface) rest.Interface, slot func(*scalehist.Objects) *[]T) *kind {
	elem := reflect.TypeFor[T]().Elem()
	return &kind{
		name: name, resource: resource, namespaced: namespaced, status: status, group: group,
		new: func() scalehist.Object { return reflect.New(elem).Interface().(scalehist.Object) },
		put: func(o *scalehist.Objects, objects []scalehist.Object) {
			list := make([]T, len(objects))
			for i, obj := range objects {
				list[i] = obj.(T)
			}
			*slot(o) = list
		},
	}
}

func kindOf(obj scalehist.Object) (*kind, error) {
	if obj == nil {
		return nil, fmt.Errorf("a change without an object")
	}
	if k, ok := kindByType[reflect.TypeOf(obj)]; ok {
		return k, nil
	}
	return nil, fmt.Errorf("%s: a control plane does not store %T", name(obj), obj)
}

// key is an object's name among those of its kind.
func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func name(obj scalehist.Object) string { return key(obj.GetNamespace(), obj.GetName()) }

// statusOf is the addressable Status field of an object that has one.
func statusOf(obj scalehist.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}
