package virtualca

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxShapesPerController bounds how many shapes of one controller's pods are told apart by comparing.
const maxShapesPerController = 10

// podGroup is a set of pods that are alike for scheduling: any of them stands for all (core/scaleup/equivalence).
type podGroup struct {
	pods []*corev1.Pod
	// schedulable: they would fit on a new node of some valid node group. rejected holds why not, by node group.
	schedulable bool
	rejected    map[string][]string
}

// groupPods puts pods of one controller with equal labels and equal spec together, in the order of each group's first
// pod. Upstream's order of groups is a map's.
func (l *loop) groupPods(pods []*corev1.Pod) []*podGroup {
	var groups []*podGroup
	known := map[types.UID][]*podGroup{}
	for _, p := range pods {
		c := metav1.GetControllerOfNoCopy(p)
		if c == nil || isDaemonSetPod(p) {
			groups = append(groups, newPodGroup(p))
			continue
		}
		found := false
		for _, g := range known[c.UID] {
			if l.alike(p, g.pods[0]) {
				g.pods = append(g.pods, p)
				found = true
				break
			}
		}
		if found {
			continue
		}
		g := newPodGroup(p)
		groups = append(groups, g)
		if len(known[c.UID]) < maxShapesPerController {
			known[c.UID] = append(known[c.UID], g)
		}
	}
	return groups
}

func newPodGroup(p *corev1.Pod) *podGroup {
	return &podGroup{pods: []*corev1.Pod{p}, rejected: map[string][]string{}}
}

// alike: equal labels and a semantically equal spec, environment, hostname and projected volumes left out. Pods of one
// shape are alike at once; other pairs of shapes are compared once.
func (l *loop) alike(a, b *corev1.Pod) bool {
	x, y := l.a.checker.ShapeID(a), l.a.checker.ShapeID(b)
	if x == y {
		return true
	}
	key := [2]int{min(x, y), max(x, y)}
	same, ok := l.likeness[key]
	if !ok {
		same = a.Namespace == b.Namespace && apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && specAlike(&a.Spec, &b.Spec)
		l.likeness[key] = same
	}
	return same
}

func specAlike(a, b *corev1.PodSpec) bool {
	if len(a.Containers) != len(b.Containers) || len(a.InitContainers) != len(b.InitContainers) {
		return false
	}
	return apiequality.Semantic.DeepEqual(bareSpec(a), bareSpec(b))
}

// bareSpec is a copy without what upstream ignores (utils.PodSpecSemanticallyEqual).
func bareSpec(s *corev1.PodSpec) *corev1.PodSpec {
	c := s.DeepCopy()
	c.Hostname = ""
	projected := map[string]bool{}
	var volumes []corev1.Volume
	for _, v := range c.Volumes {
		if v.Projected != nil {
			projected[v.Name] = true
			continue
		}
		volumes = append(volumes, v)
	}
	c.Volumes = volumes
	for _, list := range [][]corev1.Container{c.Containers, c.InitContainers} {
		for i := range list {
			list[i].Env = nil
			var mounts []corev1.VolumeMount
			for _, m := range list[i].VolumeMounts {
				if !projected[m.Name] {
					mounts = append(mounts, m)
				}
			}
			list[i].VolumeMounts = mounts
		}
	}
	return c
}
