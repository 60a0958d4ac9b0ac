package crosscheck

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func (g *gen) addPod() Change {
	if g.pods >= maxPods {
		return g.updatePod()
	}
	g.pods++
	p := g.pod()
	most := 3
	switch {
	case g.in(6):
		most = 6
	case g.theme == crowded, g.theme == budgets, g.theme == spread, g.theme == storage:
		most = 1 // the more a pod asks for, the less depends on what there is
	}
	draw(g, "pod", most, p, podFeatures)
	switch g.theme {
	case crowded:
		// Those that come later matter more, mostly.
		switch {
		case g.in(4):
			podPriority(g, p)
		case p.Spec.Priority == nil && p.Spec.PriorityClassName == "":
			p.Spec.Priority = ptr.To(int32(g.pods/4*10 - 5*g.n(2)))
		}
		if g.in(3) {
			demand(p, corev1.ResourceCPU, pick(g, "1", "2", "1500m"))
		}
	case spread:
		f := spreadFeatures[g.n(len(spreadFeatures))]
		g.reach("pod: " + f.name)
		f.draw(g, p)
	case storage:
		if !g.in(4) {
			podClaim(g, p)
		}
	case budgets:
		if !g.in(4) {
			p.Spec.NodeName = g.nodeName()
			run(g, p)
		}
	case general, life, mistakes, fleet:
	}
	return g.added(p)
}

func (g *gen) pod() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: g.meta("p"), Spec: corev1.PodSpec{Containers: []corev1.Container{g.container("main")}}}
	p.Labels = g.appLabels()
	if g.theme == budgets {
		p.Namespace = pick(g, "default", "default", "default", p.Namespace)
	}
	return p
}

func (g *gen) container(name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "image"}
	list := corev1.ResourceList{}
	if !g.in(8) {
		list[corev1.ResourceCPU] = resource.MustParse(pick(g, "500m", "1", "100m", "2", "0.25", "1500m"))
	}
	if g.in(2) {
		list[corev1.ResourceMemory] = resource.MustParse(pick(g, "512Mi", "1Gi", "1.5Gi", "3000000000", "128974848"))
	}
	c.Resources.Requests = list
	if g.in(4) {
		c.Resources.Limits = list.DeepCopy()
	}
	return c
}

func first(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }

// extended resources and huge pages need limits equal to requests.
func demand(p *corev1.Pod, name corev1.ResourceName, amount string) {
	r := &first(p).Resources
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	r.Requests[name], r.Limits[name] = resource.MustParse(amount), resource.MustParse(amount)
}

func podPriority(g *gen, p *corev1.Pod) {
	if c := g.some("PriorityClass"); c != nil && g.in(2) {
		g.reach("pod: of a priority class")
		p.Spec.PriorityClassName = c.GetName()
		return
	}
	p.Spec.Priority = ptr.To(pick[int32](g, 0, 10, 100, 1000))
}

func podClaim(g *gen, p *corev1.Pod) {
	name := "absent"
	if c := g.some("PersistentVolumeClaim"); c != nil && !g.in(10) {
		p.Namespace, name = c.GetNamespace(), c.GetName()
	} else {
		g.reach("pod: missing claim")
	}
	podVolume(p, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

func podVolume(p *corev1.Pod, s corev1.VolumeSource) {
	name := fmt.Sprintf("v-%d", len(p.Spec.Volumes))
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: s})
	c := first(p)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
}

// podFeatures are drawn into new pods.
var podFeatures = append(append([]feature[*corev1.Pod]{
	{"extended resource", func(g *gen, p *corev1.Pod) { demand(p, gpu, pick(g, "1", "2")) }},
	{"huge pages", func(_ *gen, p *corev1.Pod) {
		demand(p, "hugepages-2Mi", "4Mi")
		demand(p, corev1.ResourceCPU, "100m")
	}},
	{"ephemeral storage", func(_ *gen, p *corev1.Pod) { demand(p, corev1.ResourceEphemeralStorage, "1Gi") }},
	{"limits without requests", func(_ *gen, p *corev1.Pod) {
		first(p).Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("300m"), "memory": resource.MustParse("0.5Gi")}}
	}},
	{"no requests", func(_ *gen, p *corev1.Pod) { first(p).Resources = corev1.ResourceRequirements{} }},
	{"overhead", func(_ *gen, p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("200m")} }},
	{"runtime class", func(g *gen, p *corev1.Pod) {
		name := "absent"
		if c := g.some("RuntimeClass"); c != nil {
			name = c.GetName()
		}
		p.Spec.RuntimeClassName = &name
	}},
	{"init container", func(g *gen, p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, g.container(fmt.Sprintf("init-%d", len(p.Spec.InitContainers))))
	}},
	{"sidecar", func(g *gen, p *corev1.Pod) {
		c := g.container(fmt.Sprintf("side-%d", len(p.Spec.InitContainers)))
		c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}},
	{"more containers", func(g *gen, p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, g.container(fmt.Sprintf("more-%d", len(p.Spec.Containers))))
	}},
	{"priority", podPriority},
	{"system priority", func(g *gen, p *corev1.Pod) {
		p.Spec.PriorityClassName = pick(g, "system-node-critical", "system-cluster-critical")
	}},
	{"never preempts", func(_ *gen, p *corev1.Pod) {
		p.Spec.Priority, p.Spec.PreemptionPolicy = ptr.To[int32](500), ptr.To(corev1.PreemptNever)
	}},
	{"gates", func(g *gen, p *corev1.Pod) {
		p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/a"}}
		if g.in(2) {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "b"})
		}
	}},
	{"node selector", func(g *gen, p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{labelDisk: pick(g, "ssd", "hdd")} }},
	{"zone selector", func(g *gen, p *corev1.Pod) {
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: pick(g, zones...)}
	}},
	{"node affinity", nodeAffinity},
	{"preferred node affinity", func(g *gen, p *corev1.Pod) {
		a := affinity(p)
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{}
		}
		a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{Weight: int32(1 + g.n(100)), Preference: g.nodeTerm()}}
	}},
	{"toleration", func(g *gen, p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: taintKey, Operator: corev1.TolerationOpExists})
		if g.in(3) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "example.com/other", Value: "x", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30)})
		}
	}},
	{"tolerates everything", func(_ *gen, p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}},
	{"host port", func(g *gen, p *corev1.Pod) {
		first(p).Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: int32(pick(g, 8080, 8081)), Protocol: pick(g, "", corev1.ProtocolTCP, corev1.ProtocolUDP), HostIP: pick(g, "", "127.0.0.1")}}
	}},
	{"host network", func(_ *gen, p *corev1.Pod) {
		p.Spec.HostNetwork = true
		first(p).Ports = []corev1.ContainerPort{{ContainerPort: 9090}}
	}},
	{"other scheduler", func(_ *gen, p *corev1.Pod) { p.Spec.SchedulerName = "elsewhere" }},
	{"resources of the whole pod", func(_ *gen, p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("3"), "memory": resource.MustParse("4Gi")}}
	}},
	{"limits of the whole pod", func(_ *gen, p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}}
	}},
	{"of a ReplicaSet", func(g *gen, p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{g.owner("ReplicaSet", "apps/v1")}
	}},
	{"of a StatefulSet", func(g *gen, p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{g.owner("StatefulSet", "apps/v1")}
	}},
	{"of a Job", func(g *gen, p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{g.owner("Job", "batch/v1")} }},
	{"of a DaemonSet", func(g *gen, p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{g.owner("DaemonSet", "apps/v1")}
		affinity(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("n-%d", g.n(4))}}}},
		}}}
	}},
	{"claim", podClaim},
	{"two claims", func(g *gen, p *corev1.Pod) { podClaim(g, p); podClaim(g, p) }},
	{"ephemeral claim", func(g *gen, p *corev1.Pod) {
		podVolume(p, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: g.claimSpec()}}})
	}},
	{"other volumes", func(g *gen, p *corev1.Pod) {
		podVolume(p, pick(g,
			corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm-0"}}},
			corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}},
			corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}, corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driver}},
			corev1.VolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk"}},
			corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}},
		))
	}},
	{"bound", func(g *gen, p *corev1.Pod) { p.Spec.NodeName = g.nodeName() }},
	{"running", func(g *gen, p *corev1.Pod) {
		p.Spec.NodeName = g.nodeName()
		run(g, p)
	}},
	{"ended", func(g *gen, p *corev1.Pod) {
		p.Spec.NodeName = g.nodeName()
		p.Status.Phase = pick(g, corev1.PodSucceeded, corev1.PodFailed)
	}},
	{"known to be unschedulable", func(g *gen, p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "recorded", LastTransitionTime: g.past()},
		}}
	}},
	{"nominated", func(g *gen, p *corev1.Pod) { p.Status.NominatedNodeName = g.nodeName() }},
	{"identity", func(g *gen, p *corev1.Pod) { g.identity(p) }},
	{"going", func(g *gen, p *corev1.Pod) {
		at := g.past()
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, ptr.To[int64](30)
		p.Finalizers = []string{"example.com/keep"}
	}},
	{"grace period", func(g *gen, p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = ptr.To(pick[int64](g, 0, 1, 600)) }},
	{"ends of itself", func(g *gen, p *corev1.Pod) {
		p.Spec.RestartPolicy = pick(g, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
		p.Spec.ActiveDeadlineSeconds = ptr.To[int64](60)
	}},
	{"everyday fields", everyday},
	{"annotations", func(_ *gen, p *corev1.Pod) {
		p.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
	}},
	{"resize policy", func(_ *gen, p *corev1.Pod) {
		first(p).ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: corev1.RestartContainer}}
	}},
	{"resource claim", func(_ *gen, p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "c", ResourceClaimName: ptr.To("absent")}}
	}},
	{"windows", func(_ *gen, p *corev1.Pod) {
		p.Spec.OS = &corev1.PodOS{Name: corev1.Windows}
		p.Spec.NodeSelector = map[string]string{corev1.LabelOSStable: "windows"}
	}},
}, spreadFeatures...), podFeature("default namespace", func(_ *gen, p *corev1.Pod) { p.Namespace = "default" }))

func podFeature(name string, f func(*gen, *corev1.Pod)) feature[*corev1.Pod] {
	return feature[*corev1.Pod]{name, f}
}

// spreadFeatures look at other pods.
var spreadFeatures = []feature[*corev1.Pod]{
	{"hard spread", func(g *gen, p *corev1.Pod) { g.constraint(p, corev1.DoNotSchedule) }},
	{"soft spread", func(g *gen, p *corev1.Pod) { g.constraint(p, corev1.ScheduleAnyway) }},
	{"affinity", func(g *gen, p *corev1.Pod) {
		affinity(p).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{g.podTerm()}}
	}},
	{"anti-affinity", func(g *gen, p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{g.podTerm()}}
	}},
	{"preferred affinity", func(g *gen, p *corev1.Pod) {
		affinity(p).PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: int32(1 + g.n(100)), PodAffinityTerm: g.podTerm()}}}
	}},
	{"preferred anti-affinity", func(g *gen, p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: int32(1 + g.n(100)), PodAffinityTerm: g.podTerm()}}}
	}},
}

func (g *gen) constraint(p *corev1.Pod, when corev1.UnsatisfiableConstraintAction) {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + g.n(2)), TopologyKey: pick(g, corev1.LabelTopologyZone, corev1.LabelHostname), WhenUnsatisfiable: when, LabelSelector: g.selector(),
	}
	if !g.in(4) {
		c.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
	}
	for _, o := range p.Spec.TopologySpreadConstraints {
		if o.TopologyKey == c.TopologyKey && o.WhenUnsatisfiable == when {
			return
		}
	}
	if when == corev1.DoNotSchedule && g.in(4) {
		c.MinDomains = ptr.To(int32(1 + g.n(3)))
	}
	if g.in(4) {
		c.NodeTaintsPolicy = ptr.To(corev1.NodeInclusionPolicyHonor)
	}
	if g.in(6) {
		c.NodeAffinityPolicy = ptr.To(corev1.NodeInclusionPolicyIgnore)
	}
	if g.in(5) {
		c.MatchLabelKeys = []string{"tier"}
	}
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
}

func (g *gen) podTerm() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{LabelSelector: g.selector(), TopologyKey: pick(g, corev1.LabelTopologyZone, corev1.LabelHostname)}
	switch g.n(6) {
	case 1:
		t.Namespaces = []string{"team-a", "default"}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{}
	case 3:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	case 4:
		t.MatchLabelKeys = []string{"tier"}
	}
	return t
}

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func nodeAffinity(g *gen, p *corev1.Pod) {
	s := &corev1.NodeSelector{}
	for range 1 + g.n(2) {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, g.nodeTerm())
	}
	affinity(p).NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: s}
}

func (g *gen) nodeTerm() corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{pick(g,
		corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
		corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"a"}},
		corev1.NodeSelectorRequirement{Key: labelDisk, Operator: corev1.NodeSelectorOpExists},
		corev1.NodeSelectorRequirement{Key: labelDisk, Operator: corev1.NodeSelectorOpDoesNotExist},
		corev1.NodeSelectorRequirement{Key: labelRank, Operator: corev1.NodeSelectorOpGt, Values: []string{"2"}},
		corev1.NodeSelectorRequirement{Key: labelRank, Operator: corev1.NodeSelectorOpLt, Values: []string{"4"}},
	)}}
}

// nodeName is that of a node that may be there, or is not.
func (g *gen) nodeName() string {
	if n := g.some("Node"); n != nil && !g.in(10) {
		return n.GetName()
	}
	g.reach("pod: on a node that is not there")
	return "gone"
}

// run makes a pod one whose containers run.
func run(g *gen, p *corev1.Pod) {
	start := g.past()
	p.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &start, PodIP: "10.0.0.7", PodIPs: []corev1.PodIP{{IP: "10.0.0.7"}}, HostIP: "10.0.0.1",
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: start},
			{Type: corev1.PodReady, Status: pick(g, corev1.ConditionTrue, corev1.ConditionFalse), LastTransitionTime: start},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Image: "image", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: start}}}},
	}
}

// everyday fills in what most recorded pods have and no scheduler looks at: it must come back as it was given.
func everyday(g *gen, p *corev1.Pod) {
	p.Spec.ServiceAccountName = "robot"
	p.Spec.DNSPolicy = corev1.DNSDefault
	p.Spec.EnableServiceLinks = ptr.To(false)
	p.Spec.AutomountServiceAccountToken = ptr.To(false)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](2000)}
	p.Spec.Hostname, p.Spec.Subdomain = "h", "s"
	p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/ready"}}
	p.Spec.HostAliases = []corev1.HostAlias{{IP: "127.0.0.1", Hostnames: []string{"x"}}}
	c := first(p)
	c.Command, c.Args, c.WorkingDir = []string{"sh"}, []string{"-c", "true"}, "/"
	c.Env = []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstrPort(g)}}}
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}, PeriodSeconds: 3}
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	c.SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true)}
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8000}}
}
