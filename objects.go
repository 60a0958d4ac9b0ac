package scalehist

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Object is any Kubernetes object, or a v1alpha1.NodeGroup.
type Object interface {
	runtime.Object
	metav1.Object
}

// NameOf is an object's namespace and name.
func NameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Op says what happened to an object.
type Op string

// The operations of an object log.
const (
	OpAdd    Op = "add"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
)

// Change is one line of an object log: an object came, changed or went at an instant (UTC).
// For OpDelete, Object carries at least kind, namespace, name and UID.
type Change struct {
	At     time.Time
	Op     Op
	Object Object
}

// Objects lists what an API server would list at one instant, each slice in the order the objects were created
// (a stable ordinal, never map order). Times and UIDs in it are the recorded or virtual ones. The objects are shared
// with caches: read, never change.
type Objects struct {
	Namespaces             []*corev1.Namespace             `json:"namespaces,omitempty"`
	Nodes                  []*corev1.Node                  `json:"nodes,omitempty"`
	Pods                   []*corev1.Pod                   `json:"pods,omitempty"`
	PriorityClasses        []*schedulingv1.PriorityClass   `json:"priorityClasses,omitempty"`
	DaemonSets             []*appsv1.DaemonSet             `json:"daemonSets,omitempty"`
	Deployments            []*appsv1.Deployment            `json:"deployments,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
	Jobs                   []*batchv1.Job                  `json:"jobs,omitempty"`
	ReplicationControllers []*corev1.ReplicationController `json:"replicationControllers,omitempty"`
	Services               []*corev1.Service               `json:"services,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	ConfigMaps             []*corev1.ConfigMap             `json:"configMaps,omitempty"`
	RuntimeClasses         []*nodev1.RuntimeClass          `json:"runtimeClasses,omitempty"`
	ResourceQuotas         []*corev1.ResourceQuota         `json:"resourceQuotas,omitempty"`
	LimitRanges            []*corev1.LimitRange            `json:"limitRanges,omitempty"`
	// HorizontalPodAutoscalers say what decided on replicas: recorded, never given to a virtual cluster.
	HorizontalPodAutoscalers []*autoscalingv2.HorizontalPodAutoscaler `json:"horizontalPodAutoscalers,omitempty"`
	// Custom are custom resources that scaling depends on (machine deployments, node pools, vertical autoscalers): recorded,
	// never given to a virtual cluster.
	Custom []*unstructured.Unstructured `json:"custom,omitempty"`
}

// Workloads lists the objects that are neither nodes nor pods, the ones others refer to first. RuntimeClasses,
// ResourceQuotas, LimitRanges, HorizontalPodAutoscalers and Custom are not among them: what they decide shows in the
// pods, workloads and node groups already.
func (o *Objects) Workloads() []Object {
	var out []Object
	out = appendAll(out, o.Namespaces)
	out = appendAll(out, o.PriorityClasses)
	out = appendAll(out, o.StorageClasses)
	out = appendAll(out, o.PersistentVolumes)
	out = appendAll(out, o.PersistentVolumeClaims)
	out = appendAll(out, o.CSINodes)
	out = appendAll(out, o.ConfigMaps)
	out = appendAll(out, o.Services)
	out = appendAll(out, o.ReplicationControllers)
	out = appendAll(out, o.Deployments)
	out = appendAll(out, o.ReplicaSets)
	out = appendAll(out, o.StatefulSets)
	out = appendAll(out, o.Jobs)
	out = appendAll(out, o.DaemonSets)
	return appendAll(out, o.PodDisruptionBudgets)
}

// All lists every object: the workloads, then nodes, then pods.
func (o *Objects) All() []Object {
	return appendAll(appendAll(o.Workloads(), o.Nodes), o.Pods)
}

func appendAll[T Object](out []Object, in []T) []Object {
	for _, o := range in {
		out = append(out, o)
	}
	return out
}
