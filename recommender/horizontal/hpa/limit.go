package hpa

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// limit leads from what the metrics want to a size that the windows, the rates and the limits of the spec allow, and writes both
// conditions that say so. name is the metric that wants it.
func (s *sync) limit(wanted int32, name string, minReplicas int32) int32 {
	current := s.target.SpecReplicas
	s.d.Recommended = wanted
	switch {
	case wanted > current:
		s.d.Reason = name + " above target"
	case wanted < current:
		s.d.Reason = "All metrics below target"
	}
	stabilize, rate := s.stabilize, s.rateLimit
	if s.hpa.Spec.Behavior != nil {
		stabilize, rate = s.stabilizeByRules, s.rateLimitByRules
	}
	stable, why := stabilize(wanted)
	s.apply(why, wanted, stable)
	if stable != wanted {
		s.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, why.reason, why.message)
	} else {
		s.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "ReadyForNewScale", "recommended size matches current size")
	}
	size, why := rate(stable, minReplicas)
	s.apply(why, stable, size)
	limited := corev1.ConditionFalse
	if size != stable {
		limited = corev1.ConditionTrue
	}
	s.condition(autoscalingv2.ScalingLimited, limited, why.reason, why.message)
	// From zero the size may be below the minimum, which is only looked at on the way down.
	if current == 0 && minReplicas != 0 && size < minReplicas {
		s.apply(tooFew(minReplicas), size, minReplicas)
		if size = minReplicas; s.d.Reason == "" {
			s.d.Reason = "Current number of replicas below Spec.MinReplicas"
		}
	}
	return size
}

// cause is why a size was changed: the reason and the message of a condition, and the rule for those who want to know.
type cause struct{ reason, message, detail string }

var inRange = cause{reason: "DesiredWithinRange", message: "the desired count is within the acceptable range"}

func tooFew(minReplicas int32) cause {
	return cause{"TooFewReplicas", "the desired replica count is less than the minimum replica count", fmt.Sprintf("minReplicas %d", minReplicas)}
}

func tooMany(maxReplicas int32) cause {
	return cause{"TooManyReplicas", "the desired replica count is more than the maximum replica count", fmt.Sprintf("maxReplicas %d", maxReplicas)}
}

func tooFast(detail string) cause {
	return cause{"ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate", detail}
}

func tooFastDown(detail string) cause {
	return cause{"ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate", detail}
}

func stabilizedDown(detail string) cause {
	return cause{"ScaleDownStabilized", "recent recommendations were higher than current one, applying the highest recent recommendation", detail}
}

func stabilizedUp(detail string) cause {
	return cause{"ScaleUpStabilized", "recent recommendations were lower than current one, applying the lowest recent recommendation", detail}
}

// apply records a change of the size in the decision.
func (s *sync) apply(why cause, from, to int32) {
	if from != to {
		s.d.Limits = append(s.d.Limits, Limit{By: why.reason, From: from, To: to, Detail: why.detail})
	}
}

// rateLimit is for a spec without behavior: at most twice as many replicas, or four, and what the spec allows.
func (s *sync) rateLimit(wanted, minReplicas int32) (int32, cause) {
	// The constants are scaleUpLimitFactor and scaleUpLimitMinimum of upstream. The product is of floats, as a target of more than half of
	// all int32 would overflow.
	fastest := uncapped(max(2*float64(s.target.SpecReplicas), 4))
	most, why := s.hpa.Spec.MaxReplicas, tooMany(s.hpa.Spec.MaxReplicas)
	if most > fastest {
		most, why = fastest, tooFast(fmt.Sprintf("at most %d, the larger of 4 and twice the size", fastest))
	}
	switch {
	case wanted < minReplicas:
		return minReplicas, tooFew(minReplicas)
	case wanted > most:
		return most, why
	}
	return wanted, inRange
}

// rateLimitByRules allows what the policies of a behavior and the spec do. In the direction of the change only: the size may be outside
// of the limits on the other side.
func (s *sync) rateLimitByRules(wanted, minReplicas int32) (int32, cause) {
	current, b := s.target.SpecReplicas, s.hpa.Spec.Behavior
	switch {
	case wanted > current:
		fastest, rule := s.memory.most(current, b.ScaleUp, s.now)
		fastest = max(fastest, current)
		most, why := s.hpa.Spec.MaxReplicas, tooMany(s.hpa.Spec.MaxReplicas)
		if most > fastest {
			most, why = fastest, tooFast(rule)
		}
		if wanted > most {
			return most, why
		}
	case wanted < current:
		fastest, rule := s.memory.least(current, b.ScaleDown, s.now)
		fastest = min(fastest, current)
		least, why := minReplicas, tooFew(minReplicas)
		if least < fastest {
			least, why = fastest, tooFastDown(rule)
		}
		if wanted < least {
			return least, why
		}
	}
	return wanted, inRange
}
