package crosscheck

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// maker makes a new object of a kind.
type maker func(g *gen) scalehist.Object

// otherKinds are all kinds but pods and nodes, and makerOf how to make each.
var (
	otherKinds = []string{
		"PriorityClass", "RuntimeClass", "ConfigMap", "StorageClass", "CSINode", "PersistentVolume", "PersistentVolumeClaim", "DaemonSet",
		"Deployment", "ReplicaSet", "StatefulSet", "Job", "ReplicationController", "Service", "PodDisruptionBudget", "Namespace",
	}
	makerOf = map[string]maker{
		"Namespace": namespaceObject, "PriorityClass": priorityClass, "RuntimeClass": runtimeClass, "ConfigMap": configMap, "StorageClass": storageClass,
		"CSINode": csiNode, "PersistentVolume": volume, "PersistentVolumeClaim": claim, "DaemonSet": daemonSet, "Deployment": deployment,
		"ReplicaSet": replicaSet, "StatefulSet": statefulSet, "Job": job, "ReplicationController": controller, "Service": service, "PodDisruptionBudget": budget,
	}
	storageKinds = []maker{storageClass, storageClass, claim, claim, claim, volume, volume, csiNode}
	workloads    = []maker{replicaSet, replicaSet, service, service, statefulSet, daemonSet, job, deployment, controller}
)

// someKind picks one of the other kinds of which there is an object, "" when there is none.
func (g *gen) someKind() string {
	kinds := make([]string, 0, len(otherKinds))
	for _, k := range otherKinds {
		if len(g.there[k]) > 0 {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return pick(g, kinds...)
}

func (g *gen) addOther(m maker) Change {
	obj := m(g)
	g.reach("add " + kindName(obj))
	if g.in(8) {
		g.identity(obj)
	}
	if g.in(10) {
		obj.SetAnnotations(map[string]string{"example.com/note": "x"})
	}
	return g.added(obj)
}

// changeOther adds, updates or deletes an object that is neither pod nor node.
func (g *gen) changeOther() Change {
	kind := g.someKind()
	if kind == "" || g.in(2) {
		if g.theme == storage {
			return g.addOther(pick(g, storageKinds...))
		}
		return g.addOther(makerOf[pick(g, otherKinds...)])
	}
	obj := g.some(kind)
	if g.in(4) {
		g.reach("delete " + kindName(obj))
		return g.deleted(obj)
	}
	return g.updateOther(obj, makerOf[kind](g))
}

// updateOther updates obj, with care most of the time: an update to fresh, another object of its kind, may change what may
// not change, and is refused then.
func (g *gen) updateOther(obj, fresh scalehist.Object) Change {
	g.reach("update " + kindName(obj))
	if g.in(3) {
		return edited(obj, "label", func(o scalehist.Object) {
			l := map[string]string{"edited": "yes"}
			for k, v := range o.GetLabels() {
				l[k] = v
			}
			o.SetLabels(l)
		})
	}
	next := obj.DeepCopyObject().(scalehist.Object)
	switch o := next.(type) {
	case *corev1.PersistentVolumeClaim:
		if v, ok := g.some("PersistentVolume").(*corev1.PersistentVolume); ok && o.Spec.VolumeName == "" && g.in(2) {
			g.reach("claim bound by update")
			bindClaim(o, v)
			return g.updated(o)
		}
		o.Labels = map[string]string{"v": "2"}
	case *corev1.PersistentVolume:
		o.Status.Phase = pick(g, corev1.VolumeAvailable, corev1.VolumeReleased, corev1.VolumeBound)
		if g.in(3) {
			o.Spec.ClaimRef = nil
		}
	case *policyv1.PodDisruptionBudget:
		o.Status = fresh.(*policyv1.PodDisruptionBudget).Status
		if g.in(3) {
			o.Spec = fresh.(*policyv1.PodDisruptionBudget).Spec
		}
	case *corev1.Service:
		o.Spec = fresh.(*corev1.Service).Spec
	case *corev1.ConfigMap:
		o.Data = map[string]string{"a": fmt.Sprint(g.n(5))}
	case *appsv1.ReplicaSet:
		o.Spec.Replicas, o.Status.Replicas = ptr.To(int32(g.n(5))), int32(g.n(5))
	case *appsv1.Deployment:
		o.Spec.Replicas = ptr.To(int32(g.n(5)))
	case *appsv1.StatefulSet:
		o.Spec.Replicas, o.Status.ReadyReplicas = ptr.To(int32(g.n(5))), int32(g.n(3))
	case *appsv1.DaemonSet:
		o.Status.DesiredNumberScheduled = int32(g.n(5))
	case *batchv1.Job:
		o.Spec.Parallelism, o.Status.Active = ptr.To(int32(g.n(5))), int32(g.n(3))
	default:
		next.SetLabels(map[string]string{"v": fmt.Sprint(g.n(3))})
		if g.in(3) {
			return g.updated(renamed(fresh, obj))
		}
	}
	if g.in(8) {
		return g.updated(renamed(fresh, obj))
	}
	return g.updated(next)
}

// renamed gives fresh the name of obj.
func renamed(fresh, obj scalehist.Object) scalehist.Object {
	fresh.SetNamespace(obj.GetNamespace())
	fresh.SetName(obj.GetName())
	return fresh
}

func (g *gen) meta(prefix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: g.namespace(), Name: g.name(prefix)}
}

func (g *gen) global(prefix string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: g.name(prefix)}
}

// appLabels are those of one of a few applications.
func (g *gen) appLabels() map[string]string {
	l := map[string]string{"app": g.app()}
	if g.in(4) {
		l["tier"] = pick(g, "front", "back")
	}
	return l
}

// app is one of a few; with budgets mostly the same, so that they meet their pods and each other.
func (g *gen) app() string {
	if g.theme == budgets && !g.in(4) {
		return "web"
	}
	return pick(g, "web", "api", "db")
}

func (g *gen) selector() *metav1.LabelSelector {
	app := g.app()
	if g.in(5) {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: []string{app, "other"}},
		}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// template is the pod template of a workload, and the selector that goes with it.
func (g *gen) template() (*metav1.LabelSelector, corev1.PodTemplateSpec) {
	l := g.appLabels()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: l}, Spec: corev1.PodSpec{Containers: []corev1.Container{g.container("main")}}}
	if g.in(4) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": l["app"]}}, corev1.PodTemplateSpec{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
}

func namespaceObject(g *gen) scalehist.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: pick(g, "team-a", "team-b", "default", "kube-system", "empty"), Labels: map[string]string{"team": pick(g, "a", "b")}}}
}

func priorityClass(g *gen) scalehist.Object {
	c := &schedulingv1.PriorityClass{ObjectMeta: g.global("pc"), Value: int32(pick(g, 0, 10, 100, 1000, -5))}
	if g.in(3) {
		c.PreemptionPolicy = ptr.To(pick(g, corev1.PreemptNever, corev1.PreemptLowerPriority))
	}
	if g.in(5) {
		g.reach("default priority class")
		c.GlobalDefault = true
	}
	return c
}

func runtimeClass(g *gen) scalehist.Object {
	c := &nodev1.RuntimeClass{ObjectMeta: g.global("rt"), Handler: "runsc"}
	if !g.in(3) {
		c.Overhead = &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("64Mi")}}
	}
	if g.in(2) {
		c.Scheduling = &nodev1.Scheduling{NodeSelector: map[string]string{labelDisk: "ssd"},
			Tolerations: []corev1.Toleration{{Key: taintKey, Operator: corev1.TolerationOpExists}}}
	}
	return c
}

func configMap(g *gen) scalehist.Object {
	return &corev1.ConfigMap{ObjectMeta: g.meta("cm"), Data: map[string]string{"a": "b"}, BinaryData: map[string][]byte{"c": {0, 1}}}
}

func replicaSet(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	return &appsv1.ReplicaSet{ObjectMeta: g.meta("rs"), Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To(int32(g.n(4))), Selector: sel, Template: tmpl},
		Status: appsv1.ReplicaSetStatus{Replicas: int32(g.n(4)), ReadyReplicas: int32(g.n(2))}}
}

func deployment(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	return &appsv1.Deployment{ObjectMeta: g.meta("dep"), Spec: appsv1.DeploymentSpec{Selector: sel, Template: tmpl}}
}

func statefulSet(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	s := &appsv1.StatefulSet{ObjectMeta: g.meta("sts"), Spec: appsv1.StatefulSetSpec{Selector: sel, Template: tmpl, ServiceName: "svc"}}
	if g.in(3) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: g.claimSpec()}}
	}
	return s
}

func daemonSet(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	return &appsv1.DaemonSet{ObjectMeta: g.meta("ds"), Spec: appsv1.DaemonSetSpec{Selector: sel, Template: tmpl}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2}}
}

func job(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	tmpl.Spec.RestartPolicy = corev1.RestartPolicyNever
	j := &batchv1.Job{ObjectMeta: g.meta("job"), Spec: batchv1.JobSpec{Template: tmpl}}
	if !g.in(3) {
		j.Spec.Selector = sel
	}
	if g.in(3) {
		j.Spec.Suspend, j.Spec.BackoffLimit = ptr.To(true), ptr.To[int32](2)
	}
	return j
}

func controller(g *gen) scalehist.Object {
	sel, tmpl := g.template()
	return &corev1.ReplicationController{ObjectMeta: g.meta("rc"), Spec: corev1.ReplicationControllerSpec{Selector: sel.MatchLabels, Template: &tmpl}}
}

func service(g *gen) scalehist.Object {
	s := &corev1.Service{ObjectMeta: g.meta("svc"), Spec: corev1.ServiceSpec{Selector: map[string]string{"app": pick(g, "web", "api", "db")}}}
	switch g.n(4) {
	case 1:
		s.Spec.Type, s.Spec.ClusterIP, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, "100.64.1.1", []corev1.ServicePort{{Port: 80, NodePort: 31000}}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	case 2:
		s.Spec.Type, s.Spec.ExternalName, s.Spec.Selector = corev1.ServiceTypeExternalName, "example.com", nil
	case 3:
		s.Spec.ClusterIP = corev1.ClusterIPNone
	}
	return s
}

func budget(g *gen) scalehist.Object {
	b := &policyv1.PodDisruptionBudget{ObjectMeta: g.meta("pdb"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: g.selector()}}
	b.Namespace = pick(g, "default", "default", "default", b.Namespace)
	switch g.n(3) {
	case 0:
		b.Spec.MinAvailable = ptr.To(pick(g, intstr.FromInt32(1), intstr.FromString("50%"), intstr.FromInt32(0)))
	case 1:
		b.Spec.MaxUnavailable = ptr.To(pick(g, intstr.FromInt32(1), intstr.FromString("30%"), intstr.FromInt32(0)))
	}
	if g.in(4) {
		b.Spec.UnhealthyPodEvictionPolicy = ptr.To(pick(g, policyv1.AlwaysAllow, policyv1.IfHealthyBudget))
	}
	if !g.in(4) {
		allowed := int32(g.n(3))
		b.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: int32(g.n(4)), DesiredHealthy: int32(g.n(3)), ExpectedPods: int32(g.n(4))}
		// The budget's controller has seen this spec, or not yet.
		b.Status.ObservedGeneration = int64(pick(g, 1, 1, 1, 0, 2))
		if g.in(4) {
			b.Status.DisruptedPods = map[string]metav1.Time{"p-1": g.past()}
		}
		if g.in(4) {
			b.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionTrue, Reason: "SufficientPods", LastTransitionTime: g.past()}}
		}
	}
	return b
}

func (g *gen) owner(kind, apiVersion string) metav1.OwnerReference {
	ref := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "elsewhere", UID: "owner-uid", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true)}
	if o := g.some(kind); o != nil {
		ref.Name, ref.UID = o.GetName(), types.UID(fmt.Sprintf("%s/%s/%s#1", kind, o.GetNamespace(), o.GetName()))
		if o.GetUID() != "" {
			ref.UID = o.GetUID()
		}
	}
	return ref
}
