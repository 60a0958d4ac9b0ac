package recorder

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/scalehist/scalehist"
)

// madeObject is an object of one kind that a test makes, changes and removes.
type madeObject struct {
	kind   string
	object scalehist.Object
}

// everyKind has an object of each kind but Node, Pod, Namespace and Event.
func everyKind(ns string) []madeObject {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	global := metav1.ObjectMeta{Name: ns}
	labels := map[string]string{"app": "x"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod(ns, "x").Spec}
	job := *template.DeepCopy()
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	one := int32(1)
	gi := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return []madeObject{
		{"PriorityClass", &schedulingv1.PriorityClass{ObjectMeta: global, Value: 7}},
		{"RuntimeClass", &nodev1.RuntimeClass{ObjectMeta: global, Handler: "runc"}},
		{"StorageClass", &storagev1.StorageClass{ObjectMeta: global, Provisioner: "example.com/disk"}},
		{"CSINode", &storagev1.CSINode{ObjectMeta: global, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{}}}},
		{"PersistentVolume", &corev1.PersistentVolume{ObjectMeta: global, Spec: corev1.PersistentVolumeSpec{Capacity: gi,
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}}}},
		{"PersistentVolumeClaim", &corev1.PersistentVolumeClaim{ObjectMeta: named("c"), Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: gi}}}},
		{"ConfigMap", &corev1.ConfigMap{ObjectMeta: named("cluster-autoscaler-priority-expander"), Data: map[string]string{"priorities": "10: [.*]"}}},
		{"ResourceQuota", &corev1.ResourceQuota{ObjectMeta: named("q"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("10")}}}},
		{"LimitRange", &corev1.LimitRange{ObjectMeta: named("lr"), Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}}}},
		{"HorizontalPodAutoscaler", &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named("hpa"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "d"}, MaxReplicas: 3}}},
		{"Service", &corev1.Service{ObjectMeta: named("s"), Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}}},
		{"Deployment", &appsv1.Deployment{ObjectMeta: named("d"), Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: selector, Template: template}}},
		{"DaemonSet", &appsv1.DaemonSet{ObjectMeta: named("ds"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}}},
		{"ReplicaSet", &appsv1.ReplicaSet{ObjectMeta: named("rs"), Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: selector, Template: template}}},
		{"StatefulSet", &appsv1.StatefulSet{ObjectMeta: named("ss"), Spec: appsv1.StatefulSetSpec{Replicas: &one, Selector: selector, Template: template, ServiceName: "s"}}},
		{"Job", &batchv1.Job{ObjectMeta: named("j"), Spec: batchv1.JobSpec{Template: job}}},
		{"ReplicationController", &corev1.ReplicationController{ObjectMeta: named("rc"), Spec: corev1.ReplicationControllerSpec{
			Replicas: &one, Selector: labels, Template: &template}}},
		{"PodDisruptionBudget", &policyv1.PodDisruptionBudget{ObjectMeta: named("pdb"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}}},
	}
}

func (m madeObject) target(t *testing.T) target {
	t.Helper()
	i := slices.IndexFunc(targets, func(x target) bool { return x.kind == m.kind })
	if i < 0 {
		t.Fatalf("%s is not among the targets", m.kind)
	}
	return targets[i]
}

// create makes the object; it goes with the test.
func (m madeObject) create(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	x := m.target(t)
	err := x.client(c).Post().NamespaceIfScoped(m.object.GetNamespace(), m.object.GetNamespace() != "").
		Resource(x.resource.Resource).Body(m.object).Do(t.Context()).Error()
	if err != nil {
		t.Fatalf("create %s: %v", m.kind, err)
	}
	t.Cleanup(func() {
		_ = m.remove(context.Background(), t, c) // a test may have done it
	})
}

func (m madeObject) label(t *testing.T, c kubernetes.Interface) {
	t.Helper()
	x := m.target(t)
	err := x.client(c).Patch("application/merge-patch+json").NamespaceIfScoped(m.object.GetNamespace(), m.object.GetNamespace() != "").
		Resource(x.resource.Resource).Name(m.object.GetName()).Body([]byte(`{"metadata":{"labels":{"changed":"yes"}}}`)).Do(t.Context()).Error()
	if err != nil {
		t.Fatalf("label %s: %v", m.kind, err)
	}
}

func (m madeObject) remove(ctx context.Context, t *testing.T, c kubernetes.Interface) error {
	t.Helper()
	x := m.target(t)
	background, now := metav1.DeletePropagationBackground, int64(0)
	err := x.client(c).Delete().NamespaceIfScoped(m.object.GetNamespace(), m.object.GetNamespace() != "").
		Resource(x.resource.Resource).Name(m.object.GetName()).
		Body(&metav1.DeleteOptions{PropagationPolicy: &background, GracePeriodSeconds: &now}).Do(ctx).Error()
	return err
}

// TestRecordsEveryKind: each kind is recorded when it comes, changes and goes.
func TestRecordsEveryKind(t *testing.T) {
	c, ns := client(t)
	path := t.TempDir() + "/h.db"
	rec := record(t, cluster, Options{Path: path})
	made := everyKind(ns)
	for _, m := range made {
		m.create(t, c)
	}
	rec.flush()
	added := rec.now()
	for _, m := range made {
		m.label(t, c)
	}
	rec.flush()
	changed := rec.now()
	for _, m := range made {
		if err := m.remove(t.Context(), t, c); err != nil {
			t.Fatalf("remove %s: %v", m.kind, err)
		}
	}
	rec.flush()
	removed := rec.now()
	rec.end()

	db := open(t, path)
	before, after, end := recorded(snapshotAt(t, db, added).Objects), recorded(snapshotAt(t, db, changed).Objects), recorded(snapshotAt(t, db, removed).Objects)
	for _, m := range made {
		id := fmt.Sprintf("%s/%s/%s", m.kind, m.object.GetNamespace(), m.object.GetName())
		if o, ok := before[id]; !ok || o.GetLabels()["changed"] != "" {
			t.Errorf("%s: recorded when added: %v, want it without the label", id, ok)
		}
		if o, ok := after[id]; !ok || o.GetLabels()["changed"] != "yes" {
			t.Errorf("%s: recorded when changed: %v, want it with the label", id, ok)
		}
		if _, ok := end[id]; ok {
			t.Errorf("%s: still there after it was deleted", id)
		}
	}
}

// liveIDs lists what the API server has of the recorded kinds: kind/namespace/name -> UID.
func liveIDs(t *testing.T, c kubernetes.Interface) map[string]string {
	t.Helper()
	meta, err := metadata.NewForConfig(cluster)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, x := range targets {
		if x.kind == "Event" {
			continue
		}
		list, err := meta.Resource(x.resource).List(t.Context(), metav1.ListOptions{FieldSelector: x.selector().String()})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			out[fmt.Sprintf("%s/%s/%s", x.kind, o.Namespace, o.Name)] = string(o.UID)
		}
	}
	return out
}

func recordedIDs(o *scalehist.Objects) map[string]string {
	out := map[string]string{}
	for id, obj := range recorded(o) {
		out[id] = string(obj.GetUID())
	}
	return out
}

func recorded(o *scalehist.Objects) map[string]scalehist.Object {
	out := map[string]scalehist.Object{}
	collect(out, "Namespace", o.Namespaces)
	collect(out, "Node", o.Nodes)
	collect(out, "Pod", o.Pods)
	collect(out, "PriorityClass", o.PriorityClasses)
	collect(out, "RuntimeClass", o.RuntimeClasses)
	collect(out, "DaemonSet", o.DaemonSets)
	collect(out, "Deployment", o.Deployments)
	collect(out, "ReplicaSet", o.ReplicaSets)
	collect(out, "StatefulSet", o.StatefulSets)
	collect(out, "Job", o.Jobs)
	collect(out, "ReplicationController", o.ReplicationControllers)
	collect(out, "Service", o.Services)
	collect(out, "PodDisruptionBudget", o.PodDisruptionBudgets)
	collect(out, "PersistentVolume", o.PersistentVolumes)
	collect(out, "PersistentVolumeClaim", o.PersistentVolumeClaims)
	collect(out, "StorageClass", o.StorageClasses)
	collect(out, "CSINode", o.CSINodes)
	collect(out, "ConfigMap", o.ConfigMaps)
	collect(out, "ResourceQuota", o.ResourceQuotas)
	collect(out, "LimitRange", o.LimitRanges)
	collect(out, "HorizontalPodAutoscaler", o.HorizontalPodAutoscalers)
	return out
}

func collect[T scalehist.Object](out map[string]scalehist.Object, kind string, list []T) {
	for _, o := range list {
		out[fmt.Sprintf("%s/%s/%s", kind, o.GetNamespace(), o.GetName())] = o
	}
}

// createNewEvent writes an event the way the scheduler does.
func createNewEvent(t *testing.T, c kubernetes.Interface, ns string, about corev1.ObjectReference) (any, error) {
	return c.EventsV1().Events(ns).Create(t.Context(), &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web.2"},
		EventTime: metav1.NowMicro(), Reason: "FailedScheduling", Action: "Scheduling", Type: "Warning", Regarding: about,
		Note: "0/1 nodes are available", ReportingController: "default-scheduler", ReportingInstance: "host"}, metav1.CreateOptions{})
}

// typedKinds are Kinds without those of providers, which the API server of the tests does not have.
func typedKinds() []string {
	return slices.DeleteFunc(Kinds(), func(kind string) bool { return strings.Contains(kind, ".") })
}
