package history

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// kindInfo says how one kind is stored.
type kindInfo struct {
	gvk schema.GroupVersionKind
	new func() scalehist.Object
	// custom: unstructured, and the content says the API version: any served one may have been recorded.
	custom bool
}

// kinds are the recorded kinds by stored name, which is "Kind", or "Kind.group" of a custom one: two groups have a
// MachineDeployment. What is not here is left out and counted.
var kinds = func() map[string]kindInfo {
	out := map[string]kindInfo{}
	add := func(gv schema.GroupVersion, kind string, new func() scalehist.Object) {
		out[kind] = kindInfo{gvk: gv.WithKind(kind), new: new}
	}
	add(corev1.SchemeGroupVersion, "Namespace", func() scalehist.Object { return new(corev1.Namespace) })
	add(corev1.SchemeGroupVersion, "Node", func() scalehist.Object { return new(corev1.Node) })
	add(corev1.SchemeGroupVersion, "Pod", func() scalehist.Object { return new(corev1.Pod) })
	add(corev1.SchemeGroupVersion, "ReplicationController", func() scalehist.Object { return new(corev1.ReplicationController) })
	add(corev1.SchemeGroupVersion, "Service", func() scalehist.Object { return new(corev1.Service) })
	add(corev1.SchemeGroupVersion, "PersistentVolume", func() scalehist.Object { return new(corev1.PersistentVolume) })
	add(corev1.SchemeGroupVersion, "PersistentVolumeClaim", func() scalehist.Object { return new(corev1.PersistentVolumeClaim) })
	add(corev1.SchemeGroupVersion, "ConfigMap", func() scalehist.Object { return new(corev1.ConfigMap) })
	add(corev1.SchemeGroupVersion, "ResourceQuota", func() scalehist.Object { return new(corev1.ResourceQuota) })
	add(corev1.SchemeGroupVersion, "LimitRange", func() scalehist.Object { return new(corev1.LimitRange) })
	add(autoscalingv2.SchemeGroupVersion, "HorizontalPodAutoscaler", func() scalehist.Object { return new(autoscalingv2.HorizontalPodAutoscaler) })
	add(schedulingv1.SchemeGroupVersion, "PriorityClass", func() scalehist.Object { return new(schedulingv1.PriorityClass) })
	add(appsv1.SchemeGroupVersion, "DaemonSet", func() scalehist.Object { return new(appsv1.DaemonSet) })
	add(appsv1.SchemeGroupVersion, "Deployment", func() scalehist.Object { return new(appsv1.Deployment) })
	add(appsv1.SchemeGroupVersion, "ReplicaSet", func() scalehist.Object { return new(appsv1.ReplicaSet) })
	add(appsv1.SchemeGroupVersion, "StatefulSet", func() scalehist.Object { return new(appsv1.StatefulSet) })
	add(batchv1.SchemeGroupVersion, "Job", func() scalehist.Object { return new(batchv1.Job) })
	add(policyv1.SchemeGroupVersion, "PodDisruptionBudget", func() scalehist.Object { return new(policyv1.PodDisruptionBudget) })
	add(storagev1.SchemeGroupVersion, "StorageClass", func() scalehist.Object { return new(storagev1.StorageClass) })
	add(storagev1.SchemeGroupVersion, "CSINode", func() scalehist.Object { return new(storagev1.CSINode) })
	add(nodev1.SchemeGroupVersion, "RuntimeClass", func() scalehist.Object { return new(nodev1.RuntimeClass) })
	add(v1alpha1.GroupVersion, "NodeGroup", func() scalehist.Object { return new(v1alpha1.NodeGroup) })
	add(v1alpha1.GroupVersion, "MetricQuery", func() scalehist.Object { return new(v1alpha1.MetricQuery) })
	add(v1alpha1.GroupVersion, "ProviderCall", func() scalehist.Object { return new(v1alpha1.ProviderCall) })
	for _, gk := range objectlog.CustomKinds() {
		out[gk.String()] = kindInfo{new: func() scalehist.Object { return new(unstructured.Unstructured) }, custom: true}
	}
	return out
}()

// KindOf is the name under which a history stores an object's kind, and by which Reconcile and recordings name it: "Pod",
// and of a custom object "MachineDeployment.machine.sapcloud.io".
func KindOf(o scalehist.Object) string { return kindOf(o) }

// kindOf names the kind of a typed object, whose TypeMeta is often empty. Kinds that are not stored are named by
// their TypeMeta, else by their Go type.
func kindOf(o scalehist.Object) string {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		if gk := o.GroupVersionKind().GroupKind(); objectlog.IsCustom(gk) {
			return gk.String()
		}
	case *corev1.Namespace:
		return "Namespace"
	case *corev1.Node:
		return "Node"
	case *corev1.Pod:
		return "Pod"
	case *corev1.ReplicationController:
		return "ReplicationController"
	case *corev1.Service:
		return "Service"
	case *corev1.PersistentVolume:
		return "PersistentVolume"
	case *corev1.PersistentVolumeClaim:
		return "PersistentVolumeClaim"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *corev1.Secret:
		return "Secret"
	case *corev1.ResourceQuota:
		return "ResourceQuota"
	case *corev1.LimitRange:
		return "LimitRange"
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "HorizontalPodAutoscaler"
	case *schedulingv1.PriorityClass:
		return "PriorityClass"
	case *appsv1.DaemonSet:
		return "DaemonSet"
	case *appsv1.Deployment:
		return "Deployment"
	case *appsv1.ReplicaSet:
		return "ReplicaSet"
	case *appsv1.StatefulSet:
		return "StatefulSet"
	case *batchv1.Job:
		return "Job"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *storagev1.StorageClass:
		return "StorageClass"
	case *storagev1.CSINode:
		return "CSINode"
	case *nodev1.RuntimeClass:
		return "RuntimeClass"
	case *v1alpha1.NodeGroup:
		return "NodeGroup"
	case *v1alpha1.MetricQuery:
		return "MetricQuery"
	case *v1alpha1.ProviderCall:
		return "ProviderCall"
	}
	if kind := o.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return fmt.Sprintf("%T", o)
}

// addTo appends o to its list. A MetricQuery and a ProviderCall have none: they are no part of a cluster.
func addTo(list *scalehist.Objects, groups *[]*v1alpha1.NodeGroup, o scalehist.Object) {
	switch o := o.(type) {
	case *corev1.Namespace:
		list.Namespaces = append(list.Namespaces, o)
	case *corev1.Node:
		list.Nodes = append(list.Nodes, o)
	case *corev1.Pod:
		list.Pods = append(list.Pods, o)
	case *corev1.ReplicationController:
		list.ReplicationControllers = append(list.ReplicationControllers, o)
	case *corev1.Service:
		list.Services = append(list.Services, o)
	case *corev1.PersistentVolume:
		list.PersistentVolumes = append(list.PersistentVolumes, o)
	case *corev1.PersistentVolumeClaim:
		list.PersistentVolumeClaims = append(list.PersistentVolumeClaims, o)
	case *corev1.ConfigMap:
		list.ConfigMaps = append(list.ConfigMaps, o)
	case *schedulingv1.PriorityClass:
		list.PriorityClasses = append(list.PriorityClasses, o)
	case *appsv1.DaemonSet:
		list.DaemonSets = append(list.DaemonSets, o)
	case *appsv1.Deployment:
		list.Deployments = append(list.Deployments, o)
	case *appsv1.ReplicaSet:
		list.ReplicaSets = append(list.ReplicaSets, o)
	case *appsv1.StatefulSet:
		list.StatefulSets = append(list.StatefulSets, o)
	case *batchv1.Job:
		list.Jobs = append(list.Jobs, o)
	case *policyv1.PodDisruptionBudget:
		list.PodDisruptionBudgets = append(list.PodDisruptionBudgets, o)
	case *storagev1.StorageClass:
		list.StorageClasses = append(list.StorageClasses, o)
	case *storagev1.CSINode:
		list.CSINodes = append(list.CSINodes, o)
	case *nodev1.RuntimeClass:
		list.RuntimeClasses = append(list.RuntimeClasses, o)
	case *corev1.ResourceQuota:
		list.ResourceQuotas = append(list.ResourceQuotas, o)
	case *corev1.LimitRange:
		list.LimitRanges = append(list.LimitRanges, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		list.HorizontalPodAutoscalers = append(list.HorizontalPodAutoscalers, o)
	case *unstructured.Unstructured:
		list.Custom = append(list.Custom, o)
	case *v1alpha1.NodeGroup:
		*groups = append(*groups, o)
	}
}
