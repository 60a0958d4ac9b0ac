package recorder

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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/caflags"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/sources"
)

// target is one thing to list and watch.
type target struct {
	// kind as the history names it: "Pod", "Machine.machine.sapcloud.io".
	kind     string
	resource schema.GroupVersionResource
	example  scalehist.Object
	// client is nil for custom kinds, which are watched as unstructured objects.
	client func(kubernetes.Interface) rest.Interface
	// plane is the API server that has it.
	plane plane
	// fields narrows what is watched.
	fields fields.Selector
	// keep narrows what is recorded of it; nil: all.
	keep func(scalehist.Object) bool
	// needed: without it a recording says nothing.
	needed bool
	// live: a virtual cluster has none of it, and is not asked.
	live bool
	// every bounds how often a change of an object is recorded; 0: each is.
	every time.Duration
}

// checkpointsEvery is how often the state of a vertical recommender is recorded. It writes a checkpoint of every container
// with each of its loops, a minute apart, and what it has learnt decays by half in a day: one of the last hour is as good
// to begin a replay with.
const checkpointsEvery = time.Hour

// targets are in the order in which objects of one instant are written: what others refer to comes first.
//
// Events are watched through the core API only: the API server stores events of both APIs as one object and serves
// each through both, so that watching both would see everything twice. The series of events.k8s.io are in it.
var targets = func() []target {
	core := func(c kubernetes.Interface) rest.Interface { return c.CoreV1().RESTClient() }
	apps := func(c kubernetes.Interface) rest.Interface { return c.AppsV1().RESTClient() }
	storage := func(c kubernetes.Interface) rest.Interface { return c.StorageV1().RESTClient() }
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector("metadata.name", name) }
	at := func(gv schema.GroupVersion, resource string) schema.GroupVersionResource {
		return gv.WithResource(resource)
	}
	coreV1, appsV1, storageV1 := corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, storagev1.SchemeGroupVersion
	return []target{
		{kind: "Namespace", resource: at(coreV1, "namespaces"), example: &corev1.Namespace{}, client: core},
		{kind: "PriorityClass", resource: at(schedulingv1.SchemeGroupVersion, "priorityclasses"), example: &schedulingv1.PriorityClass{},
			client: func(c kubernetes.Interface) rest.Interface { return c.SchedulingV1().RESTClient() }},
		{kind: "RuntimeClass", resource: at(nodev1.SchemeGroupVersion, "runtimeclasses"), example: &nodev1.RuntimeClass{},
			client: func(c kubernetes.Interface) rest.Interface { return c.NodeV1().RESTClient() }},
		{kind: "StorageClass", resource: at(storageV1, "storageclasses"), example: &storagev1.StorageClass{}, client: storage},
		{kind: "ConfigMap", resource: at(coreV1, "configmaps"), example: &corev1.ConfigMap{}, client: core,
			fields: named("cluster-autoscaler-priority-expander")},
		{kind: "ConfigMap", resource: at(coreV1, "configmaps"), example: &corev1.ConfigMap{}, client: core,
			fields: named(sources.StatusConfigMap)},
		{kind: "Node", resource: at(coreV1, "nodes"), example: &corev1.Node{}, client: core, needed: true},
		{kind: "CSINode", resource: at(storageV1, "csinodes"), example: &storagev1.CSINode{}, client: storage},
		{kind: "PersistentVolume", resource: at(coreV1, "persistentvolumes"), example: &corev1.PersistentVolume{}, client: core},
		{kind: "PersistentVolumeClaim", resource: at(coreV1, "persistentvolumeclaims"), example: &corev1.PersistentVolumeClaim{}, client: core},
		{kind: "ResourceQuota", resource: at(coreV1, "resourcequotas"), example: &corev1.ResourceQuota{}, client: core},
		{kind: "LimitRange", resource: at(coreV1, "limitranges"), example: &corev1.LimitRange{}, client: core, live: true},
		{kind: "Service", resource: at(coreV1, "services"), example: &corev1.Service{}, client: core},
		{kind: "Deployment", resource: at(appsV1, "deployments"), example: &appsv1.Deployment{}, client: apps},
		{kind: "DaemonSet", resource: at(appsV1, "daemonsets"), example: &appsv1.DaemonSet{}, client: apps},
		{kind: "ReplicaSet", resource: at(appsV1, "replicasets"), example: &appsv1.ReplicaSet{}, client: apps},
		{kind: "StatefulSet", resource: at(appsV1, "statefulsets"), example: &appsv1.StatefulSet{}, client: apps},
		{kind: "Job", resource: at(batchv1.SchemeGroupVersion, "jobs"), example: &batchv1.Job{},
			client: func(c kubernetes.Interface) rest.Interface { return c.BatchV1().RESTClient() }},
		{kind: "ReplicationController", resource: at(coreV1, "replicationcontrollers"), example: &corev1.ReplicationController{}, client: core},
		{kind: "HorizontalPodAutoscaler", resource: at(autoscalingv2.SchemeGroupVersion, "horizontalpodautoscalers"),
			example: &autoscalingv2.HorizontalPodAutoscaler{}, live: true,
			client: func(c kubernetes.Interface) rest.Interface { return c.AutoscalingV2().RESTClient() }},
		{kind: "PodDisruptionBudget", resource: at(policyv1.SchemeGroupVersion, "poddisruptionbudgets"), example: &policyv1.PodDisruptionBudget{},
			client: func(c kubernetes.Interface) rest.Interface { return c.PolicyV1().RESTClient() }},
		{kind: "Pod", resource: at(coreV1, "pods"), example: &corev1.Pod{}, client: core, needed: true},
		{kind: "Event", resource: at(coreV1, "events"), example: &corev1.Event{}, client: core},
	}
}()

// controlTargets are the kinds of targets that are watched in a control plane of its own too, narrowed to what concerns
// this cluster: its autoscaler, the autoscaler's ConfigMaps, and events.
func controlTargets() []target {
	var out []target
	for _, t := range targets {
		switch t.kind {
		case "Deployment":
			t.keep = func(o scalehist.Object) bool {
				d, ok := o.(*appsv1.Deployment)
				return ok && caflags.Of(d) != nil
			}
		case "ConfigMap", "Event":
		default:
			continue
		}
		t.plane = controlPlane
		out = append(out, t)
	}
	return out
}

// customTargets are the custom resources. Their version is whatever the server prefers.
var customTargets = func() []target {
	var out []target
	for _, gk := range objectlog.CustomKinds() {
		t := target{kind: gk.String(), resource: schema.GroupVersionResource{Group: gk.Group}}
		if providerGroups[gk.Group] {
			t.plane = controlPlane
		}
		if gk.Kind == "VerticalPodAutoscalerCheckpoint" {
			t.every = checkpointsEvery
		}
		out = append(out, t)
	}
	return out
}()

// providerGroups are the API groups of what may manage a cluster's machines from another one. Everything else works in the
// cluster that it scales.
var providerGroups = map[string]bool{"cluster.x-k8s.io": true, "extensions.gardener.cloud": true, "machine.sapcloud.io": true}

// gvk is the kind as its API server names it.
func (t target) gvk() schema.GroupVersionKind {
	return t.resource.GroupVersion().WithKind(strings.TrimSuffix(t.kind, "."+t.resource.Group))
}

// Kinds lists the kinds a recorder watches, in the order it writes those of one instant; custom ones are named
// "Kind.group", and are there only if the API server has them.
func Kinds() []string {
	var out []string
	for _, t := range slices.Concat(targets, customTargets) {
		if len(out) == 0 || out[len(out)-1] != t.kind {
			out = append(out, t.kind)
		}
	}
	return out
}

// rank orders kinds within one instant; node groups go before their nodes, and what they are made of before them.
var rank = func() map[string]int {
	out := map[string]int{}
	for i, t := range targets {
		out[t.kind] = 3*i + 2
	}
	for _, t := range customTargets {
		out[t.kind] = out["Node"] - 2
	}
	out["NodeGroup"] = out["Node"] - 1
	return out
}()
