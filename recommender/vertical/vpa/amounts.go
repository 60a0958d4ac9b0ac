package vpa

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/logic"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
)

// Amounts is what Recommend would recommend for a VPA, in millicores and bytes by container, without making a status of it: for those
// who ask every minute of a month. False: the VPA is not set, or policies, checkpoints, rounding or a post-processor change what is
// recommended, and Recommend is to be asked. It reads the histories in place, where Recommend copies and adds them up.
func (r *Recommender) Amounts(id types.NamespacedName, now time.Time) (logic.RecommendedPodResources, bool) {
	v, f := r.vpas[id], &r.flags
	if v == nil || v.object.Spec.ResourcePolicy != nil || len(v.initial) > 0 || f.CPUInteger || len(f.maxAllowed()) > 0 ||
		f.Format.HumanizeMemory || f.Format.RoundCPUMillicores != 1 || f.Format.RoundMemoryBytes != 1 {
		return nil, false
	}
	r.saw(now)
	usage := make(model.ContainerNameToAggregateStateMap, len(v.aggregates))
	for key, a := range v.aggregates {
		if usage[key.container] != nil {
			return nil, false // of pods with different labels, which are added up in order
		}
		usage[key.container] = a.AggregateContainerState
	}
	return r.estimate.GetRecommendedPodResources(usage), true
}
