package contract

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl"
)

func addsBoundPods(s *suite) {
	s.add(node("n-0", 2), pod("bound", 2, running("n-0")), pod("assigned", 0, onNode("n-0")), pod("elsewhere", 1, onNode("gone")))
	s.add(pod("late", 1))
	got := s.settle()
	s.equal("bindings", []kvcl.Binding(nil), got.Bindings)
	s.equal("placements", []string{"bound n-0", "assigned n-0", "elsewhere gone", "late -"}, s.placements())
	p := s.pod(namespace, "bound")
	if p.Status.Phase != corev1.PodRunning || p.Status.StartTime == nil || !p.Status.StartTime.Time.Equal(Now) {
		s.t.Errorf("status %+v, want it as given: Running since %s", p.Status, Now)
	}
}

func deletes(s *suite) {
	s.add(node("n-0", 2), pod("a", 2, func(p *corev1.Pod) { p.Finalizers = []string{"example.com/keep"} }), pod("b", 2))
	s.settle()
	s.apply(scalehist.OpDelete, pod("a", 0))
	s.equal("placements", []string{"b -"}, s.placements())
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("b", "n-0")}})
	// A pod that has ended keeps its place in the list and not on the node.
	done := pod("b", 2, running("n-0"))
	done.Status.Phase = corev1.PodSucceeded
	s.apply(scalehist.OpUpdate, done)
	s.add(pod("c", 2))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("c", "n-0")}})
	s.equal("placements", []string{"b n-0", "c n-0"}, s.placements())
	// A node that is removed leaves its pods, as in a cluster without controllers.
	s.apply(scalehist.OpDelete, node("n-0", 2))
	s.settle()
	s.equal("placements", []string{"b n-0", "c n-0"}, s.placements())
	err := s.try(scalehist.OpDelete, pod("absent", 1))
	s.wantError(err, "Pod default/absent")
	if !apierrors.IsNotFound(err) {
		s.t.Errorf("error %v is not NotFound", err)
	}
}

func updates(s *suite) {
	s.add(node("n-0", 1), pod("a", 2))
	s.settle()
	n := node("n-0", 2)
	n.Labels["pool"] = "x"
	n.Annotations = map[string]string{"example.com/a": "b"}
	s.apply(scalehist.OpUpdate, n)
	got := s.cp.Objects().Nodes[0]
	s.equal("labels", n.Labels, got.Labels)
	s.equal("annotations", n.Annotations, got.Annotations)
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("a", "n-0")}})
	// The recorded pod does not know where the virtual scheduler put it; nothing is taken back.
	p := pod("a", 2)
	p.Labels["tier"] = "front"
	p.Status.Phase = corev1.PodRunning
	s.apply(scalehist.OpUpdate, p)
	s.equal("placements", []string{"a n-0"}, s.placements())
	if got := s.pod(namespace, "a"); got.Status.Phase != corev1.PodRunning || got.Labels["tier"] != "front" {
		s.t.Errorf("pod %v %v, want Running and tier=front", got.Status.Phase, got.Labels)
	}
	s.wantError(s.try(scalehist.OpUpdate, pod("absent", 1)), "Pod default/absent")
}

func keepsUIDsAndTimes(s *suite) {
	created := metav1.NewTime(Now.Add(-time.Hour))
	deleted := metav1.NewTime(Now.Add(time.Minute))
	given := pod("given", 1, func(p *corev1.Pod) {
		p.UID, p.CreationTimestamp = "uid-1", created
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "rs-1", Controller: ptr.To(true)}}
	})
	s.add(node("n-0", 4), given, pod("unnamed", 1))
	s.settle()
	p := s.pod(namespace, "given")
	if p.UID != "uid-1" || !p.CreationTimestamp.Equal(&created) || len(p.OwnerReferences) != 1 || p.OwnerReferences[0].UID != "rs-1" {
		s.t.Errorf("metadata %+v, want UID, time and owner as given", p.ObjectMeta)
	}
	plain := s.pod(namespace, "unnamed")
	added := s.now.Add(-time.Second)
	if plain.UID != types.UID("Pod/default/unnamed#1") || !plain.CreationTimestamp.Time.Equal(added) {
		s.t.Errorf("UID %q created %s, want Pod/default/unnamed#1 at %s", plain.UID, plain.CreationTimestamp, added)
	}
	going := pod("given", 1)
	going.DeletionTimestamp = &deleted
	s.apply(scalehist.OpUpdate, going)
	if p := s.pod(namespace, "given"); !p.DeletionTimestamp.Equal(&deleted) || p.UID != "uid-1" {
		s.t.Errorf("deletion %v, UID %s, want %v and uid-1", p.DeletionTimestamp, p.UID, deleted)
	}
}

func keepsOrder(s *suite) {
	var objects []scalehist.Object
	var want []string
	for i := range 40 {
		// Names that sort otherwise than they come.
		n := fmt.Sprintf("p-%d", (i*7)%40)
		objects = append(objects, pod(n, 1))
		want = append(want, n+" -")
	}
	s.add(objects...)
	s.equal("order", want, s.placements())
}

func reusesNames(s *suite) {
	s.add(node("n-0", 4), pod("a", 1))
	s.settle()
	at := s.now
	s.apply(scalehist.OpDelete, pod("a", 1))
	s.add(pod("a", 2, func(p *corev1.Pod) { p.UID = "second" }))
	s.wantSettled(kvcl.Settled{Bindings: []kvcl.Binding{binding("a", "n-0")}})
	if p := s.pod(namespace, "a"); p.UID != "second" || p.CreationTimestamp.Time.Before(at) {
		s.t.Errorf("pod %s created %s, want the second one", p.UID, p.CreationTimestamp)
	}
	// Within one batch.
	err := s.cp.Apply(s.t.Context(), []scalehist.Change{
		{At: s.now, Op: scalehist.OpAdd, Object: pod("b", 1)},
		{At: s.now, Op: scalehist.OpDelete, Object: pod("b", 1)},
		{At: s.now, Op: scalehist.OpAdd, Object: pod("b", 3)},
		{At: s.now, Op: scalehist.OpUpdate, Object: pod("b", 3, func(p *corev1.Pod) { p.Labels["v"] = "2" })},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.settle()
	if len(got.Bindings) != 0 || len(got.Unschedulable) != 1 {
		s.t.Errorf("settled %+v, want the second b unschedulable", got)
	}
	if p := s.pod(namespace, "b"); p.Labels["v"] != "2" {
		s.t.Errorf("labels %v, want the update", p.Labels)
	}
	s.wantError(s.try(scalehist.OpAdd, pod("b", 1)), "Pod default/b", "already exists")
}

func refusesInvalid(s *suite) {
	bad := pod("bad", 1)
	bad.Spec.Containers[0].Name = "Not A Name"
	err := s.try(scalehist.OpAdd, pod("before", 1), pod("also-before", 1), bad, pod("after", 1), pod("after-2", 1))
	s.wantError(err, "Pod default/bad", "spec.containers[0].name")
	s.equal("placements", []string{"before -", "also-before -"}, s.placements())
	s.settle()
	s.wantError(s.try(scalehist.OpAdd, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "Bad_Name"}}), "Node Bad_Name")
	s.wantError(s.try(scalehist.Op("paint"), pod("x", 1)), "paint")
}

func resolvesPriority(s *suite) {
	s.add(
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000},
		pod("classy", 1, func(p *corev1.Pod) { p.Spec.PriorityClassName = "high" }),
		pod("system", 1, func(p *corev1.Pod) { p.Spec.PriorityClassName = "system-node-critical" }),
	)
	s.equal("priority", ptr.To[int32](1000), s.pod(namespace, "classy").Spec.Priority)
	s.equal("priority", ptr.To[int32](2000001000), s.pod(namespace, "system").Spec.Priority)
	err := s.try(scalehist.OpAdd, pod("odd", 1, func(p *corev1.Pod) { p.Spec.PriorityClassName = "absent" }))
	s.wantError(err, "Pod default/odd", "absent")
	s.settle()
}

func createsNamespaces(s *suite) {
	s.add(pod("a", 1, inNamespace("team")))
	names := func() (out []string) {
		for _, n := range s.cp.Objects().Namespaces {
			out = append(out, n.Name)
		}
		return out
	}
	s.equal("namespaces", []string{"team"}, names())
	// The recorded object may come later.
	s.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", UID: "team-uid", Labels: map[string]string{"a": "b"}}})
	ns := s.cp.Objects().Namespaces[0]
	if ns.UID != "team-uid" || ns.Labels["a"] != "b" {
		s.t.Errorf("namespace %+v, want the one added", ns.ObjectMeta)
	}
	// Namespaces every API server has can be added like others.
	s.add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "ks"}})
	s.equal("namespaces", []string{"team", "kube-system"}, names())
	s.apply(scalehist.OpDelete, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	s.equal("placements", []string(nil), s.placements())
	s.settle()
}

func neverGoesBack(s *suite) {
	_, err := s.cp.Settle(s.t.Context(), s.now.Add(-time.Minute))
	s.wantError(err, "never goes back")
	if _, err := s.cp.Settle(s.t.Context(), s.now); err != nil {
		s.t.Errorf("the same instant again: %v", err)
	}
}

func keepsEveryKind(s *suite) {
	labels := map[string]string{"app": "web"}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	global := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	sel := &metav1.LabelSelector{MatchLabels: labels}
	tmpl := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod("x", 1).Spec}
	once := *tmpl.DeepCopy()
	once.Spec.RestartPolicy = corev1.RestartPolicyNever
	service := &corev1.Service{ObjectMeta: meta("svc"), Spec: corev1.ServiceSpec{
		Selector: labels, Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "100.64.1.1", Ports: []corev1.ServicePort{{Port: 80, NodePort: 31000}},
	}}
	objects := []scalehist.Object{
		&corev1.Namespace{ObjectMeta: global(namespace)},
		&nodev1.RuntimeClass{ObjectMeta: global("gvisor"), Handler: "runsc", Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{"cpu": resource.MustParse("250m")}}},
		&corev1.ConfigMap{ObjectMeta: meta("cm"), Data: map[string]string{"a": "b"}},
		&storagev1.StorageClass{ObjectMeta: global("fast"), Provisioner: "disk.example.com"},
		&storagev1.CSINode{ObjectMeta: global("n-0"), Spec: storagev1.CSINodeSpec{}},
		&corev1.PersistentVolume{ObjectMeta: global("pv"), Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
		}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeReleased}},
		&appsv1.DaemonSet{ObjectMeta: meta("ds"), Spec: appsv1.DaemonSetSpec{Selector: sel, Template: tmpl}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2}},
		&appsv1.Deployment{ObjectMeta: meta("dep"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: sel, Template: tmpl}},
		&appsv1.ReplicaSet{ObjectMeta: meta("rs"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](2), Selector: sel, Template: tmpl}, Status: appsv1.ReplicaSetStatus{Replicas: 2, ReadyReplicas: 1}},
		&appsv1.StatefulSet{ObjectMeta: meta("sts"), Spec: appsv1.StatefulSetSpec{Selector: sel, Template: tmpl, ServiceName: "svc"}},
		&batchv1.Job{ObjectMeta: meta("job"), Spec: batchv1.JobSpec{Selector: sel, Template: once}},
		&corev1.ReplicationController{ObjectMeta: meta("rc"), Spec: corev1.ReplicationControllerSpec{Selector: labels, Template: &tmpl}},
		service,
		&policyv1.PodDisruptionBudget{ObjectMeta: meta("pdb"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: sel}},
		node("n-0", 4),
	}
	s.add(objects...)
	s.settle()
	o := s.cp.Objects()
	all := o.All()
	if got := len(all) + len(o.RuntimeClasses); got != len(objects) {
		s.t.Errorf("%d objects in Cluster, want %d", got, len(objects))
	}
	s.equal("service", service.Spec, o.Services[0].Spec)
	if got := o.PersistentVolumes[0].Status.Phase; got != corev1.VolumeReleased {
		s.t.Errorf("volume is %s, want Released", got)
	}
	if got := o.ReplicaSets[0].Status.ReadyReplicas; got != 1 {
		s.t.Errorf("%d ready replicas, want 1", got)
	}
	scaled := o.Deployments[0].DeepCopy()
	scaled.Spec.Replicas = ptr.To[int32](5)
	s.apply(scalehist.OpUpdate, scaled)
	s.equal("replicas", ptr.To[int32](5), s.cp.Objects().Deployments[0].Spec.Replicas)
	heavy := pod("heavy", 1, func(p *corev1.Pod) { p.Spec.RuntimeClassName = ptr.To("gvisor") })
	s.add(heavy)
	if got := s.pod(namespace, "heavy").Spec.Overhead; got.Cpu().MilliValue() != 250 {
		s.t.Errorf("overhead %v, want that of the runtime class", got)
	}
}
