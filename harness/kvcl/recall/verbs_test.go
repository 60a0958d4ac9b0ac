package recall_test

import (
	"fmt"
	"math/rand/v2"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func addPods(p *program, w *world, n [3]uint32) error {
	for i := range 1 + n[1]%6 {
		pod := p.shapes[int(n[0])%len(p.shapes)](p.name(w, "pod"), n[2]+i)
		if p.features["volumes"] {
			if err := putClaims(w, pod); err != nil {
				return err
			}
		}
		if err := w.put(pod); err != nil {
			return err
		}
	}
	return nil
}

func putClaims(w *world, pod *corev1.Pod) error {
	if err := w.put(&storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "late", UID: "late"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}); err != nil {
		return err
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		c := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName, UID: types.UID(pod.Namespace + v.PersistentVolumeClaim.ClaimName)},
			Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: ptr.To("late"), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: memory(10)}}},
		}
		if w.objects[id(c)] != nil {
			continue
		}
		if err := w.put(c); err != nil {
			return err
		}
	}
	return nil
}

func deletePod(_ *program, w *world, n [3]uint32) error {
	pod, ok := pick(w.pods(n[1]%4 != 0), n[0])
	if !ok {
		return nil
	}
	return w.drop(pod)
}

// endPods makes room: without it programs are mostly about pods that do not fit.
func endPods(_ *program, w *world, n [3]uint32) error {
	for i, pod := range w.pods(true) {
		if (uint32(i)+n[0])%3 == 0 {
			continue
		}
		pod = pod.DeepCopy()
		pod.Status.Phase = corev1.PodSucceeded
		if err := w.put(pod); err != nil {
			return err
		}
		delete(w.objects, id(pod))
	}
	if n[1]%2 == 0 {
		for _, pod := range w.pods(false) {
			if err := w.drop(pod); err != nil {
				return err
			}
		}
	}
	return nil
}

func updatePod(_ *program, w *world, n [3]uint32) error {
	pod, ok := pick(w.pods(n[1]%3 == 0), n[0])
	if !ok {
		return nil
	}
	pod = pod.DeepCopy()
	switch n[2] % 8 {
	case 7:
		node, ok := pick(all[*corev1.Node](w), n[1])
		if !ok || pod.Spec.NodeName != "" {
			return nil
		}
		pod.Status.NominatedNodeName = node.Name
	case 0:
		pod.Labels = map[string]string{"app": apps[int(n[1])%len(apps)]}
	case 1:
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists})
	case 2:
		pod.Spec.SchedulingGates = nil
	case 3:
		pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
	case 4:
		pod.Status.Phase = corev1.PodSucceeded
	case 5:
		pod.Status.StartTime = ptr.To(metav1.NewTime(w.now))
		pod.Status.Phase = corev1.PodRunning
		if pod.Spec.NodeName == "" {
			return nil
		}
	case 6:
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: cpu(100 * int(1+n[1]%10))}
	}
	return w.put(pod)
}

func addNode(p *program, w *world, n [3]uint32) error {
	name := p.name(w, "node")
	if n[0]%3 == 0 {
		name = fmt.Sprintf("node-%d", 1+n[1]%6) // of a name that was there before, maybe
		if w.objects[id(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})] != nil {
			return nil
		}
	}
	return w.put(p.node(name, n))
}

func (p *program) node(name string, n [3]uint32) *corev1.Node {
	r := rand.New(rand.NewPCG(uint64(n[1]), uint64(n[2])))
	if p.features["like nodes"] { // so that scores are equal
		r = rand.New(rand.NewPCG(p.seed, 0))
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, n[2])), Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: cpu(1000 * (1 + r.IntN(8))), corev1.ResourceMemory: memory(1024 * (1 + r.IntN(8))),
			corev1.ResourcePods: *resource.NewQuantity(int64([]int{3, 110, 110}[r.IntN(3)]), resource.DecimalSI),
		}},
	}
	if z := r.IntN(len(zones) + 1); z < len(zones) {
		node.Labels[corev1.LabelTopologyZone] = zones[z]
	}
	if r.IntN(5) == 0 {
		delete(node.Labels, corev1.LabelHostname)
	}
	node.Labels["disk"] = []string{"ssd", "ssd", "hdd", "tape"}[r.IntN(4)]
	if p.features["extended"] {
		node.Status.Allocatable[gpu] = *resource.NewQuantity(int64(r.IntN(4)), resource.DecimalSI)
		node.Status.Allocatable[fpga] = *resource.NewQuantity(int64(r.IntN(2)), resource.DecimalSI)
	}
	p.taint(r, node)
	p.images(r, node)
	return node
}

func (p *program) taint(r *rand.Rand, node *corev1.Node) {
	node.Spec.Taints = nil
	if !p.features["taints"] {
		return
	}
	for range r.IntN(3) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "dedicated", Value: []string{"web", "db"}[r.IntN(2)],
			Effect: []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectPreferNoSchedule}[r.IntN(3)]})
	}
}

func (p *program) images(r *rand.Rand, node *corev1.Node) {
	node.Status.Images = nil
	if !p.features["images"] {
		return
	}
	for _, name := range []string{"small:latest", "big:v1", "huge:latest"} {
		if r.IntN(2) == 0 {
			node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{name}, SizeBytes: int64(len(name)) * 80 << 20})
		}
	}
}

func removeNode(_ *program, w *world, n [3]uint32) error {
	node, ok := pick(all[*corev1.Node](w), n[0])
	if !ok {
		return nil
	}
	if n[1]%2 == 0 { // sometimes its pods outlive it
		for _, pod := range w.pods(true) {
			if pod.Spec.NodeName == node.Name {
				if err := w.drop(pod); err != nil {
					return err
				}
			}
		}
	}
	return w.drop(node)
}

func replaceNode(p *program, w *world, n [3]uint32) error {
	node, ok := pick(all[*corev1.Node](w), n[0])
	if !ok {
		return nil
	}
	if err := w.drop(node); err != nil {
		return err
	}
	return w.put(p.node(node.Name, n))
}

func updateNode(p *program, w *world, n [3]uint32) error {
	node, ok := pick(all[*corev1.Node](w), n[0])
	if !ok {
		return nil
	}
	node = node.DeepCopy()
	r := rand.New(rand.NewPCG(uint64(n[1]), uint64(n[2])))
	switch r.IntN(6) {
	case 0:
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case 1:
		p.taint(r, node)
	case 2:
		node.Labels[corev1.LabelTopologyZone] = zones[r.IntN(len(zones))]
	case 3:
		node.Labels["disk"] = []string{"ssd", "hdd"}[r.IntN(2)]
	case 4:
		node.Status.Allocatable[corev1.ResourceCPU] = cpu(1000 * (1 + r.IntN(6)))
	case 5:
		p.images(r, node)
	}
	return w.put(node)
}

func putOwner(p *program, w *world, n [3]uint32) error {
	if !p.features["owners"] {
		return nil
	}
	app, ns := apps[int(n[0])%len(apps)], namespaces[int(n[1])%len(namespaces)]
	meta := metav1.ObjectMeta{Namespace: ns, Name: "owner-" + app, UID: types.UID(ns + app)}
	labels := map[string]string{"app": app}
	switch n[2] % 5 {
	case 0, 1:
		sel := &metav1.LabelSelector{MatchLabels: labels}
		if n[2]%3 == 0 {
			sel = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: apps[:2]}}}
		}
		return w.put(&appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: sel}})
	case 2:
		return w.put(&appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}})
	case 3:
		return w.put(&corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Selector: labels}})
	default:
		return w.put(&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels}})
	}
}

func removeOwner(_ *program, w *world, n [3]uint32) error {
	if s, ok := pick(all[*corev1.Service](w), n[0]); ok && n[1]%2 == 0 {
		return w.drop(s)
	}
	if s, ok := pick(all[*appsv1.ReplicaSet](w), n[0]); ok {
		return w.drop(s)
	}
	return nil
}

func putBudget(_ *program, w *world, n [3]uint32) error {
	app, ns := apps[int(n[0])%len(apps)], namespaces[int(n[1])%len(namespaces)]
	return w.put(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: app, UID: types.UID(ns + app)},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(n[2] % 2)},
	})
}

func putNamespace(_ *program, w *world, n [3]uint32) error {
	name := namespaces[int(n[0])%len(namespaces)]
	return w.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"tier": []string{"x", "y"}[n[1]%2]}}})
}
