package vertical

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// Unset is an amount that is not known, or not asked for.
const Unset = -1

// Amount is how much of the two resources that are scaled vertically. Either may be Unset.
type Amount struct {
	CPUMilli    int64 `json:"cpuMilli"`
	MemoryBytes int64 `json:"memoryBytes"`
}

// None is an amount of which nothing is set.
var None = Amount{CPUMilli: Unset, MemoryBytes: Unset}

// Add is what is set of a or b, added up.
func (a Amount) Add(b Amount) Amount {
	return Amount{add(a.CPUMilli, b.CPUMilli), add(a.MemoryBytes, b.MemoryBytes)}
}

func add(a, b int64) int64 {
	if a < 0 || b < 0 {
		return max(a, b)
	}
	return a + b
}

// Or is a with what b has where a has nothing.
func (a Amount) Or(b Amount) Amount {
	if a.CPUMilli < 0 {
		a.CPUMilli = b.CPUMilli
	}
	if a.MemoryBytes < 0 {
		a.MemoryBytes = b.MemoryBytes
	}
	return a
}

// List is the amount as the API has it; nil where nothing is set.
func (a Amount) List() corev1.ResourceList {
	if a == None {
		return nil
	}
	list := corev1.ResourceList{}
	if a.CPUMilli >= 0 {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(a.CPUMilli, resource.DecimalSI)
	}
	if a.MemoryBytes >= 0 {
		list[corev1.ResourceMemory] = *resource.NewQuantity(a.MemoryBytes, resource.BinarySI)
	}
	return list
}

// AmountOf reads a list of the API: CPU in whole millicores and memory in whole bytes, rounded up.
func AmountOf(list corev1.ResourceList) Amount {
	a := None
	if q, ok := list[corev1.ResourceCPU]; ok {
		a.CPUMilli = q.MilliValue()
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		a.MemoryBytes = q.Value()
	}
	return a
}

// Sample is what a container of a pod used at an instant: CPU as an average up to it, memory as its working set.
type Sample struct {
	At             time.Time
	Pod, Container string
	Usage          Amount
	// OOM: the container ran out of memory at that instant, with so much requested; Usage does not count then.
	OOM       bool
	Requested int64
}

// Recommendation is what a container should request, and the bounds within which another request is good enough.
type Recommendation struct {
	Container            string
	Lower, Target, Upper Amount
}

// Recommender recommends for the containers of the pods of one workload.
type Recommender interface {
	// Observe adds a sample. Instants do not go back. An error says why the sample was not taken; the recommender goes on without it.
	Observe(Sample) error
	// Recommend is what it recommends now, in order of containers; a container of which too little is known is not there. One that asks
	// elsewhere fails where nobody answers, or where the answer is wrong.
	Recommend(ctx context.Context, now time.Time) ([]Recommendation, error)
	// Reset forgets all that was observed.
	Reset()
	// Save writes what was learned by now; Load replaces what was learned by what was saved by a recommender of the same name and
	// options.
	Save(w io.Writer, now time.Time) error
	Load(r io.Reader) error
}

// Workload is what a recommender may know of a workload from the start.
type Workload struct {
	Namespace, Name string
	// Containers are those of its pods, in their order.
	Containers []string
	// VPA is the object that scales it: policies, modes. Nil is one without policies.
	VPA *vpav1.VerticalPodAutoscaler
}

// Status is a list of recommendations as it is in the status of a VerticalPodAutoscaler, which upstream's updater and admission
// controller read.
func Status(list []Recommendation) *vpav1.RecommendedPodResources {
	out := &vpav1.RecommendedPodResources{}
	for _, r := range list {
		out.ContainerRecommendations = append(out.ContainerRecommendations, vpav1.RecommendedContainerResources{
			ContainerName: r.Container, LowerBound: r.Lower.List(), Target: r.Target.List(), UpperBound: r.Upper.List(), UncappedTarget: r.Target.List(),
		})
	}
	return out
}

// FromStatus is the inverse of Status. Bounds that are not there are the target.
func FromStatus(s *vpav1.RecommendedPodResources) []Recommendation {
	if s == nil {
		return nil
	}
	out := make([]Recommendation, 0, len(s.ContainerRecommendations))
	for _, c := range s.ContainerRecommendations {
		target := AmountOf(c.Target)
		out = append(out, Recommendation{Container: c.ContainerName, Target: target,
			Lower: AmountOf(c.LowerBound).Or(target), Upper: AmountOf(c.UpperBound).Or(target)})
	}
	return out
}

// check refuses a sample that nothing can have used.
func (s *Sample) check() error {
	if s.Usage.CPUMilli < Unset || s.Usage.MemoryBytes < Unset {
		return fmt.Errorf("container %s of pod %s at %s: usage %+v is negative", s.Container, s.Pod, s.At.UTC().Format(time.RFC3339), s.Usage)
	}
	return nil
}

// memory is what was requested when the container ran out of memory.
func (s *Sample) memory() *resource.Quantity {
	return resource.NewQuantity(max(0, s.Requested), resource.BinarySI)
}
