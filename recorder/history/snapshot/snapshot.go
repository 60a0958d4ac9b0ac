package snapshot

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// Of is the cluster at an instant of which these are the objects, in creation order.
func Of(t time.Time, recorded []scalehist.Object) scalehist.ClusterSnapshot {
	objects := &scalehist.Objects{}
	var groups []*v1alpha1.NodeGroup
	for _, o := range recorded {
		add(objects, &groups, o)
	}
	s := scalehist.NewSnapshot(t, objects, nodeGroups(groups), settingsOf(objects))
	s.WorkerPools, s.MachineDeployments = providerObjects(groups, objects.Custom)
	return s
}

// nodeGroups turns the recorded objects into the domain's, in name order.
func nodeGroups(groups []*v1alpha1.NodeGroup) []scalehist.NodeGroup {
	out := make([]scalehist.NodeGroup, 0, len(groups))
	for _, g := range groups {
		out = append(out, NodeGroup(g))
	}
	slices.SortStableFunc(out, func(a, b scalehist.NodeGroup) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// add appends o to its list. A MetricQuery and a ProviderCall have none: they are no part of a cluster.
func add(list *scalehist.Objects, groups *[]*v1alpha1.NodeGroup, o scalehist.Object) {
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
