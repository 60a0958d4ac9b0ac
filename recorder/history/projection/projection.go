// Package projection says what of an object a history keeps, and so what leaves a cluster: the fields that scheduling and scaling look at, by name.
//
// Environment variables, arguments but those of a cluster-autoscaler, Secrets, ConfigMaps but the autoscaler's, and annotations that
// are not listed are never kept. A recorder throws the rest away before it holds an object: memory stays small and secrets stay out.
package projection

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// Of is what a history keeps of an object: its scaling-relevant part, as a new object of its type without a resource version that shares nothing
// with it. Every field that is kept is named in this package: what an API adds later stays out until it is named.
// It is false for objects that are not kept at all: unknown kinds, Secrets, ConfigMaps other than the autoscaler's.
func Of(o scalehist.Object) (scalehist.Object, bool) {
	switch o := o.(type) {
	case *corev1.Pod:
		return projectPod(o), true
	case *corev1.Node:
		return projectNode(o), true
	case *v1alpha1.NodeGroup:
		out := o.DeepCopy()
		out.TypeMeta = metav1.TypeMeta{}
		out.ObjectMeta = projectMeta(o.ObjectMeta)
		if t := out.Spec.Template; t != nil {
			full := projectNode(&corev1.Node{ObjectMeta: t.ObjectMeta, Spec: t.Spec, Status: t.Status})
			out.Spec.Template = &v1alpha1.NodeTemplate{ObjectMeta: full.ObjectMeta, Spec: full.Spec, Status: full.Status}
		}
		return out, true
	case *corev1.Namespace:
		return &corev1.Namespace{ObjectMeta: projectMeta(o.ObjectMeta), Status: corev1.NamespaceStatus{Phase: o.Status.Phase}}, true
	case *schedulingv1.PriorityClass:
		return &schedulingv1.PriorityClass{ObjectMeta: projectMeta(o.ObjectMeta), Value: o.Value,
			GlobalDefault: o.GlobalDefault, PreemptionPolicy: Clone(o.PreemptionPolicy)}, true
	case *corev1.ConfigMap:
		return projectConfigMap(o)
	case *nodev1.RuntimeClass:
		return &nodev1.RuntimeClass{ObjectMeta: projectMeta(o.ObjectMeta), Handler: o.Handler,
			Overhead: o.Overhead.DeepCopy(), Scheduling: o.Scheduling.DeepCopy()}, true
	case *corev1.ResourceQuota:
		// status.hard follows spec.hard within seconds: only what is used is kept of the status.
		return &corev1.ResourceQuota{ObjectMeta: projectMeta(o.ObjectMeta), Spec: *o.Spec.DeepCopy(),
			Status: corev1.ResourceQuotaStatus{Used: o.Status.Used.DeepCopy()}}, true
	case *v1alpha1.MetricQuery:
		return &v1alpha1.MetricQuery{ObjectMeta: projectMeta(o.ObjectMeta), Spec: o.Spec}, true
	case *v1alpha1.ProviderCall:
		return &v1alpha1.ProviderCall{ObjectMeta: projectMeta(o.ObjectMeta), Spec: o.Spec}, true
	case *unstructured.Unstructured:
		return projectCustom(o)
	}
	if out, ok := projectAutoscaling(o); ok {
		return out, true
	}
	if out, ok := projectOwner(o); ok {
		return out, true
	}
	return projectStorage(o)
}

// projectOwner covers the controllers of pods and what guards or groups pods.
func projectOwner(o scalehist.Object) (scalehist.Object, bool) {
	switch o := o.(type) {
	case *appsv1.DaemonSet:
		return &appsv1.DaemonSet{ObjectMeta: projectMeta(o.ObjectMeta), Spec: appsv1.DaemonSetSpec{
			Selector: o.Spec.Selector.DeepCopy(), Template: projectTemplate(o.Spec.Template, keepNothing)}}, true
	case *appsv1.Deployment:
		return &appsv1.Deployment{ObjectMeta: projectMeta(o.ObjectMeta), Spec: appsv1.DeploymentSpec{
			Replicas: Clone(o.Spec.Replicas), Selector: o.Spec.Selector.DeepCopy(), Strategy: *o.Spec.Strategy.DeepCopy(),
			Paused: o.Spec.Paused, MinReadySeconds: o.Spec.MinReadySeconds, ProgressDeadlineSeconds: Clone(o.Spec.ProgressDeadlineSeconds),
			Template: projectTemplate(o.Spec.Template, keepFlags)}}, true
	case *appsv1.ReplicaSet:
		return &appsv1.ReplicaSet{ObjectMeta: projectMeta(o.ObjectMeta), Spec: appsv1.ReplicaSetSpec{
			Replicas: Clone(o.Spec.Replicas), Selector: o.Spec.Selector.DeepCopy(), MinReadySeconds: o.Spec.MinReadySeconds,
			Template: projectTemplate(o.Spec.Template, keepNothing)}}, true
	case *appsv1.StatefulSet:
		out := &appsv1.StatefulSet{ObjectMeta: projectMeta(o.ObjectMeta), Spec: appsv1.StatefulSetSpec{
			Replicas: Clone(o.Spec.Replicas), Selector: o.Spec.Selector.DeepCopy(), ServiceName: o.Spec.ServiceName,
			PodManagementPolicy: o.Spec.PodManagementPolicy, Ordinals: o.Spec.Ordinals.DeepCopy(),
			UpdateStrategy: *o.Spec.UpdateStrategy.DeepCopy(), MinReadySeconds: o.Spec.MinReadySeconds,
			PersistentVolumeClaimRetentionPolicy: o.Spec.PersistentVolumeClaimRetentionPolicy.DeepCopy(),
			Template:                             projectTemplate(o.Spec.Template, keepNothing)}}
		for i := range o.Spec.VolumeClaimTemplates {
			t := &o.Spec.VolumeClaimTemplates[i]
			meta := projectMeta(t.ObjectMeta)
			meta.CreationTimestamp = metav1.Time{}
			out.Spec.VolumeClaimTemplates = append(out.Spec.VolumeClaimTemplates,
				corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: projectClaimSpec(t.Spec)})
		}
		return out, true
	case *batchv1.Job:
		out := &batchv1.Job{ObjectMeta: projectMeta(o.ObjectMeta), Spec: batchv1.JobSpec{
			Parallelism: Clone(o.Spec.Parallelism), Completions: Clone(o.Spec.Completions),
			ActiveDeadlineSeconds: Clone(o.Spec.ActiveDeadlineSeconds), BackoffLimit: Clone(o.Spec.BackoffLimit),
			Selector: o.Spec.Selector.DeepCopy(), TTLSecondsAfterFinished: Clone(o.Spec.TTLSecondsAfterFinished),
			CompletionMode: Clone(o.Spec.CompletionMode), Suspend: Clone(o.Spec.Suspend),
			BackoffLimitPerIndex: Clone(o.Spec.BackoffLimitPerIndex), MaxFailedIndexes: Clone(o.Spec.MaxFailedIndexes),
			PodReplacementPolicy: Clone(o.Spec.PodReplacementPolicy),
			Template:             projectTemplate(o.Spec.Template, keepNothing)}}
		for _, c := range o.Status.Conditions {
			out.Status.Conditions = append(out.Status.Conditions, batchv1.JobCondition{Type: c.Type, Status: c.Status,
				Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
		}
		return out, true
	case *corev1.ReplicationController:
		out := &corev1.ReplicationController{ObjectMeta: projectMeta(o.ObjectMeta), Spec: corev1.ReplicationControllerSpec{
			Replicas: Clone(o.Spec.Replicas), Selector: cloneMap(o.Spec.Selector)}}
		if o.Spec.Template != nil {
			t := projectTemplate(*o.Spec.Template, keepNothing)
			out.Spec.Template = &t
		}
		return out, true
	case *corev1.Service:
		// Only what spreads pods: the selector (PodTopologySpread's system defaults). Ports and addresses are not kept.
		return &corev1.Service{ObjectMeta: projectMeta(o.ObjectMeta), Spec: corev1.ServiceSpec{
			Type: o.Spec.Type, Selector: cloneMap(o.Spec.Selector)}}, true
	case *policyv1.PodDisruptionBudget:
		return &policyv1.PodDisruptionBudget{ObjectMeta: projectMeta(o.ObjectMeta), Spec: *o.Spec.DeepCopy(),
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: o.Status.DisruptionsAllowed,
				CurrentHealthy: o.Status.CurrentHealthy, DesiredHealthy: o.Status.DesiredHealthy,
				ExpectedPods: o.Status.ExpectedPods}}, true
	}
	return nil, false
}

// projectStorage covers what volume binding and volume limits look at.
func projectStorage(o scalehist.Object) (scalehist.Object, bool) {
	switch o := o.(type) {
	case *corev1.PersistentVolumeClaim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: projectMeta(o.ObjectMeta), Spec: projectClaimSpec(o.Spec),
			Status: corev1.PersistentVolumeClaimStatus{Phase: o.Status.Phase, Capacity: o.Status.Capacity.DeepCopy()}}, true
	case *corev1.PersistentVolume:
		spec := corev1.PersistentVolumeSpec{Capacity: o.Spec.Capacity.DeepCopy(), AccessModes: cloneSlice(o.Spec.AccessModes),
			PersistentVolumeReclaimPolicy: o.Spec.PersistentVolumeReclaimPolicy, StorageClassName: o.Spec.StorageClassName,
			VolumeMode: Clone(o.Spec.VolumeMode), NodeAffinity: o.Spec.NodeAffinity.DeepCopy()}
		if r := o.Spec.ClaimRef; r != nil {
			spec.ClaimRef = &corev1.ObjectReference{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID}
		}
		switch {
		case o.Spec.CSI != nil: // secrets and attributes stay out
			spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: o.Spec.CSI.Driver, VolumeHandle: o.Spec.CSI.VolumeHandle}
		case o.Spec.Local != nil:
			spec.Local = &corev1.LocalVolumeSource{Path: "/kept"}
		case o.Spec.HostPath != nil:
			spec.HostPath = &corev1.HostPathVolumeSource{Path: "/kept"}
		case o.Spec.GCEPersistentDisk != nil:
			spec.GCEPersistentDisk = o.Spec.GCEPersistentDisk.DeepCopy()
		case o.Spec.AWSElasticBlockStore != nil:
			spec.AWSElasticBlockStore = o.Spec.AWSElasticBlockStore.DeepCopy()
		case o.Spec.AzureDisk != nil:
			spec.AzureDisk = o.Spec.AzureDisk.DeepCopy()
		}
		return &corev1.PersistentVolume{ObjectMeta: projectMeta(o.ObjectMeta), Spec: spec,
			Status: corev1.PersistentVolumeStatus{Phase: o.Status.Phase}}, true
	case *storagev1.StorageClass:
		return &storagev1.StorageClass{ObjectMeta: projectMeta(o.ObjectMeta), Provisioner: o.Provisioner,
			ReclaimPolicy: Clone(o.ReclaimPolicy), AllowVolumeExpansion: Clone(o.AllowVolumeExpansion),
			VolumeBindingMode: Clone(o.VolumeBindingMode), AllowedTopologies: o.DeepCopy().AllowedTopologies}, true
	case *storagev1.CSINode:
		return &storagev1.CSINode{ObjectMeta: projectMeta(o.ObjectMeta), Spec: *o.Spec.DeepCopy()}, true
	}
	return nil, false
}

func projectClaimSpec(s corev1.PersistentVolumeClaimSpec) corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{AccessModes: cloneSlice(s.AccessModes), Selector: s.Selector.DeepCopy(),
		Resources: *s.Resources.DeepCopy(), VolumeName: s.VolumeName, StorageClassName: Clone(s.StorageClassName),
		VolumeMode: Clone(s.VolumeMode)}
}

// The two ConfigMaps that say something about scaling (upstream options --expander=priority and
// --status-config-map-name).
const (
	PriorityConfigMap = "cluster-autoscaler-priority-expander"
	StatusConfigMap   = "cluster-autoscaler-status"
)

func projectConfigMap(o *corev1.ConfigMap) (scalehist.Object, bool) {
	if o.Name != PriorityConfigMap && o.Name != StatusConfigMap {
		return nil, false
	}
	out := &corev1.ConfigMap{ObjectMeta: projectMeta(o.ObjectMeta), Data: cloneMap(o.Data)}
	if o.Name == StatusConfigMap {
		// The autoscaler writes it every loop with new probe times: without them it changes only when the status does.
		delete(out.Annotations, "cluster-autoscaler.kubernetes.io/last-updated")
		for k, v := range out.Data {
			out.Data[k] = withoutProbeTimes(v)
		}
	}
	return out, true
}

// withoutProbeTimes drops the lines that change every loop, in the text form from before 1.30 and the YAML form since.
func withoutProbeTimes(s string) string {
	lines := strings.Split(s, "\n")
	kept := lines[:0]
	for _, l := range lines {
		key := strings.TrimLeft(l, " -\t")
		if strings.HasPrefix(key, "lastProbeTime:") || strings.HasPrefix(key, "LastProbeTime:") ||
			strings.HasPrefix(l, "time:") || strings.HasPrefix(l, "Cluster-autoscaler status at ") {
			continue
		}
		kept = append(kept, l)
	}
	return strings.Join(kept, "\n")
}

// Clone copies what a pointer points to; nil stays nil.
func Clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneSlice[T any](s []T) []T {
	if s == nil {
		return nil
	}
	return append([]T{}, s...)
}

func cloneMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}
