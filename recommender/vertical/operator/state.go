package operator

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	vpautil "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"

	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// Report is what is recommended for a VPA.
type Report struct {
	Namespace, Name string
	Mode            vpav1.UpdateMode
	// Pods is how many pods of the target are alive.
	Pods int
	// Status is what the status is to be; Written says that it was written.
	Status  vpav1.VerticalPodAutoscalerStatus
	Written bool
	Err     error
}

// state is what is kept of a VPA between rounds.
type state struct {
	vpa         *vpav1.VerticalPodAutoscaler
	selector    labels.Selector
	unsupported error // why there is no selector
	recommender vertical.Recommender
	// began is before which OOMs are not counted: they are in checkpoints, or nobody knows.
	began time.Time
	// pods are those of the target that are alive, in order; containers those that use what VPAs recommend.
	pods []string
	// ooms are those that were not there before; counted is the last one by pod and container.
	ooms    []vertical.Sample
	counted map[[2]string]time.Time
	// last is the instant of the last sample by pod and container.
	last map[[2]string]time.Time
	// seen says that a sample came, or a checkpoint.
	seen     bool
	reported *Report
}

// follow takes what changed of the VPA.
func (s *state) follow(v *vpav1.VerticalPodAutoscaler, unsupported error) {
	changed := s.vpa.Generation != v.Generation
	s.vpa, s.unsupported = v, unsupported
	if changed && s.recommender != nil {
		vertical.Follow(s.recommender, v)
	}
}

// took takes the pods of the namespace.
func (s *state) took(all []corev1.Pod, now time.Time) {
	before := s.pods
	s.pods = nil
	for i := range all {
		p := &all[i]
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if s.unsupported != nil || ended || !s.selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		s.pods = append(s.pods, p.Name)
		s.took1(p)
	}
	slices.Sort(s.pods)
	if s.recommender == nil {
		return
	}
	gone := slices.DeleteFunc(before, func(name string) bool { _, there := slices.BinarySearch(s.pods, name); return there })
	vertical.Collect(s.recommender, gone, now)
	for key := range s.last {
		if slices.Contains(gone, key[0]) {
			delete(s.last, key)
			delete(s.counted, key)
		}
	}
}

// took1 finds containers of a pod that ran out of memory.
func (s *state) took1(p *corev1.Pod) {
	for _, c := range p.Status.ContainerStatuses {
		t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
		key := [2]string{p.Name, c.Name}
		if t == nil || t.Reason != "OOMKilled" || !t.FinishedAt.After(s.began) || !t.FinishedAt.After(s.counted[key]) {
			continue
		}
		if s.counted == nil {
			s.counted = map[[2]string]time.Time{}
		}
		s.counted[key] = t.FinishedAt.Time
		s.ooms = append(s.ooms, vertical.Sample{At: t.FinishedAt.Time, Pod: p.Name, Container: c.Name, Usage: vertical.None, OOM: true, Requested: requested(p, c.Name)})
	}
}

// requested is the memory that a container of a pod asks for.
func requested(p *corev1.Pod, container string) int64 {
	for _, c := range p.Spec.Containers {
		if c.Name == container {
			return c.Resources.Requests.Memory().Value()
		}
	}
	return 0
}

// observe hands a sample to the recommender, unless it has it.
func (s *state) observe(ctx context.Context, sample vertical.Sample) bool {
	key := [2]string{sample.Pod, sample.Container}
	if s.recommender == nil || !sample.OOM && !sample.At.After(s.last[key]) {
		return false
	}
	if s.last == nil {
		s.last = map[[2]string]time.Time{}
	}
	if !sample.OOM {
		s.last[key] = sample.At
	}
	if err := s.recommender.Observe(sample); err != nil {
		leader.LogOf(ctx).V(1).Info("Sample not taken", "vpa", s.vpa.Namespace+"/"+s.vpa.Name, "reason", err.Error())
		return false
	}
	s.seen = true
	return true
}

// recommend is what the status is to be now. What another process recommended stays until there are samples.
func (s *state) recommend(ctx context.Context, now time.Time) Report {
	r := Report{Namespace: s.vpa.Namespace, Name: s.vpa.Name, Mode: vpautil.GetUpdateMode(s.vpa), Pods: len(s.pods)}
	list := s.vpa.Status.Recommendation
	if s.seen {
		var err error
		if list, err = vertical.Written(ctx, s.recommender, s.vpa, now); err != nil {
			r.Err, r.Status = err, s.vpa.Status
			return r
		}
		if n, first := vertical.Refused(s.recommender); n > 0 {
			leader.LogOf(ctx).V(1).Info("Samples not taken", "vpa", s.vpa.Namespace+"/"+s.vpa.Name, "number", n, "first", first)
		}
	}
	provided := list != nil && len(list.ContainerRecommendations) > 0
	old := slices.DeleteFunc(slices.Clone(s.vpa.Status.Conditions), func(c vpav1.VerticalPodAutoscalerCondition) bool {
		return c.Type == vpav1.ConfigUnsupported && s.unsupported == nil
	})
	if s.unsupported != nil {
		old = unsupported(old, s.unsupported, now)
	}
	r.Status = vpav1.VerticalPodAutoscalerStatus{Recommendation: list, Conditions: vpa.Conditions(old, provided, len(s.pods) > 0, now), ObservedGeneration: new(s.vpa.Generation)}
	return r
}

// unsupported adds the condition that the target cannot be scaled.
func unsupported(list []vpav1.VerticalPodAutoscalerCondition, why error, now time.Time) []vpav1.VerticalPodAutoscalerCondition {
	c := vpav1.VerticalPodAutoscalerCondition{Type: vpav1.ConfigUnsupported, Status: corev1.ConditionTrue, Message: "Cannot read targetRef. Reason: " + why.Error(), LastTransitionTime: metav1.NewTime(now)}
	for i := range list {
		if list[i].Type == c.Type {
			if list[i].Status == c.Status {
				c.LastTransitionTime = list[i].LastTransitionTime
			}
			list[i] = c
			return list
		}
	}
	return append(list, c)
}

// news says whether a report is another than the last one, and keeps it.
func (s *state) news(r *Report) bool {
	was := s.reported
	s.reported = r
	if was == nil {
		return true
	}
	return was.Pods != r.Pods || was.Mode != r.Mode || errText(was.Err) != errText(r.Err) || !same(&was.Status, &r.Status)
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// same says whether statuses are alike but for instants.
func same(a, b *vpav1.VerticalPodAutoscalerStatus) bool {
	timeless := func(s *vpav1.VerticalPodAutoscalerStatus) *vpav1.VerticalPodAutoscalerStatus {
		s = s.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		return s
	}
	return apiequality.Semantic.DeepEqual(timeless(a), timeless(b))
}
