package vpa

import (
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"pgregory.net/rapid"
)

// action is a step of a program of changes, samples and questions, which is run on this package and on upstream's.
type action struct {
	kind      string
	after     time.Duration
	pod       int
	container string
	variant   int // of labels, of policies, of phases
	cpu       int64
	memory    int64
	// forgets is whether usage is forgotten within the program. Its VPAs then select one set of labels each: with more, upstream's
	// order of merging, that of a map, decides which of the least weights are lost.
	forgets bool
}

var kinds = []string{"pod", "pod", "unpod", "observe", "observe", "observe", "observe", "observe", "observe", "observe", "observe",
	"observe", "observe", "oom", "vpa", "vpa", "unvpa", "recommend", "recommend", "collect", "save", "load"}

// drawProgram draws a program: pods and VPAs that come, change and are removed, usage of some containers, at odd instants.
func drawProgram(t *rapid.T, forgets bool) []action {
	one := rapid.Custom(func(t *rapid.T) action {
		a := action{
			kind:      rapid.SampledFrom(kinds).Draw(t, "kind"),
			after:     time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "after")),
			pod:       rapid.IntRange(0, 4).Draw(t, "pod"),
			container: rapid.SampledFrom([]string{"app", "side", "sidecar"}).Draw(t, "container"),
			variant:   rapid.IntRange(0, 6).Draw(t, "variant"),
			cpu:       rapid.Int64Range(-1, 4000).Draw(t, "cpu"),
			memory:    rapid.Int64Range(-1, 4<<30).Draw(t, "memory"),
		}
		if forgets && rapid.IntRange(0, 15).Draw(t, "long") == 7 {
			a.after *= 20
		}
		return a
	})
	program := []action{}
	for pod := range 5 {
		program = append(program, action{kind: "pod", after: time.Minute, pod: pod, variant: pod})
	}
	for vpa := range 3 {
		program = append(program, action{kind: "vpa", after: time.Minute, pod: vpa, variant: rapid.IntRange(0, 6).Draw(t, "policy")})
	}
	program = append(program, rapid.SliceOfN(one, 20, 150).Draw(t, "actions")...)
	program = append(program, action{kind: "recommend"}, action{kind: "save"})
	for i := range program {
		program[i].forgets = forgets
	}
	return program
}

// podObject is pod number a.pod: with one or two containers, and an init container that keeps running.
func (a action) podObject() *corev1.Pod {
	i, variant := a.pod, a.variant
	always := corev1.ContainerRestartPolicyAlways
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(i), Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint(i))},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "sidecar", RestartPolicy: &always}},
			Containers:     []corev1.Container{{Name: "app"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	p.Labels = []map[string]string{{"app": "x"}, {"app": "x", "version": "2"}, {"app": "y"}}[variant%3]
	if a.forgets {
		p.Labels = map[string]string{"app": []string{"x", "y", "z"}[variant%3]}
	}
	if i%2 == 0 {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "side"})
	}
	switch variant {
	case 4:
		p.Status.Phase = corev1.PodSucceeded
	case 5:
		p.Status.Phase = corev1.PodPending
	}
	return p
}

func namespaceOf(i int) string { return []string{"blue", "blue", "blue", "green", "green"}[i] }

// vpaObject is VPA number a.pod: two that overlap in one namespace, one in the other.
func (a action) vpaObject() (*vpav1.VerticalPodAutoscaler, labels.Selector) {
	i, variant := a.pod%3, a.variant
	v := &vpav1.VerticalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: []string{"blue", "blue", "green"}[i], Name: fmt.Sprintf("vpa-%d", i), Generation: int64(variant)},
		Spec:       vpav1.VerticalPodAutoscalerSpec{TargetRef: &autoscalingv1.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
	}
	selector := []string{"app=x", "app in (x,y)", "app"}[i]
	if a.forgets {
		selector = []string{"app=x", "app=y", "app=x"}[i]
	}
	off := vpav1.ContainerScalingModeOff
	policy := vpav1.ContainerResourcePolicy{ContainerName: "*"}
	switch variant {
	case 0:
		policy = vpav1.ContainerResourcePolicy{ContainerName: "side", Mode: &off}
	case 1:
		policy.MinAllowed, policy.MaxAllowed = quantities("300m", ""), quantities("1500m", "1Gi")
	case 2:
		policy.ControlledResources = &[]corev1.ResourceName{corev1.ResourceMemory}
	case 3:
		v.Annotations = map[string]string{"vpa-post-processor.kubernetes.io/app_integerCPU": "true"}
	case 4:
		selector = "app=z" // pods of a program that forgets; else none
	case 5:
		if i == 2 { // where it overlaps with another, upstream takes the policy of either
			policy.OOMBumpUpRatio, policy.OOMMinBumpUp = new(resource.MustParse("1.5")), new(resource.MustParse("500000000"))
			policy.MemoryAggregationIntervalSeconds, policy.MemoryAggregationIntervalCount = new(int32(7200)), new(int64(3))
		}
	case 6:
		return v, parsed(selector) // without a policy
	}
	v.Spec.ResourcePolicy = &vpav1.PodResourcePolicy{ContainerPolicies: []vpav1.ContainerResourcePolicy{policy}}
	return v, parsed(selector)
}

func parsed(selector string) labels.Selector {
	s, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return s
}

// quantities is a list of resources; empty ones are left out.
func quantities(cpu, memory string) corev1.ResourceList {
	list := corev1.ResourceList{}
	if cpu != "" {
		list[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		list[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return list
}

func millicores(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }
func bytes(n int64) resource.Quantity      { return *resource.NewQuantity(n, resource.BinarySI) }

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
