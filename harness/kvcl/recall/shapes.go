package recall

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// maxAnswers bounds the memory: some 100 MB. A variable, so that tests run out of room.
var maxAnswers = 1 << 21

// shape is what the local plugins see of pods that are alike to them, and what they answered.
type shape struct {
	// answers by slot of the node.
	answers []answer
	// scored is the state of PreScore, written once; silent are the scorers that skipped.
	scored fwk.CycleState
	silent []bool
	// required is the node selector and affinity, nil when the pod has neither.
	required *nodeaffinity.RequiredNodeAffinity
	// used is the number of the last cycle that used the shape.
	used int64
}

// answer holds for one generation of a node.
type answer struct {
	generation int64
	// status is nil when the node takes the pod.
	status *fwk.Status
	// fixed is the weighted sum of scores that stand as they are.
	fixed int64
	// raw are the scores to be normalised.
	raw [compared]int64
	// selected says that the pod's node selector and affinity choose the node.
	selected bool
}

type shapes struct {
	byKey map[string]*shape
	cycle int64
}

// of returns the shape of a pod, nil when a plugin does not sign it or cannot score it.
func (s *shapes) of(ctx context.Context, p *plugins, pod *corev1.Pod, slots int) *shape {
	s.cycle++
	key, ok := shapeKey(ctx, p.signers, pod)
	if !ok {
		return nil
	}
	sh := s.byKey[string(key)]
	if sh == nil {
		if sh = newShape(ctx, p, pod); sh == nil {
			return nil
		}
		s.makeRoom(slots)
		s.byKey[string(key)] = sh
	}
	for len(sh.answers) < slots {
		sh.answers = append(sh.answers, make([]answer, slots-len(sh.answers))...)
	}
	sh.used = s.cycle
	return sh
}

// makeRoom forgets the older half of the shapes when there are too many for so many nodes.
func (s *shapes) makeRoom(slots int) {
	if (len(s.byKey)+1)*slots <= maxAnswers || len(s.byKey) < 2 {
		return
	}
	used := make([]int64, 0, len(s.byKey))
	for _, sh := range s.byKey {
		used = append(used, sh.used)
	}
	middle := median(used)
	for key, sh := range s.byKey {
		if sh.used <= middle {
			delete(s.byKey, key)
		}
	}
}

func median(of []int64) int64 {
	slices.Sort(of)
	return of[len(of)/2]
}

func newShape(ctx context.Context, p *plugins, pod *corev1.Pod) *shape {
	sh := &shape{scored: framework.NewCycleState(), silent: make([]bool, len(p.scorers))}
	for i, sc := range p.scorers {
		pre, ok := sc.ScorePlugin.(fwk.PreScorePlugin)
		if !ok {
			continue
		}
		switch st := pre.PreScore(ctx, sh.scored, pod, nil); {
		case st.IsSkip():
			sh.silent[i] = true
		case !st.IsSuccess():
			return nil
		}
	}
	if pod.Spec.NodeSelector != nil || pod.Spec.Affinity != nil {
		r := nodeaffinity.GetRequiredNodeAffinity(pod)
		sh.required = &r
	}
	return sh
}

// shapeKey joins the signatures of the plugins and what the signatures of the pinned Kubernetes leave out although the plugins
// look at it: address and protocol of host ports; what scores assume of containers without requests; a required node
// affinity without terms, which selects nothing, where none selects everything.
func shapeKey(ctx context.Context, signers []fwk.SignPlugin, pod *corev1.Pod) ([]byte, bool) {
	key := make([]byte, 0, 512)
	seen := make([]string, 0, 8)
	for _, s := range signers {
		fragments, st := s.SignPod(ctx, pod)
		if !st.IsSuccess() {
			return nil, false
		}
	next:
		for _, f := range fragments {
			for _, k := range seen {
				if k == f.Key {
					continue next // plugins that look at the same part sign it alike
				}
			}
			seen = append(seen, f.Key)
			value, err := json.Marshal(f.Value)
			if err != nil {
				return nil, false
			}
			key = append(append(append(key, f.Key...), value...), 0)
		}
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		key = append(key, '|')
		for i := range containers {
			for _, p := range containers[i].Ports {
				if p.HostPort != 0 {
					key = append(append(append(append(key, p.HostIP...), '/'), p.Protocol...), '/')
					key = append(strconv.AppendInt(key, int64(p.HostPort), 10), ' ')
				}
			}
		}
	}
	assumed := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{NonMissingContainerRequests: missing})
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		q := assumed[name]
		key = append(strconv.AppendInt(key, q.MilliValue(), 10), '|')
	}
	a := pod.Spec.Affinity
	return strconv.AppendBool(key, a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil), true
}

// missing is what scores assume of a container without requests.
var missing = corev1.ResourceList{
	corev1.ResourceCPU:    *resource.NewMilliQuantity(schedutil.DefaultMilliCPURequest, resource.DecimalSI),
	corev1.ResourceMemory: *resource.NewQuantity(schedutil.DefaultMemoryRequest, resource.DecimalSI),
}
