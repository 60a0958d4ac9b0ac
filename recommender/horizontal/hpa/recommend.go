package hpa

import (
	"errors"
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// unknown is a size that metrics could not be read for.
const unknown = -1

// recommend asks all metrics and takes the largest proposal. With an error, the size is unknown, or it is that of the metrics that could be
// read: some of them want more than there is, whatever the others would have said. Several values of the same size are the first's.
func (s *sync) recommend() (replicas int32, name string, statuses []autoscalingv2.MetricStatus, err error) {
	if err := s.checkSelector(); err != nil {
		return unknown, "", nil, err
	}
	var first *failure
	failed := 0
	specs := s.hpa.Spec.Metrics
	statuses = make([]autoscalingv2.MetricStatus, len(specs))
	for i, spec := range specs {
		m, f := s.metric(spec)
		s.d.Metrics = append(s.d.Metrics, m)
		if f != nil {
			failed++
			if first == nil {
				first = f
			}
			continue
		}
		statuses[i] = m.Status
		if replicas == 0 || m.Proposal > replicas {
			replicas, name, s.d.Decided = m.Proposal, m.Name, i
		}
	}
	if first != nil {
		err = fmt.Errorf("invalid metrics (%d invalid out of %d), first error is: %w", failed, len(specs), first.outer)
	}
	if failed >= len(specs) || failed > 0 && replicas < s.target.SpecReplicas {
		s.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, first.reason,
			fmt.Sprintf("the HPA was unable to compute the replica count: %v", first.err))
		s.d.Decided = -1
		return unknown, "", statuses, err
	}
	s.condition(autoscalingv2.ScalingActive, corev1.ConditionTrue, "ValidMetricFound",
		"the HPA was able to successfully calculate a replica count from "+name)
	return replicas, name, statuses, err
}

// checkSelector reports a selector that cannot be read, or that selects pods which other autoscalers select.
func (s *sync) checkSelector() error {
	inactive := func(reason, message string) {
		s.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, message)
	}
	text := s.target.Selector
	if text == "" {
		err := errors.New("selector is required")
		s.warn("SelectorRequired", err)
		inactive("InvalidSelector", "the HPA target's scale is missing a selector")
		return err
	}
	if text != s.selectorText {
		selector, err := labels.Parse(text)
		if err != nil {
			err = fmt.Errorf("couldn't convert selector into a corresponding internal selector object: %w", err)
			s.warn("InvalidSelector", err)
			inactive("InvalidSelector", err.Error())
			return err
		}
		s.selector, s.selectorText = selector, text
	}
	if s.rivals == nil {
		return nil
	}
	if rivals := s.rivals(s.selector, s.target.Pods); len(rivals) > 1 {
		err := fmt.Errorf("pods by selector %s are controlled by multiple HPAs: [%s]", text, strings.Join(rivals, " "))
		s.warn("AmbiguousSelector", err)
		inactive("AmbiguousSelector", err.Error())
		return err
	}
	return nil
}
