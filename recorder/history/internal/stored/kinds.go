package stored

import (
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
	// custom: unstructured, and the content says the API version: any served one may have been recorded.
	custom bool
}

// Kinds are the recorded kinds by stored name, which is "Kind", or "Kind.group" of a custom one: two groups have a
// MachineDeployment. What is not here is left out and counted.
var kinds = func() map[string]kindInfo {
	out := map[string]kindInfo{}
	for gv, kinds := range map[schema.GroupVersion][]string{
		corev1.SchemeGroupVersion: {"Namespace", "Node", "Pod", "ReplicationController", "Service", "PersistentVolume", "PersistentVolumeClaim",
			"ConfigMap", "ResourceQuota", "LimitRange"},
		autoscalingv2.SchemeGroupVersion: {"HorizontalPodAutoscaler"},
		schedulingv1.SchemeGroupVersion:  {"PriorityClass"},
		appsv1.SchemeGroupVersion:        {"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		batchv1.SchemeGroupVersion:       {"Job"},
		policyv1.SchemeGroupVersion:      {"PodDisruptionBudget"},
		storagev1.SchemeGroupVersion:     {"StorageClass", "CSINode"},
		nodev1.SchemeGroupVersion:        {"RuntimeClass"},
		v1alpha1.GroupVersion:            {"NodeGroup", "MetricQuery", "ProviderCall"},
	} {
		for _, kind := range kinds {
			out[kind] = kindInfo{gvk: gv.WithKind(kind)}
		}
	}
	for _, gk := range objectlog.CustomKinds() {
		out[gk.String()] = kindInfo{custom: true}
	}
	return out
}()

// New is an empty object of a kind, nil of one that is not stored.
func New(kind string) scalehist.Object {
	info, ok := kinds[kind]
	switch {
	case !ok:
		return nil
	case info.custom:
		return new(unstructured.Unstructured)
	}
	o, err := objectlog.Scheme.New(info.gvk)
	if err != nil {
		panic(err) // cannot fail: kinds are those of the scheme
	}
	return o.(scalehist.Object)
}

// Has says whether objects of a kind are stored.
func Has(kind string) bool { return kinds[kind] != (kindInfo{}) }
