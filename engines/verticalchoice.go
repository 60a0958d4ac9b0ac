package engines

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// requestsRecommender recommends for all VerticalPodAutoscalers of a replay, as the methods of vpa.Recommender say.
type requestsRecommender interface {
	SetVPA(o *vpav1.VerticalPodAutoscaler, selector labels.Selector) error
	RemoveVPA(id types.NamespacedName)
	SetPod(p *corev1.Pod, now time.Time)
	RemovePod(id types.NamespacedName)
	Observe(pod types.NamespacedName, container string, at time.Time, usage corev1.ResourceList) error
	OOM(pod types.NamespacedName, container string, at time.Time, requested resource.Quantity) error
	Recommend(ctx context.Context, now time.Time) ([]vpa.Recommendation, error)
	GarbageCollect(now time.Time, targetExists func(*vpav1.VerticalPodAutoscaler) bool)
	LoadCheckpoint(c *vpav1.VerticalPodAutoscalerCheckpoint) error
	Checkpoints(now time.Time) ([]*vpav1.VerticalPodAutoscalerCheckpoint, error)
	Close() error
}

// upstreams is the recommender of the Vertical Pod Autoscaler itself.
type upstreams struct{ *vpa.Recommender }

// SetVPA implements requestsRecommender.
func (u upstreams) SetVPA(o *vpav1.VerticalPodAutoscaler, selector labels.Selector) error {
	u.Recommender.SetVPA(o, selector)
	return nil
}

// Recommend implements requestsRecommender.
func (u upstreams) Recommend(_ context.Context, now time.Time) ([]vpa.Recommendation, error) {
	return u.Recommender.Recommend(now), nil
}

// Close implements requestsRecommender.
func (upstreams) Close() error { return nil }

// byObject has a recommender of package vertical for each VerticalPodAutoscaler.
type byObject struct {
	spec vertical.Spec
	warn func(string)
	vpas map[types.NamespacedName]*chosen
	pods map[types.NamespacedName]labels.Set
}

// chosen is the recommender of a VerticalPodAutoscaler. Samples wait for the next turn, which hands them over in the order of their instants: of several
// pods and metrics they come in another.
type chosen struct {
	object      *vpav1.VerticalPodAutoscaler
	selector    labels.Selector
	recommender vertical.Recommender
	samples     []vertical.Sample
	// refused: a sample was not taken, of which there was a warning.
	refused bool
}

func newByObject(spec vertical.Spec, warn func(string)) *byObject {
	return &byObject{spec: spec, warn: warn, vpas: map[types.NamespacedName]*chosen{}, pods: map[types.NamespacedName]labels.Set{}}
}

// SetVPA implements requestsRecommender. With another selector it begins again.
func (b *byObject) SetVPA(o *vpav1.VerticalPodAutoscaler, selector labels.Selector) error {
	id := types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	if selector == nil {
		selector = labels.Nothing()
	}
	if c := b.vpas[id]; c != nil && c.selector.String() == selector.String() {
		c.object = o
		vertical.Follow(c.recommender, o)
		return nil
	}
	b.RemoveVPA(id)
	r, err := b.spec.Maker(vertical.Workload{Namespace: id.Namespace, Name: id.Name, VPA: o})
	if err != nil {
		return fmt.Errorf("%s: %w", verticalName(o), err)
	}
	b.vpas[id] = &chosen{object: o, selector: selector, recommender: r}
	return nil
}

// RemoveVPA implements requestsRecommender.
func (b *byObject) RemoveVPA(id types.NamespacedName) {
	if c := b.vpas[id]; c != nil {
		vertical.Close(c.recommender)
		delete(b.vpas, id)
	}
}

// SetPod implements requestsRecommender.
func (b *byObject) SetPod(p *corev1.Pod, _ time.Time) {
	b.pods[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p.Labels
}

// RemovePod implements requestsRecommender.
func (b *byObject) RemovePod(id types.NamespacedName) {
	for _, c := range b.of(id) {
		b.observe(c) // before it is gone
		vertical.Forget(c.recommender, id.Name)
	}
	delete(b.pods, id)
}

// of are those that select a pod, in order of names.
func (b *byObject) of(pod types.NamespacedName) []*chosen {
	var out []*chosen
	for _, c := range b.inOrder() {
		if vpautil.PodLabelsMatchVPA(pod.Namespace, b.pods[pod], c.object.Namespace, c.selector) {
			out = append(out, c)
		}
	}
	return out
}

func (b *byObject) inOrder() []*chosen {
	out := make([]*chosen, 0, len(b.vpas))
	for _, c := range b.vpas {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *chosen) int {
		return cmp.Or(cmp.Compare(a.object.Namespace, b.object.Namespace), cmp.Compare(a.object.Name, b.object.Name))
	})
	return out
}

// Observe implements requestsRecommender.
func (b *byObject) Observe(pod types.NamespacedName, container string, at time.Time, usage corev1.ResourceList) error {
	b.add(pod, vertical.Sample{At: at, Pod: pod.Name, Container: container, Usage: vertical.AmountOf(usage)})
	return nil
}

// OOM implements requestsRecommender.
func (b *byObject) OOM(pod types.NamespacedName, container string, at time.Time, requested resource.Quantity) error {
	b.add(pod, vertical.Sample{At: at, Pod: pod.Name, Container: container, Usage: vertical.None, OOM: true, Requested: requested.Value()})
	return nil
}

func (b *byObject) add(pod types.NamespacedName, s vertical.Sample) {
	for _, c := range b.of(pod) {
		c.samples = append(c.samples, s)
	}
}

// observe hands over the samples that wait. The recommender goes on without those that it refuses; of the first there is a warning.
func (b *byObject) observe(c *chosen) {
	slices.SortStableFunc(c.samples, func(a, b vertical.Sample) int { return a.At.Compare(b.At) })
	for _, s := range c.samples {
		if err := c.recommender.Observe(s); err != nil {
			b.refused(c, err.Error())
		}
	}
	c.samples = c.samples[:0]
}

func (b *byObject) refused(c *chosen, why string) {
	if !c.refused {
		b.warn(fmt.Sprintf("%s: %s refuses samples, which count for nothing; the first: %s", verticalName(c.object), b.spec.Name, why))
	}
	c.refused = true
}

// Recommend implements requestsRecommender.
func (b *byObject) Recommend(ctx context.Context, now time.Time) ([]vpa.Recommendation, error) {
	var out []vpa.Recommendation
	for _, c := range b.inOrder() {
		b.observe(c)
		list, err := vertical.Written(ctx, c.recommender, c.object, now)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", verticalName(c.object), err)
		}
		if n, first := vertical.Refused(c.recommender); n > 0 {
			b.refused(c, first)
		}
		pods := 0
		for id, set := range b.pods {
			if vpautil.PodLabelsMatchVPA(id.Namespace, set, c.object.Namespace, c.selector) {
				pods++
			}
		}
		out = append(out, vpa.Recommendation{VPA: types.NamespacedName{Namespace: c.object.Namespace, Name: c.object.Name}, Pods: pods, Status: vpav1.VerticalPodAutoscalerStatus{
			Recommendation: list, Conditions: vpa.Conditions(c.object.Status.Conditions, len(list.ContainerRecommendations) > 0, pods > 0, now)}})
	}
	return out, nil
}

// GarbageCollect implements requestsRecommender: recommenders have their own ways to forget.
func (b *byObject) GarbageCollect(now time.Time, _ func(*vpav1.VerticalPodAutoscaler) bool) {
	for _, c := range b.inOrder() {
		vertical.Collect(c.recommender, nil, now)
	}
}

// LoadCheckpoint implements requestsRecommender: checkpoints are what upstream's remembers.
func (*byObject) LoadCheckpoint(*vpav1.VerticalPodAutoscalerCheckpoint) error { return nil }

// Checkpoints implements requestsRecommender.
func (*byObject) Checkpoints(time.Time) ([]*vpav1.VerticalPodAutoscalerCheckpoint, error) {
	return nil, nil
}

// Close lets recommenders elsewhere forget their workloads.
func (b *byObject) Close() error {
	for _, c := range b.inOrder() {
		vertical.Close(c.recommender)
	}
	return nil
}
