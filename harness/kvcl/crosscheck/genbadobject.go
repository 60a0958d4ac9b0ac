package crosscheck

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// badObject makes an object that the API server refuses.
type badObject struct {
	name string
	make func(g *gen) scalehist.Object
}

func badMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name}
}

// badObjects are of every kind but pods.
var badObjects = []badObject{
	{"Node name", func(*gen) scalehist.Object { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "Bad_Name"}} }},
	{"Node without name", func(*gen) scalehist.Object { return &corev1.Node{} }},
	{"Node in a namespace", func(*gen) scalehist.Object { return &corev1.Node{ObjectMeta: badMeta("spaced")} }},
	{"Node label", func(*gen) scalehist.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bad-node", Labels: map[string]string{"bad key": "x"}}}
	}},
	{"Node taint", func(*gen) scalehist.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bad-node"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "a", Effect: "Never"}}}}
	}},
	{"Node allocatable", func(*gen) scalehist.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bad-node"}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"cpu": resource.MustParse("-2"), gpu: resource.MustParse("1500m")}}}
	}},
	{"Node CIDR", func(*gen) scalehist.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "bad-node"}, Spec: corev1.NodeSpec{PodCIDR: "x", PodCIDRs: []string{"x"}}}
	}},
	{"Namespace name", func(*gen) scalehist.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "Bad Name"}}
	}},
	{"PriorityClass value", func(*gen) scalehist.Object {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Value: 2000000000}
	}},
	{"PriorityClass policy", func(*gen) scalehist.Object {
		return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "system-bad"}, PreemptionPolicy: ptr.To(corev1.PreemptionPolicy("Maybe"))}
	}},
	{"RuntimeClass handler", func(*gen) scalehist.Object {
		return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("-1")}}}
	}},
	{"ConfigMap keys", func(*gen) scalehist.Object {
		return &corev1.ConfigMap{ObjectMeta: badMeta("bad"), Data: map[string]string{"bad key": "x", "twice": "x"}, BinaryData: map[string][]byte{"twice": {1}}}
	}},
	{"StorageClass provisioner", func(*gen) scalehist.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingMode("Later"))}
	}},
	{"CSINode driver", func(*gen) scalehist.Object {
		return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{Name: "bad driver"}}}}
	}},
	{"PersistentVolume without source", func(*gen) scalehist.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "bad"}}
	}},
	{"PersistentVolume capacity", func(*gen) scalehist.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "bad"}, Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("-1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod, corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/x"}}}}
	}},
	{"PersistentVolumeClaim without anything", func(*gen) scalehist.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: badMeta("bad")}
	}},
	{"PersistentVolumeClaim size", func(g *gen) scalehist.Object {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: badMeta("bad"), Spec: g.claimSpec()}
		c.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("0")
		return c
	}},
	{"DaemonSet selector", func(g *gen) scalehist.Object {
		_, tmpl := g.template()
		return &appsv1.DaemonSet{ObjectMeta: badMeta("bad"), Spec: appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"other": "x"}}, Template: tmpl}}
	}},
	{"Deployment without selector", func(g *gen) scalehist.Object {
		_, tmpl := g.template()
		return &appsv1.Deployment{ObjectMeta: badMeta("bad"), Spec: appsv1.DeploymentSpec{Template: tmpl, Replicas: ptr.To[int32](-1)}}
	}},
	{"ReplicaSet restart policy", func(g *gen) scalehist.Object {
		sel, tmpl := g.template()
		tmpl.Spec.RestartPolicy = corev1.RestartPolicyNever
		return &appsv1.ReplicaSet{ObjectMeta: badMeta("bad"), Spec: appsv1.ReplicaSetSpec{Selector: sel, Template: tmpl}}
	}},
	{"StatefulSet policy", func(g *gen) scalehist.Object {
		sel, tmpl := g.template()
		return &appsv1.StatefulSet{ObjectMeta: badMeta("bad"), Spec: appsv1.StatefulSetSpec{Selector: sel, Template: tmpl, PodManagementPolicy: "Later"}}
	}},
	{"Job restart policy", func(g *gen) scalehist.Object {
		_, tmpl := g.template()
		return &batchv1.Job{ObjectMeta: badMeta("bad"), Spec: batchv1.JobSpec{Template: tmpl, Parallelism: ptr.To[int32](-1)}}
	}},
	{"ReplicationController without template", func(*gen) scalehist.Object {
		return &corev1.ReplicationController{ObjectMeta: badMeta("bad"), Spec: corev1.ReplicationControllerSpec{Selector: map[string]string{"a": "b"}}}
	}},
	{"Service name", func(g *gen) scalehist.Object {
		s := service(g)
		s.SetName("1-bad.name")
		return s
	}},
	{"Service external name", func(*gen) scalehist.Object {
		return &corev1.Service{ObjectMeta: badMeta("bad"), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}
	}},
	{"PodDisruptionBudget of two minds", func(*gen) scalehist.Object {
		return &policyv1.PodDisruptionBudget{ObjectMeta: badMeta("bad"), Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromString("200%")), Selector: &metav1.LabelSelector{}}}
	}},
	{"PodDisruptionBudget status", func(*gen) scalehist.Object {
		return &policyv1.PodDisruptionBudget{ObjectMeta: badMeta("bad"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: -1}}
	}},
	{"no namespace", func(g *gen) scalehist.Object {
		o := pick(g, configMap, service, claim, replicaSet)(g)
		o.SetNamespace("")
		return o
	}},
}
