package estimator

import (
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/simulator/drain"
)

// MaxShapesPerController bounds how many shapes of one controller's pods are compared.
const MaxShapesPerController = 10

// Group is a set of pods that are alike for scheduling: any of them stands for all (core/scaleup/equivalence).
type Group struct {
	Pods []*corev1.Pod
	// Schedulable: they would fit on a new node of some valid node group. rejected holds why not, by node group.
	Schedulable bool
	Rejected    map[string][]string
}

// Equivalence says which pods are alike; it is of one loop.
type Equivalence struct {
	// shape numbers pods by what the scheduler sees of them: pods of one shape are alike.
	shape func(*corev1.Pod) int
	known map[[2]int]bool
}

func NewEquivalence(shape func(*corev1.Pod) int) *Equivalence {
	return &Equivalence{shape, map[[2]int]bool{}}
}

// Groups puts pods of one controller with equal labels and equal spec together, in the order of each group's first
// pod. Upstream's order of groups is a map's.
func (e *Equivalence) Groups(pods []*corev1.Pod) []*Group {
	var groups []*Group
	known := map[types.UID][]*Group{}
	for _, p := range pods {
		c := metav1.GetControllerOfNoCopy(p)
		if c == nil || drain.IsDaemonSet(p) {
			groups = append(groups, newPodGroup(p))
			continue
		}
		found := false
		for _, g := range known[c.UID] {
			if e.Alike(p, g.Pods[0]) {
				g.Pods = append(g.Pods, p)
				found = true
				break
			}
		}
		if found {
			continue
		}
		g := newPodGroup(p)
		groups = append(groups, g)
		if len(known[c.UID]) < MaxShapesPerController {
			known[c.UID] = append(known[c.UID], g)
		}
	}
	return groups
}

func newPodGroup(p *corev1.Pod) *Group {
	return &Group{Pods: []*corev1.Pod{p}, Rejected: map[string][]string{}}
}

// Alike: equal labels and a semantically equal spec, environment, hostname and projected volumes left out. Pods of one
// shape are alike at once; other pairs of shapes are compared once.
func (e *Equivalence) Alike(a, b *corev1.Pod) bool {
	x, y := e.shape(a), e.shape(b)
	if x == y {
		return true
	}
	key := [2]int{min(x, y), max(x, y)}
	same, ok := e.known[key]
	if !ok {
		same = a.Namespace == b.Namespace && apiequality.Semantic.DeepEqual(a.Labels, b.Labels) && specAlike(&a.Spec, &b.Spec)
		e.known[key] = same
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
