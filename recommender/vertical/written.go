package vertical

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

// Written is what a recommender writes into the status of its workload's VPA: within the VPA's policies, with the target before them.
func Written(ctx context.Context, r Recommender, v *vpav1.VerticalPodAutoscaler, now time.Time) (*vpav1.RecommendedPodResources, error) {
	if e, ok := r.(*embedded); ok {
		out := &vpav1.RecommendedPodResources{}
		for _, r := range e.Recommender.Recommend(now) {
			out.ContainerRecommendations = append(out.ContainerRecommendations, r.Status.Recommendation.ContainerRecommendations...)
		}
		return out, nil
	}
	list, err := r.Recommend(ctx, now)
	if err != nil {
		return nil, err
	}
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
	return out, nil
}

// Follow has a recommender follow its workload's VPA, whose policies have changed. Only vpa looks at them while it observes.
func Follow(r Recommender, v *vpav1.VerticalPodAutoscaler) {
	if f, ok := r.(interface {
		follow(v *vpav1.VerticalPodAutoscaler)
	}); ok {
		f.follow(v)
	}
}

// Forget ends a pod; its usage counts on. Rules do not remember pods.
func Forget(r Recommender, pod string) {
	if f, ok := r.(interface{ Forget(pod string) }); ok {
		f.Forget(pod)
	}
}

// Collect ends pods, and forgets usage that is too old to count; rules have their own ways to forget.
func Collect(r Recommender, ended []string, now time.Time) {
	for _, pod := range ended {
		Forget(r, pod)
	}
	if e, ok := r.(*embedded); ok {
		e.GarbageCollect(now, func(*vpav1.VerticalPodAutoscaler) bool { return true })
	}
}

// Refused are samples that a recommender elsewhere did not take since the last call: it can say so only when it is asked.
func Refused(r Recommender) (number int, first string) {
	if u, ok := r.(*elsewhere); ok {
		number, first = u.refused.Number, u.refused.First
		u.refused = remote.Refused{}
	}
	return number, first
}

// Close lets a recommender elsewhere forget the workload; it does so by itself in time.
func Close(r Recommender) {
	if c, ok := r.(*elsewhere); ok {
		c.close()
	}
}
