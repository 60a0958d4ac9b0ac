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
	// custom: unstructured, and the content says the API version: any served one may have been recorded.
	custom bool
}

// new is an empty object of the kind.
func (k kindInfo) new() scalehist.Object {
	if k.custom {
		return new(unstructured.Unstructured)
	}
	o, err := objectlog.Scheme.New(k.gvk)
	if err != nil {
		panic(err) // cannot fail: kinds are those of the scheme
	}
	return o.(scalehist.Object)
}

// kinds are the recorded kinds by stored name, which is "Kind", or "Kind.group" of a custom one: two groups have a
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

// KindOf is the name under which a history stores an object's kind, and by which Reconcile and recordings name it: "Pod",
// and of a custom object "MachineDeployment.machine.sapcloud.io".
//
// Typed objects often have no TypeMeta: theirs is the kind of their type. Kinds that are not stored are named by their TypeMeta, else by
// their Go type.
func KindOf(o scalehist.Object) string {
	gvk := o.GetObjectKind().GroupVersionKind()
	if _, ok := o.(*unstructured.Unstructured); ok && objectlog.IsCustom(gvk.GroupKind()) {
		return gvk.GroupKind().String()
	}
	if of, _, err := objectlog.Scheme.ObjectKinds(o); err == nil {
		return of[0].Kind
	}
	if gvk.Kind != "" {
		return gvk.Kind
	}
	return fmt.Sprintf("%T", o)
}
