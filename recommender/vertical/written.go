package vertical

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
)

// Written is what a recommender writes into the status of its workload's VPA: within the VPA's policies, with the target before them.
func Written(r Recommender, v *vpav1.VerticalPodAutoscaler, now time.Time) *vpav1.RecommendedPodResources {
	if e, ok := r.(*embedded); ok {
		out := &vpav1.RecommendedPodResources{}
		for _, r := range e.Recommender.Recommend(now) {
			out.ContainerRecommendations = append(out.ContainerRecommendations, r.Status.Recommendation.ContainerRecommendations...)
		}
		return out
	}
	list := r.Recommend(now)
	before := map[string]corev1.ResourceList{}
	for _, r := range list {
		before[r.Container] = r.Target.List()
	}
	out := Status(Cap(v, list))
	for i := range out.ContainerRecommendations {
		c := &out.ContainerRecommendations[i]
		for name := range c.UncappedTarget { // only what is controlled
			c.UncappedTarget[name] = before[c.ContainerName][name]
		}
	}
	return out
}

// Follow has a recommender follow its workload's VPA, whose policies have changed. Only vpa looks at them while it observes.
func Follow(r Recommender, v *vpav1.VerticalPodAutoscaler) {
	if e, ok := r.(*embedded); ok {
		e.follow(v)
	}
}

// Collect ends a pod, and forgets usage that is too old to count; rules do not remember pods, and have their own ways to forget.
func Collect(r Recommender, ended []string, now time.Time) {
	e, ok := r.(*embedded)
	if !ok {
		return
	}
	for _, pod := range ended {
		e.Forget(pod)
	}
	e.GarbageCollect(now, func(*vpav1.VerticalPodAutoscaler) bool { return true })
}
