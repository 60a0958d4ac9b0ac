package hpa

import (
	"errors"
	"fmt"
	"maps"
	"math"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// failure is a metric without a proposal: the reason and the error of the event and the condition, and the error of the sync, which says
// more.
type failure struct {
	reason string
	err    error
	outer  error
}

// metric works out what one metric of the spec proposes.
func (s *sync) metric(spec autoscalingv2.MetricSpec) (Metric, *failure) {
	m := Metric{Spec: spec}
	var reason, failed string
	var err error
	switch spec.Type {
	case autoscalingv2.ResourceMetricSourceType:
		reason, failed = "FailedGetResourceMetric", fmt.Sprintf("failed to get %s resource metric value", spec.Resource.Name)
		err = s.resourceMetric(&m, spec.Resource.Name, "", spec.Resource.Target)
	case autoscalingv2.ContainerResourceMetricSourceType:
		reason, failed = "FailedGetContainerResourceMetric", fmt.Sprintf("failed to get %s container metric value", spec.ContainerResource.Container)
		err = s.resourceMetric(&m, spec.ContainerResource.Name, spec.ContainerResource.Container, spec.ContainerResource.Target)
	case autoscalingv2.PodsMetricSourceType:
		reason, failed = "FailedGetPodsMetric", "failed to get pods metric value"
		err = s.podsMetric(&m, spec.Pods)
	case autoscalingv2.ObjectMetricSourceType:
		reason, failed = "FailedGetObjectMetric", "failed to get object metric value"
		err = s.objectMetric(&m, spec.Object)
	case autoscalingv2.ExternalMetricSourceType:
		reason, failed = "FailedGetExternalMetric", fmt.Sprintf("failed to get %s external metric value", spec.External.Metric.Name)
		err = s.externalMetric(&m, spec.External)
	}
	if err == nil {
		return m, nil
	}
	f := &failure{reason: reason, err: err}
	// The condition has the words of the query, the error of a sync those of what was computed with it too.
	var framed *framedError
	if errors.As(err, &framed) {
		f.err = framed.err
	}
	f.outer = fmt.Errorf("%s: %w", failed, err)
	s.warn(reason, f.err)
	return Metric{Spec: spec, Name: m.Name, Error: f.outer.Error()}, f
}

// framedError is an error that conditions and events show without the words before it.
type framedError struct {
	frame string
	err   error
}

func (e *framedError) Error() string { return e.frame + ": " + e.err.Error() }
func (e *framedError) Unwrap() error { return e.err }

func (s *sync) resourceMetric(m *Metric, name corev1.ResourceName, container string, target autoscalingv2.MetricTarget) error {
	m.Name = string(name) + " resource"
	var current autoscalingv2.MetricValueStatus
	if target.AverageValue != nil {
		samples, err := s.usage(name, container)
		var average int64
		if err == nil {
			average, err = s.average(m, samples, target.AverageValue.MilliValue(), name)
		}
		if err != nil {
			return fmt.Errorf("failed to get %s usage: %w", name, err)
		}
		current.AverageValue = usageQuantity(name, average)
	} else {
		m.Name += " utilization (percentage of request)"
		if container != "" {
			m.Name = fmt.Sprintf("%s container resource utilization (percentage of request)", name)
		}
		percent, average, err := s.utilization(m, *target.AverageUtilization, name, container)
		if err != nil {
			return fmt.Errorf("failed to get %s utilization: %w", name, err)
		}
		current.AverageUtilization, current.AverageValue = &percent, usageQuantity(name, average)
	}
	m.Status.Type = m.Spec.Type
	if container == "" {
		m.Status.Resource = &autoscalingv2.ResourceMetricStatus{Name: name, Current: current}
	} else {
		m.Status.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{Name: name, Container: container, Current: current}
	}
	return nil
}

func (s *sync) podsMetric(m *Metric, source *autoscalingv2.PodsMetricSource) error {
	m.Name = fmt.Sprintf("pods metric %s", source.Metric.Name)
	if err := validSelector(source.Metric); err != nil {
		return err
	}
	samples, err := s.metrics.Pods(source.Metric)
	if err != nil {
		return fmt.Errorf("unable to get metric %s: %w", source.Metric.Name, err)
	}
	average, err := s.average(m, maps.Clone(samples), source.Target.AverageValue.MilliValue(), "")
	if err != nil {
		return err
	}
	m.Status = autoscalingv2.MetricStatus{Type: m.Spec.Type, Pods: &autoscalingv2.PodsMetricStatus{
		Metric:  source.Metric,
		Current: autoscalingv2.MetricValueStatus{AverageValue: thousandths(average)},
	}}
	return nil
}

// objectMetric has a target for all replicas or for each, as target.type says; upstream calls the latter an external metric.
func (s *sync) objectMetric(m *Metric, source *autoscalingv2.ObjectMetricSource) error {
	target, metric, described := source.Target, source.Metric, source.DescribedObject
	if err := validSelector(metric); err != nil {
		return err
	}
	value := func() (int64, error) {
		v, err := s.metrics.Object(described, metric)
		if err != nil {
			err = fmt.Errorf("unable to get metric %s: %s on %s %s/%w", metric.Name, described.Kind, s.hpa.Namespace, described.Name, err)
		}
		return v, err
	}
	var current autoscalingv2.MetricValueStatus
	switch {
	case target.Type == autoscalingv2.ValueMetricType && target.Value != nil:
		m.Name = fmt.Sprintf("%s metric %s", described.Kind, metric.Name)
		v, err := value()
		if err == nil {
			err = s.total(m, v, target.Value.MilliValue())
		}
		if err != nil {
			return err
		}
		current.Value = thousandths(v)
	case target.Type == autoscalingv2.AverageValueMetricType && target.AverageValue != nil:
		m.Name = fmt.Sprintf("external metric %s(%+v)", metric.Name, metric.Selector)
		v, err := value()
		if err != nil {
			return &framedError{fmt.Sprintf("failed to get %s object metric", metric.Name), err}
		}
		s.perReplica(m, v, target.AverageValue.MilliValue(), uncapped)
		current.AverageValue = thousandths(share(v, s.target.StatusReplicas))
	default:
		return errors.New("invalid object metric source: neither a value target nor an average value target was set")
	}
	m.Status = autoscalingv2.MetricStatus{Type: m.Spec.Type, Object: &autoscalingv2.ObjectMetricStatus{
		DescribedObject: described, Metric: metric, Current: current,
	}}
	return nil
}

// externalMetric has a target for each replica, or for all.
func (s *sync) externalMetric(m *Metric, source *autoscalingv2.ExternalMetricSource) error {
	target, metric := source.Target, source.Metric
	m.Name = fmt.Sprintf("external metric %s(%+v)", metric.Name, metric.Selector)
	var values []int64
	err := validSelector(metric)
	if err == nil {
		if values, err = s.metrics.External(metric); err != nil {
			err = fmt.Errorf("unable to get external metric %s/%s/%+v: %w", s.hpa.Namespace, metric.Name, metric.Selector, err)
		}
	}
	var current autoscalingv2.MetricValueStatus
	if target.AverageValue != nil {
		if err != nil {
			return &framedError{fmt.Sprintf("failed to get %s external metric", metric.Name), err}
		}
		sum := sumOrMost(values)
		s.perReplica(m, sum, target.AverageValue.MilliValue(), capped)
		if float64(sum) < math.MaxInt64 {
			sum = share(sum, s.target.StatusReplicas)
		}
		current.AverageValue = thousandths(sum)
	} else {
		sum := cappedSum(values)
		if err == nil {
			err = s.total(m, sum, target.Value.MilliValue())
		}
		if err != nil {
			return &framedError{fmt.Sprintf("failed to get external metric %s", metric.Name), err}
		}
		current.Value = thousandths(sum)
	}
	m.Status = autoscalingv2.MetricStatus{Type: m.Spec.Type, External: &autoscalingv2.ExternalMetricStatus{Metric: metric, Current: current}}
	return nil
}

// validSelector reports a selector of a metric that cannot be read: the API server lets it in.
func validSelector(metric autoscalingv2.MetricIdentifier) error {
	_, err := metav1.LabelSelectorAsSelector(metric.Selector)
	return err
}

// cappedSum adds values up; a sum that overflows is the largest there is.
func cappedSum(values []int64) (sum int64) {
	for _, v := range values {
		if v > 0 && sum > math.MaxInt64-v {
			return math.MaxInt64
		}
		sum += v
	}
	return sum
}

// sumOrMost adds values up; a sum that is negative on its way is the largest there is. Upstream takes it for an overflow, which it need not be.
func sumOrMost(values []int64) (sum int64) {
	for _, v := range values {
		if sum += v; sum < 0 {
			return math.MaxInt64
		}
	}
	return sum
}

// share is a value divided by replicas, rounded up. For no replicas it depends on the processor, as upstream does.
func share(value int64, replicas int32) int64 {
	return int64(math.Ceil(float64(value) / float64(replicas)))
}

func thousandths(value int64) *resource.Quantity {
	return resource.NewMilliQuantity(value, resource.DecimalSI)
}

// usageQuantity is usage in thousandths in the format in which the metrics API has it.
func usageQuantity(name corev1.ResourceName, value int64) *resource.Quantity {
	if name == corev1.ResourceMemory {
		return resource.NewMilliQuantity(value, resource.BinarySI)
	}
	return thousandths(value)
}
