package scenarios

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/recommender"
)

// misled is a recommender with a mistake put into it: the good one, asked about another cluster than there is.
type misled struct {
	recommender.Recommender
	// mislead changes the request, which is a copy; what it points to is not.
	mislead func(*recommender.Request)
}

// Recommend implements recommender.Recommender.
func (m misled) Recommend(ctx context.Context, r *recommender.Request) (*recommender.Recommendation, error) {
	other := *r
	m.mislead(&other)
	return m.Recommender.Recommend(ctx, &other)
}

// Misled is the recommender as an engine, with a mistake; nil: with none. Both have one name, as two versions do.
func Misled(mislead func(*recommender.Request)) harness.Option {
	var r recommender.Recommender = recommender.New()
	if mislead != nil {
		r = misled{r, mislead}
	}
	return harness.WithAutoscaler(engines.RecommenderEngine("recommender", "", r))
}

// eachPod changes copies of all pods of a request.
func eachPod(r *recommender.Request, change func(*corev1.PodSpec)) {
	objects := *r.Objects
	objects.Pods = make([]*corev1.Pod, 0, len(r.Objects.Pods))
	for _, p := range r.Objects.Pods {
		p = p.DeepCopy()
		change(&p.Spec)
		objects.Pods = append(objects.Pods, p)
	}
	r.Objects = &objects
}

// ignoresZones: pods that must spread over zones go anywhere.
func ignoresZones(r *recommender.Request) {
	eachPod(r, func(s *corev1.PodSpec) { s.TopologySpreadConstraints = nil })
}

// wrongMemoryUnit: KiB are read where MiB are meant.
func wrongMemoryUnit(r *recommender.Request) {
	eachPod(r, func(s *corev1.PodSpec) {
		for i := range s.Containers {
			requests := s.Containers[i].Resources.Requests
			if q, ok := requests[corev1.ResourceMemory]; ok {
				requests[corev1.ResourceMemory] = *resource.NewQuantity(q.Value()/1024, resource.BinarySI)
			}
		}
	})
}

// unpricedCosts: a machine type that the recommender's own price list lacks costs what it likes.
func unpricedCosts(machineType string, perHour float64) func(*recommender.Request) {
	return func(r *recommender.Request) {
		prices := *r.Prices
		prices.MachineTypes = maps.Clone(prices.MachineTypes)
		prices.MachineTypes[machineType] = perHour
		r.Prices = &prices
	}
}

// ignoresMax: no group is ever full.
func ignoresMax(r *recommender.Request) {
	r.NodeGroups = slices.Clone(r.NodeGroups)
	for i := range r.NodeGroups {
		r.NodeGroups[i].MaxSize = 1000
	}
}

// tieByRandom: which of two equals wins differs from loop to loop, and from run to run. What a broken recommender takes
// from the clock is numbered here, so that the spec is not broken as well.
func tieByRandom(run uint64) func(*recommender.Request) {
	random := rand.New(rand.NewPCG(run, run)) //nolint:gosec // the mistake to be caught; the seed makes the spec repeatable
	return func(r *recommender.Request) {
		r.NodeGroups = slices.Clone(r.NodeGroups)
		random.Shuffle(len(r.NodeGroups), func(i, j int) { r.NodeGroups[i], r.NodeGroups[j] = r.NodeGroups[j], r.NodeGroups[i] })
	}
}
