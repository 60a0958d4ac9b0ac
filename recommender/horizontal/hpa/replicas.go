package hpa

import (
	"fmt"
	"maps"
	"math"

	corev1 "k8s.io/api/core/v1"
	hpametrics "k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

// tolerances are how far a ratio of usage to target may be below and above 1 before the size changes.
type tolerances struct{ down, up float64 }

func (t tolerances) within(ratio float64) bool { return 1-t.down <= ratio && ratio <= 1+t.up }

// tolerances are those of the spec, or the flag's.
func (s *sync) tolerances() tolerances {
	t := tolerances{s.options.Tolerance, s.options.Tolerance}
	b := s.hpa.Spec.Behavior
	if b == nil || !s.options.ConfigurableTolerance {
		return t
	}
	if b.ScaleDown.Tolerance != nil {
		t.down = b.ScaleDown.Tolerance.AsApproximateFloat64()
	}
	if b.ScaleUp.Tolerance != nil {
		t.up = b.ScaleUp.Tolerance.AsApproximateFloat64()
	}
	return t
}

// utilization compares the usage of a resource with a share of the requests, in percent. It returns the utilization, and the average usage
// of a pod in thousandths. Both are of measured pods only.
func (s *sync) utilization(m *Metric, target int32, resource corev1.ResourceName, container string) (percent int32, average int64, err error) {
	samples, err := s.usage(resource, container)
	if err != nil {
		return 0, 0, err
	}
	g, err := s.sortPods(samples, resource)
	if err != nil {
		return 0, 0, err
	}
	requests, err := s.requests(container, resource)
	if err != nil {
		return 0, 0, err
	}
	var ratio float64
	ratio, percent, average, err = hpametrics.GetResourceUtilizationRatio(g.samples, requests, target)
	if err != nil {
		return 0, 0, err
	}
	// On the way down a pod without a sample uses all it requests, or the target where that is more.
	assumed := func(pod string) int64 { return requests[pod] * int64(max(100, target)) / 100 }
	err = s.propose(m, g, ratio, assumed, func() (float64, error) {
		again, _, _, err := hpametrics.GetResourceUtilizationRatio(g.samples, requests, target)
		return again, err
	})
	return percent, average, err
}

// average compares the average of samples with a target, both in thousandths, and returns the average of measured pods. The resource is
// empty for metrics that are no usage.
func (s *sync) average(m *Metric, samples hpametrics.PodMetricsInfo, target int64, resource corev1.ResourceName) (int64, error) {
	g, err := s.sortPods(samples, resource)
	if err != nil {
		return 0, err
	}
	ratio, average := hpametrics.GetMetricUsageRatio(g.samples, target)
	// On the way down a pod without a sample uses the target.
	assumed := func(string) int64 { return target }
	return average, s.propose(m, g, ratio, assumed, func() (float64, error) {
		again, _ := hpametrics.GetMetricUsageRatio(g.samples, target)
		return again, nil
	})
}

// usage reads the usage of a resource; the samples are the caller's.
func (s *sync) usage(resource corev1.ResourceName, container string) (hpametrics.PodMetricsInfo, error) {
	samples, err := s.metrics.Resource(resource, container)
	if err != nil {
		return nil, fmt.Errorf("unable to get metrics for resource %s: %w", resource, err)
	}
	return maps.Clone(samples), nil
}

// propose turns a ratio of usage to target into replicas. Where pods have no usable sample it assumes what speaks against a change, and
// asks again for the ratio with that: no change may come of what is only assumed. The rules are those of the replica calculator of upstream.
func (s *sync) propose(m *Metric, g *sorted, ratio float64, assumed func(pod string) int64, again func() (float64, error)) error {
	current := s.target.SpecReplicas
	m.Pods, m.Ratio, m.Proposal = g.counts, ratio, current
	tolerances := s.tolerances()
	unreadyCount := len(g.unready) > 0 && ratio > 1
	if !unreadyCount && len(g.missing) == 0 {
		if tolerances.within(ratio) {
			m.Kept = WithinTolerance
			return nil
		}
		m.Proposal = uncapped(ratio * float64(g.counts.Ready))
		return nil
	}
	for _, pod := range g.missing {
		switch {
		case ratio < 1:
			g.samples[pod] = hpametrics.PodMetric{Value: assumed(pod)}
		case ratio > 1:
			g.samples[pod] = hpametrics.PodMetric{}
		}
	}
	if unreadyCount {
		for _, pod := range g.unready {
			g.samples[pod] = hpametrics.PodMetric{}
		}
	}
	second, err := again()
	if err != nil {
		return err
	}
	m.Ratio = second
	replicas := uncapped(second * float64(len(g.samples)))
	switch {
	case tolerances.within(second):
		m.Kept = WithinTolerance
	case ratio < 1 && second > 1, ratio > 1 && second < 1, second < 1 && replicas > current, second > 1 && replicas < current:
		m.Kept = DirectionUnclear
	default:
		m.Proposal = replicas
	}
	return nil
}

// total compares one value with a target for all pods together, both in thousandths: the pods that are ready are what makes the value.
func (s *sync) total(m *Metric, value, target int64) error {
	current := s.target.SpecReplicas
	m.Ratio = float64(value) / float64(target)
	if current == 0 {
		m.Proposal = uncapped(m.Ratio)
		return nil
	}
	if s.tolerances().within(m.Ratio) {
		m.Proposal, m.Kept = current, WithinTolerance
		return nil
	}
	ready, err := s.readyPods()
	if err != nil {
		return err
	}
	m.Pods.Ready = ready
	m.Proposal = capped(m.Ratio * float64(ready))
	return nil
}

// perReplica compares one value with a target for each replica, both in thousandths. It counts the replicas that the target's status reports.
func (s *sync) perReplica(m *Metric, value, target int64, round func(float64) int32) {
	current := s.target.StatusReplicas
	m.Ratio = float64(value) / (float64(target) * float64(current))
	if s.tolerances().within(m.Ratio) {
		m.Proposal, m.Kept = current, WithinTolerance
		return
	}
	m.Proposal = round(float64(value) / float64(target))
}

// capped rounds up, and stops at the most replicas there can be.
func capped(n float64) int32 {
	if n > math.MaxInt32 {
		return math.MaxInt32
	}
	return uncapped(n)
}

// uncapped rounds up. What it gives for more than an int32 holds depends on the processor: upstream checks some of its sums only.
func uncapped(n float64) int32 { return int32(math.Ceil(n)) }
