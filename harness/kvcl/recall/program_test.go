package recall_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// op is one change of a world. It means the same in worlds that are the same, and something in every world: a program stays one
// when ops are taken out of it.
type op struct {
	verb int
	n    [3]uint32
}

// settle is the verb that schedules.
const settle = -1

// The places of addNode and putOwner among the verbs.
const (
	nodeVerb  = 4
	ownerVerb = 8
)

// verbs change a world; the shapes and features of a program are drawn from its seed.
var verbs = []struct {
	name   string
	weight int
	do     func(p *program, w *world, n [3]uint32) error
}{
	{"pods", 12, addPods},
	{"delete pod", 4, deletePod},
	{"end pods", 2, endPods},
	{"update pod", 4, updatePod},
	{"node", 4, addNode},
	{"remove node", 2, removeNode},
	{"replace node", 1, replaceNode},
	{"update node", 5, updateNode},
	{"owner", 2, putOwner},
	{"remove owner", 1, removeOwner},
	{"budget", 1, putBudget},
	{"namespace", 1, putNamespace},
}

// program is a seed's history.
type program struct {
	seed     uint64
	features map[string]bool
	shapes   []func(name string, n uint32) *corev1.Pod
	ops      []op
	// made counts names, so that none is used twice by accident. It belongs to the world that runs.
	made map[*world]int
	// seen counts pods bound, pending and preempted.
	seen [3]int
}

// features are switched on per program: with all of them on, every cycle would be stock's.
var features = []string{
	"selectors", "taints", "node affinity", "host ports", "owners", "priorities", "gates", "images", "extended", "volumes",
	"pod affinity", "preferred pod affinity", "spread", "many nodes", "no requests", "named nodes", "sidecars", "like nodes",
}

func newProgram(seed uint64) *program {
	r := rand.New(rand.NewPCG(seed, 7))
	p := &program{seed: seed, features: map[string]bool{}, made: map[*world]int{}}
	for _, f := range features {
		switch f {
		case "pod affinity", "preferred pod affinity", "spread", "volumes":
			p.features[f] = r.IntN(8) == 0
		case "many nodes":
			p.features[f] = r.IntN(25) == 0
		case "owners":
			p.features[f] = r.IntN(3) != 0
		default:
			p.features[f] = r.IntN(2) == 0
		}
	}
	for range 2 + r.IntN(4) {
		s := p.shape(r.Uint64())
		p.shapes = append(p.shapes, s)
		if r.IntN(2) == 0 {
			p.shapes = append(p.shapes, twin(s, r.IntN(6)))
		}
	}
	first := 1 + r.IntN(12)
	if p.features["many nodes"] {
		first = 90 + r.IntN(40)
	}
	for range first {
		p.ops = append(p.ops, draw(r, nodeVerb))
	}
	if r.IntN(20) == 0 {
		p.ops = nil
	}
	for range 4 {
		p.ops = append(p.ops, draw(r, ownerVerb))
	}
	total := 0
	for _, v := range verbs {
		total += v.weight
	}
	for range 4 + r.IntN(12) {
		for range 1 + r.IntN(6) {
			x, verb := r.IntN(total), 0
			for x >= verbs[verb].weight {
				x -= verbs[verb].weight
				verb++
			}
			p.ops = append(p.ops, draw(r, verb))
		}
		p.ops = append(p.ops, op{verb: settle})
	}
	return p
}

func draw(r *rand.Rand, verb int) op {
	return op{verb: verb, n: [3]uint32{r.Uint32(), r.Uint32(), r.Uint32()}}
}

func (p *program) String() string {
	var b strings.Builder
	for _, o := range p.ops {
		if o.verb == settle {
			b.WriteString("settle\n")
			continue
		}
		fmt.Fprintf(&b, "%s %d\n", verbs[o.verb].name, o.n)
	}
	return b.String()
}

func (p *program) name(w *world, prefix string) string {
	p.made[w]++
	return fmt.Sprintf("%s-%d", prefix, p.made[w])
}

var (
	namespaces = []string{"default", "team"}
	apps       = []string{"web", "db", "job"}
	zones      = []string{"a", "b", "c", ""}
	gpu        = corev1.ResourceName("example.com/gpu")
	fpga       = corev1.ResourceName("example.com/fpga")
)

func cpu(n int) resource.Quantity { return *resource.NewMilliQuantity(int64(n), resource.DecimalSI) }

func memory(n int) resource.Quantity {
	return *resource.NewQuantity(int64(n)<<20, resource.BinarySI)
}

// shape draws a template of pods. The number given with each pod varies what belongs to a pod, not to its shape.
func (p *program) shape(seed uint64) func(name string, n uint32) *corev1.Pod {
	return func(name string, n uint32) *corev1.Pod {
		r := rand.New(rand.NewPCG(seed, 11))
		has := func(feature string, oneIn int) bool { return r.IntN(oneIn) == 0 && p.features[feature] }
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: namespaces[r.IntN(len(namespaces))], Name: name, UID: types.UID(name),
				Labels:            map[string]string{"app": apps[r.IntN(len(apps))]},
				CreationTimestamp: metav1.NewTime(now),
			},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Priority: ptr.To[int32](0)},
		}
		if n%5 == 0 {
			pod.Labels["pod"] = name // as StatefulSets and Jobs have it
		}
		for i := range 1 + r.IntN(2) {
			c := corev1.Container{Name: fmt.Sprintf("c-%d", i), Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
			if !has("no requests", 3) {
				c.Resources.Requests[corev1.ResourceCPU] = cpu([]int{100, 200, 500, 1000, 1500}[r.IntN(5)])
			}
			if !has("no requests", 3) {
				c.Resources.Requests[corev1.ResourceMemory] = memory([]int{64, 200, 512, 1024}[r.IntN(4)])
			}
			if has("extended", 3) {
				c.Resources.Requests[gpu] = *resource.NewQuantity(int64(1+r.IntN(2)), resource.DecimalSI)
			}
			if has("extended", 5) {
				c.Resources.Requests[fpga] = *resource.NewQuantity(1, resource.DecimalSI)
			}
			if has("images", 2) {
				c.Image = []string{"small", "big:v1", "huge"}[r.IntN(3)]
			}
			if has("host ports", 3) {
				c.Ports = []corev1.ContainerPort{{
					HostPort: int32(80 + r.IntN(2)), HostIP: []string{"", "10.0.0.1", "10.0.0.2"}[r.IntN(3)],
					Protocol: []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}[r.IntN(2)],
				}}
			}
			pod.Spec.Containers = append(pod.Spec.Containers, c)
		}
		if has("sidecars", 3) {
			c := corev1.Container{Name: "init", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: cpu([]int{100, 2000}[r.IntN(2)]),
			}}}
			if r.IntN(2) == 0 {
				c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
			}
			pod.Spec.InitContainers = []corev1.Container{c}
			pod.Spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: cpu(50)}
		}
		if has("no requests", 8) {
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: cpu(700)}}
		}
		if has("priorities", 2) {
			pod.Spec.Priority = ptr.To([]int32{-1, 5, 10, 100}[r.IntN(4)])
			if r.IntN(6) == 0 {
				pod.Spec.PreemptionPolicy = ptr.To(corev1.PreemptNever)
			}
		}
		if has("gates", 4) && n%3 == 0 {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		}
		if has("selectors", 3) {
			pod.Spec.NodeSelector = map[string]string{"disk": []string{"ssd", "hdd"}[r.IntN(2)]}
		}
		if has("taints", 2) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: []string{"web", "db"}[r.IntN(2)],
				Effect: []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule}[r.IntN(3)],
			})
		}
		if has("taints", 5) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Operator: corev1.TolerationOpExists})
		}
		p.affinity(r, has, pod)
		if has("spread", 2) {
			pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: int32(1 + r.IntN(2)), TopologyKey: []string{corev1.LabelTopologyZone, corev1.LabelHostname}[r.IntN(2)],
				WhenUnsatisfiable: []corev1.UnsatisfiableConstraintAction{corev1.DoNotSchedule, corev1.ScheduleAnyway}[r.IntN(2)],
				LabelSelector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": pod.Labels["app"]}},
			}}
		}
		switch {
		case has("volumes", 2):
			claim := fmt.Sprintf("claim-%d", n%3)
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		case r.IntN(2) == 0:
			pod.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}
		if has("owners", 2) {
			kinds := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet"}, {APIVersion: "apps/v1", Kind: "StatefulSet"}, {APIVersion: "v1", Kind: "ReplicationController"}}
			o := kinds[max(0, r.IntN(5)-2)]
			o.Name, o.Controller = "owner-"+pod.Labels["app"], ptr.To(true)
			pod.OwnerReferences = []metav1.OwnerReference{o}
		}
		return pod
	}
}

// twin is a shape that differs in little from another: what a key may miss.
func twin(of func(string, uint32) *corev1.Pod, how int) func(string, uint32) *corev1.Pod {
	return func(name string, n uint32) *corev1.Pod {
		pod := of(name, n)
		c := &pod.Spec.Containers[0]
		switch how {
		case 0: // the same requests in sum, but scores assume something of a container without
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "bare"}, corev1.Container{Name: "too"})
		case 1:
			for i := range c.Ports {
				c.Ports[i].HostIP = "10.0.0.3"
			}
		case 2:
			pod.Spec.NodeSelector = map[string]string{"disk": "ssd"}
		case 3:
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectPreferNoSchedule})
		case 4:
			pod.Namespace = namespaces[1]
			c.Image = "huge"
		case 5: // no terms select nothing; no selector selects everything
			if pod.Spec.Affinity == nil {
				pod.Spec.Affinity = &corev1.Affinity{}
			}
			pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{}}
			if n%2 == 0 {
				pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
			}
		}
		return pod
	}
}

func (p *program) affinity(r *rand.Rand, has func(string, int) bool, pod *corev1.Pod) {
	a := &corev1.Affinity{}
	term := func() corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: "disk", Operator: []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}[r.IntN(2)], Values: []string{"ssd"},
		}}}
	}
	if has("node affinity", 3) {
		a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term()}}}
		if r.IntN(6) == 0 {
			a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms = nil
		}
	}
	if has("node affinity", 3) {
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{}
		}
		for range 1 + r.IntN(2) {
			a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(1 + r.IntN(100)), Preference: term()})
		}
	}
	if has("named nodes", 6) {
		a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("node-%d", 1+r.IntN(4))}}},
		}}}}
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; r.IntN(2) == 0 { // any of two
			other := *required.NodeSelectorTerms[0].DeepCopy()
			other.MatchFields[0].Values[0] = fmt.Sprintf("node-%d", 1+r.IntN(4))
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, other)
		}
	}
	podTerm := func() corev1.PodAffinityTerm {
		t := corev1.PodAffinityTerm{
			TopologyKey:   []string{corev1.LabelTopologyZone, corev1.LabelHostname}[r.IntN(2)],
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": apps[r.IntN(len(apps))]}},
		}
		if r.IntN(3) == 0 {
			t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "x"}}
		}
		return t
	}
	if has("pod affinity", 3) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podTerm()}}
	}
	if has("pod affinity", 4) {
		a.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podTerm()}}
	}
	if has("preferred pod affinity", 2) {
		a.PodAffinity = &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 30, PodAffinityTerm: podTerm()}}}
	}
	if *a != (corev1.Affinity{}) {
		pod.Spec.Affinity = a
	}
}
