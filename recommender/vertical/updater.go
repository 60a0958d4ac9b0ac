package vertical

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// The updaters there are.
const (
	// UpdaterUpstream is upstream's: a request outside the bounds, a quick OOM, or an old pod whose target differs enough; within
	// what replicas and tolerance allow.
	UpdaterUpstream = "upstream"
	// UpdaterSmartKubeCode is smart-kube's code: a usage that is not between the bounds, or not below the limit.
	UpdaterSmartKubeCode = "smart-kube-code"
	// UpdaterSmartKubeReadme is smart-kube's README, which says the opposite: a usage between the bounds.
	UpdaterSmartKubeReadme = "smart-kube-readme"
	// UpdaterNone leaves pods alone: new ones alone get what is recommended, as with update mode Initial.
	UpdaterNone = "none"
)

// Updaters lists them, the default first.
var Updaters = []string{UpdaterUpstream, UpdaterSmartKubeCode, UpdaterSmartKubeReadme, UpdaterNone}

// Live is a pod that runs, as an updater sees it.
type Live struct {
	Pod *corev1.Pod
	// Usage is what its containers used last, in their order.
	Usage []Amount
}

// Update is a pod that is evicted, or resized in place.
type Update struct {
	// Pod is its place among those that the updater was shown.
	Pod    int
	Reason string
	// InPlace: its containers get Resources, in their order. Otherwise it is evicted, and what takes its place is admitted.
	InPlace   bool
	Resources []corev1.ResourceRequirements
}

// Updater says which pods of a workload are updated. It hands each update over as soon as it is decided.
type Updater interface {
	Update(now time.Time, s *Scaler, pods []Live, do func(Update))
}

// nobody updates no pod.
type nobody struct{}

func (nobody) Update(time.Time, *Scaler, []Live, func(Update)) {}

// upstream is vpa.Updater.
type upstream struct {
	*vpa.Updater
	flags vpa.Flags
}

func (u *upstream) Update(now time.Time, s *Scaler, pods []Live, do func(Update)) {
	if u.calm(now, s, pods) {
		return
	}
	s.write()
	place := map[types.UID]int{}
	s.objects.Pods = s.objects.Pods[:0]
	for i, p := range pods {
		s.objects.Pods = append(s.objects.Pods, p.Pod)
		place[p.Pod.UID] = i
	}
	s.replicas(len(pods))
	u.Updater.Update(now, s.objects, func(a vpa.Action) error {
		do(Update{Pod: place[a.Pod.UID], Reason: string(a.Reason), InPlace: a.Kind == vpa.Resize, Resources: a.Resources})
		return nil
	})
}

// calm says for sure that upstream would update none, without making quantities and lists of all: where nothing bounds the
// recommendation for a pod, every request is within its bounds, no container ran out of memory lately, and old pods are near their targets.
func (u *upstream) calm(now time.Time, s *Scaler, pods []Live) bool {
	if len(s.list) == 0 {
		return s.plain
	}
	if !s.plain {
		return false
	}
	for _, l := range pods {
		p := l.Pod
		var requested, target Amount
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			r, ok := s.of(c.Name)
			if !ok {
				return false
			}
			has := AmountOf(c.Resources.Requests)
			if has.CPUMilli < r.Lower.CPUMilli || has.CPUMilli > r.Upper.CPUMilli || has.MemoryBytes < r.Lower.MemoryBytes || has.MemoryBytes > r.Upper.MemoryBytes {
				return false
			}
			requested, target = requested.Add(has), target.Add(r.Target)
		}
		for i := range p.Status.ContainerStatuses {
			if e := p.Status.ContainerStatuses[i].LastTerminationState.Terminated; e != nil && (u.flags.PerVPAConfig || now.Sub(e.FinishedAt.Time) <= u.flags.EvictAfterOOM) {
				return false
			}
		}
		if p.Status.StartTime == nil || now.Before(p.Status.StartTime.Add(u.flags.PodLifetime)) {
			continue
		}
		if difference(requested.CPUMilli, target.CPUMilli)+difference(requested.MemoryBytes, target.MemoryBytes) >= u.flags.UpdateThreshold*0.99 {
			return false
		}
	}
	return true
}

// difference is a part of upstream's ResourceDiff (updater/priority/priority_processor.go).
func difference(requested, target int64) float64 {
	return math.Abs(float64(requested-target)) / math.Max(float64(requested), 1)
}

// outOfBounds and withinBounds look at the usage, where upstream looks at the request.
type (
	outOfBounds  struct{}
	withinBounds struct{}
)

// Judged is a container at an instant as smart-kube's updaters judge it.
type Judged struct{ Lower, Upper, Usage, Limit Amount }

// OutOfBounds is the rule of smart-kube's code: NOT lower < usage, or NOT usage < upper, or NOT usage < limit, of any resource. What is not
// known, or not limited, is no reason.
func (j Judged) OutOfBounds() bool {
	out := func(lower, usage, upper, limit int64) bool {
		return usage >= 0 && (lower >= 0 && usage <= lower || upper >= 0 && usage >= upper || limit >= 0 && usage >= limit)
	}
	return out(j.Lower.CPUMilli, j.Usage.CPUMilli, j.Upper.CPUMilli, j.Limit.CPUMilli) ||
		out(j.Lower.MemoryBytes, j.Usage.MemoryBytes, j.Upper.MemoryBytes, j.Limit.MemoryBytes)
}

// WithinBounds is the rule of smart-kube's README: lower < usage < upper, of both resources.
func (j Judged) WithinBounds() bool {
	within := func(lower, usage, upper int64) bool { return usage >= 0 && lower < usage && usage < upper }
	return within(j.Lower.CPUMilli, j.Usage.CPUMilli, j.Upper.CPUMilli) && within(j.Lower.MemoryBytes, j.Usage.MemoryBytes, j.Upper.MemoryBytes)
}

func (outOfBounds) Update(_ time.Time, s *Scaler, pods []Live, do func(Update)) {
	evictAny(s, pods, Judged.OutOfBounds, "usage is not between the bounds and below the limit", do)
}

func (withinBounds) Update(_ time.Time, s *Scaler, pods []Live, do func(Update)) {
	evictAny(s, pods, Judged.WithinBounds, "usage is between the bounds", do)
}

// evictAny evicts the pods with a container of which that is true, however many there are: smart-kube looks at no replicas.
func evictAny(s *Scaler, pods []Live, is func(Judged) bool, why string, do func(Update)) {
	for i, l := range pods {
		for n := range l.Pod.Spec.Containers {
			c := &l.Pod.Spec.Containers[n]
			r, ok := s.of(c.Name)
			if ok && is(Judged{r.Lower, r.Upper, l.Usage[n], AmountOf(c.Resources.Limits)}) {
				do(Update{Pod: i, Reason: why})
				break
			}
		}
	}
}
