package crosscheck

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
)

// mistake is a change that must be refused, in words that must be equal.
func (g *gen) mistake() Change {
	switch g.n(6) {
	case 0:
		m := unusualChanges[g.n(len(unusualChanges))]
		g.reach("refused: " + m.name)
		return m.make(g)
	case 1:
		return g.badUpdate()
	case 2:
		m := badObjects[g.n(len(badObjects))]
		g.reach("refused: " + m.name)
		return Change{Op: scalehist.OpAdd, Object: m.make(g)}
	case 3:
		if p, ok := g.some("Pod").(*corev1.Pod); ok {
			m := badPodUpdates[g.n(len(badPodUpdates))]
			g.reach("refused: pod update: " + m.name)
			if g.in(2) {
				return edited(p, m.name, func(o scalehist.Object) { m.draw(g, o.(*corev1.Pod)) })
			}
			p = p.DeepCopy()
			m.draw(g, p)
			return Change{Op: scalehist.OpUpdate, Object: p, Guarded: true}
		}
		fallthrough
	default:
		m := badPods[g.n(len(badPods))]
		g.reach("refused: pod: " + m.name)
		p := g.pod()
		p.Name = "bad-" + p.Name
		m.draw(g, p)
		return Change{Op: scalehist.OpAdd, Object: p}
	}
}

// unusualChanges are wrong whatever their object is.
var unusualChanges = []struct {
	name string
	make func(g *gen) Change
}{
	{"update what is not there", func(g *gen) Change {
		o := makerOf[pick(g, otherKinds...)](g)
		o.SetName("absent")
		return Change{Op: scalehist.OpUpdate, Object: o}
	}},
	{"update a pod that is not there", func(g *gen) Change {
		p := g.pod()
		p.Name = "absent"
		return Change{Op: scalehist.OpUpdate, Object: p}
	}},
	{"delete what is not there", func(g *gen) Change {
		o := bare(makerOf[pick(g, otherKinds...)](g))
		o.SetName("absent")
		return Change{Op: scalehist.OpDelete, Object: o}
	}},
	{"delete a pod that is not there", func(g *gen) Change {
		p := bare(g.pod())
		p.SetName("absent")
		return Change{Op: scalehist.OpDelete, Object: p}
	}},
	{"add what exists", func(g *gen) Change {
		kinds := []string{"Pod", "Node", "Pod", "Node"}
		if o := g.some(pick(g, append(kinds, otherKinds...)...)); o != nil {
			return Change{Op: scalehist.OpAdd, Object: o}
		}
		return Change{}
	}},
	{"unknown operation", func(g *gen) Change { return Change{Op: "paint", Object: g.pod()} }},
	{"kind that is not stored", func(*gen) Change {
		return Change{Op: scalehist.OpAdd, Object: &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "quota"}}}
	}},
	{"custom object", func(*gen) Change {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("example.com/v1")
		u.SetKind("Pool")
		u.SetName("pool")
		return Change{Op: scalehist.OpAdd, Object: u}
	}},
	{"no object", func(*gen) Change { return Change{Op: scalehist.OpAdd} }},
}

// badPods are features that the API server refuses, most of them.
var badPods = []feature[*corev1.Pod]{
	{"bad name", func(g *gen, p *corev1.Pod) { p.Name = pick(g, "Bad_Name", "a..b", strings.Repeat("x", 300), "-a") }},
	{"no name", func(_ *gen, p *corev1.Pod) { p.Name = "" }},
	{"no namespace", func(_ *gen, p *corev1.Pod) { p.Namespace = "" }},
	{"bad namespace", func(_ *gen, p *corev1.Pod) { p.Namespace = "Not A Namespace" }},
	{"no containers", func(_ *gen, p *corev1.Pod) { p.Spec.Containers = nil }},
	{"container without image", func(_ *gen, p *corev1.Pod) { first(p).Image = "" }},
	{"image with spaces", func(_ *gen, p *corev1.Pod) { first(p).Image = " image " }},
	{"bad container name", func(_ *gen, p *corev1.Pod) { first(p).Name = "Not A Name" }},
	{"containers of one name", func(g *gen, p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, g.container("main")) }},
	{"negative request", func(_ *gen, p *corev1.Pod) {
		first(p).Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("-1")}}
	}},
	{"request over limit", func(_ *gen, p *corev1.Pod) {
		first(p).Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	}},
	{"part of a GPU", func(_ *gen, p *corev1.Pod) { demand(p, gpu, "500m") }},
	{"extended resource without limit", func(_ *gen, p *corev1.Pod) {
		first(p).Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{gpu: resource.MustParse("1")}}
	}},
	{"unknown resource", func(_ *gen, p *corev1.Pod) { demand(p, "flux", "1") }},
	{"huge pages alone", func(_ *gen, p *corev1.Pod) {
		first(p).Resources = corev1.ResourceRequirements{}
		demand(p, "hugepages-2Mi", "3Mi")
	}},
	{"same host port twice", func(_ *gen, p *corev1.Pod) {
		first(p).Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}, {ContainerPort: 81, HostPort: 80}}
	}},
	{"bad port", func(_ *gen, p *corev1.Pod) {
		first(p).Ports = []corev1.ContainerPort{{ContainerPort: 70000, Protocol: "ICE"}}
	}},
	{"unknown priority class", func(_ *gen, p *corev1.Pod) { p.Spec.PriorityClassName = "absent" }},
	{"unknown priority class after good pods", func(_ *gen, p *corev1.Pod) { p.Spec.PriorityClassName = "also-absent" }},
	{"priority too high", func(_ *gen, p *corev1.Pod) { p.Spec.Priority = ptr.To[int32](2100000000) }},
	{"unknown preemption policy", func(_ *gen, p *corev1.Pod) { p.Spec.PreemptionPolicy = ptr.To(corev1.PreemptionPolicy("Maybe")) }},
	{"unknown restart policy", func(_ *gen, p *corev1.Pod) { p.Spec.RestartPolicy = "Perhaps" }},
	// One label alone: errors of several come in the order of a map.
	{"bad label", func(g *gen, p *corev1.Pod) {
		p.Labels = pick(g, map[string]string{"bad key": "x"}, map[string]string{"ok": "no\nline"}, map[string]string{"ok": "bad value!"})
	}},
	{"bad annotation", func(_ *gen, p *corev1.Pod) { p.Annotations = map[string]string{"bad key": "x"} }},
	{"bad owner", func(_ *gen, p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet"}} }},
	{"two controllers", func(g *gen, p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{g.owner("ReplicaSet", "apps/v1"), g.owner("Job", "batch/v1")}
	}},
	{"bad node name", func(_ *gen, p *corev1.Pod) { p.Spec.NodeName = "Not A Node" }},
	{"bad node selector", func(_ *gen, p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"bad key": "x"} }},
	{"bad node affinity", func(_ *gen, p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: "Like"}}}}}}}
	}},
	{"bad toleration", func(_ *gen, p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "", Operator: corev1.TolerationOpEqual}, {Key: "a", Operator: "Like", Effect: "Never"}}
	}},
	{"toleration in seconds of no execute", func(_ *gen, p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule, TolerationSeconds: ptr.To[int64](1)}}
	}},
	{"bad spread", func(_ *gen, p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 0, WhenUnsatisfiable: "Never"}}
	}},
	{"same spread twice", func(_ *gen, p *corev1.Pod) {
		c := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "a", WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{}}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{c, c}
	}},
	{"anti-affinity without topology", func(_ *gen, p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{LabelSelector: &metav1.LabelSelector{}}}}}
	}},
	{"volumes of one name", func(_ *gen, p *corev1.Pod) {
		v := corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
		p.Spec.Volumes = []corev1.Volume{v, v}
	}},
	{"mount without volume", func(_ *gen, p *corev1.Pod) {
		first(p).VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	}},
	{"claim without name", func(_ *gen, p *corev1.Pod) {
		podVolume(p, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}})
	}},
	{"bad gates", func(_ *gen, p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}, {Name: "a"}, {Name: "bad gate"}}
	}},
	{"gates on a bound pod", func(_ *gen, p *corev1.Pod) {
		p.Spec.NodeName, p.Spec.SchedulingGates = "n-0", []corev1.PodSchedulingGate{{Name: "a"}}
	}},
	{"negative grace period", func(_ *gen, p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](-5) }},
	{"deadline of zero", func(_ *gen, p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](0) }},
	{"negative overhead", func(_ *gen, p *corev1.Pod) {
		p.Spec.RuntimeClassName, p.Spec.Overhead = ptr.To("rt-0"), corev1.ResourceList{"cpu": resource.MustParse("-1")}
	}},
	{"pod requests under those of containers", func(_ *gen, p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1m")}}
		first(p).Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	}},
	{"unknown phase", func(_ *gen, p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n-0", "Dancing" }},
	{"status of unknown containers", func(g *gen, p *corev1.Pod) {
		p.Spec.NodeName = "n-0"
		run(g, p)
		p.Status.ContainerStatuses[0].Name = "other"
	}},
	{"bad pod IP", func(g *gen, p *corev1.Pod) {
		p.Spec.NodeName = "n-0"
		run(g, p)
		p.Status.PodIP, p.Status.PodIPs = "nowhere", []corev1.PodIP{{IP: "nowhere"}}
	}},
	{"bad nominated node", func(_ *gen, p *corev1.Pod) { p.Status.NominatedNodeName = "Not A Node" }},
	{"missing resource claim", func(_ *gen, p *corev1.Pod) { first(p).Resources.Claims = []corev1.ResourceClaim{{Name: "c"}} }},
	{"windows with a Linux user", func(_ *gen, p *corev1.Pod) {
		p.Spec.OS, p.Spec.SecurityContext = &corev1.PodOS{Name: corev1.Windows}, &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1)}
	}},
	{"ephemeral containers", func(_ *gen, p *corev1.Pod) {
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "image"}}}
	}},
}

// badPodUpdates change what may not change. They must not draw: an edit is done after the program is drawn.
var badPodUpdates = []feature[*corev1.Pod]{
	{"node selector", func(_ *gen, p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"new": "yes"} }},
	{"affinity", func(_ *gen, p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, TopologyKey: "zone"}}}}
	}},
	{"scheduler", func(_ *gen, p *corev1.Pod) { p.Spec.SchedulerName = "third" }},
	{"priority", func(_ *gen, p *corev1.Pod) { p.Spec.Priority = ptr.To[int32](77) }},
	{"another node", func(_ *gen, p *corev1.Pod) { p.Spec.NodeName = "moved" }},
	{"gate added", func(_ *gen, p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "late"}} }},
	{"no tolerations", func(_ *gen, p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "only", Operator: corev1.TolerationOpExists}}
	}},
	{"another container", func(_ *gen, p *corev1.Pod) {
		p.Spec.Containers = append(append([]corev1.Container{}, p.Spec.Containers...), corev1.Container{Name: "late", Image: "image"})
	}},
	{"container command", func(_ *gen, p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"other"} }},
	{"image removed", func(_ *gen, p *corev1.Pod) { p.Spec.Containers[0].Image = "" }},
	{"bad label", func(_ *gen, p *corev1.Pod) { p.Labels = map[string]string{"bad key": "x"} }},
	{"GPU resized", func(_ *gen, p *corev1.Pod) {
		l := corev1.ResourceList{gpu: resource.MustParse("3")}
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: l, Limits: l}
	}},
	{"resized over the limit", func(_ *gen, p *corev1.Pod) {
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}
	}},
	{"resized below zero", func(_ *gen, p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("-1")}
	}},
	{"all requests gone", func(_ *gen, p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }},
	{"overhead", func(_ *gen, p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("7m")} }},
	{"deadline longer", func(_ *gen, p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr.To[int64](9999) }},
	{"unknown phase", func(_ *gen, p *corev1.Pod) { p.Status.Phase = "Dancing" }},
	{"volume", func(_ *gen, p *corev1.Pod) {
		p.Spec.Volumes = append(append([]corev1.Volume{}, p.Spec.Volumes...), corev1.Volume{Name: "late", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}},
}

// badUpdate replaces an object by another of its kind, with what may not change.
func (g *gen) badUpdate() Change {
	kind := g.someKind()
	if kind == "" {
		return Change{}
	}
	obj := g.some(kind).DeepCopyObject().(scalehist.Object)
	g.reach("refused: immutable " + kindName(obj))
	sel, tmpl := &metav1.LabelSelector{MatchLabels: map[string]string{"other": "x"}}, corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"other": "x"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	switch o := obj.(type) {
	case *schedulingv1.PriorityClass:
		o.Value++
	case *storagev1.StorageClass:
		o.Provisioner = "other.example.com"
	case *storagev1.CSINode:
		o.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, NodeID: "moved"}}
	case *corev1.PersistentVolume:
		o.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/other"}}
	case *corev1.PersistentVolumeClaim:
		o.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
		o.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}
	case *appsv1.ReplicaSet:
		o.Spec.Selector, o.Spec.Template = sel, tmpl
	case *appsv1.Deployment:
		o.Spec.Selector, o.Spec.Template = sel, tmpl
	case *appsv1.DaemonSet:
		o.Spec.Selector, o.Spec.Template = sel, tmpl
	case *appsv1.StatefulSet:
		o.Spec.ServiceName = "moved"
	case *batchv1.Job:
		tmpl.Spec.RestartPolicy = corev1.RestartPolicyNever
		o.Spec.Template = tmpl
	case *policyv1.PodDisruptionBudget:
		o.Spec.MinAvailable, o.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(1))
	default:
		obj.SetLabels(map[string]string{"bad key": "x"})
	}
	return Change{Op: scalehist.OpUpdate, Object: obj, Guarded: true}
}
