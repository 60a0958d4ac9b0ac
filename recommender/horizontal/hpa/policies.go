package hpa

import (
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// most is how many replicas the rules for scaling up allow, and which policy says so. A policy counts from the size at the start of its
// period: the current one without what was added since, and with what was removed. selectPolicy Max, the default, means the policy that
// allows the largest change, on the way down too.
func (m *memory) most(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time) (int32, string) {
	allows := func(start int32, p autoscalingv2.HPAScalingPolicy) int32 {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			// Rounded up, so that a small target grows at all.
			return uncapped(float64(start) * (1 + float64(p.Value)/100))
		}
		return start + p.Value
	}
	if *rules.SelectPolicy == autoscalingv2.MinChangePolicySelect {
		return m.selected(current, rules, now, allows, func(a, b int32) bool { return a < b })
	}
	return m.selected(current, rules, now, allows, func(a, b int32) bool { return a > b })
}

// least is how many replicas the rules for scaling down leave, as most is how many those for scaling up allow.
func (m *memory) least(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time) (int32, string) {
	leaves := func(start int32, p autoscalingv2.HPAScalingPolicy) int32 {
		if p.Type == autoscalingv2.PercentScalingPolicy {
			return int32(float64(start) * (1 - float64(p.Value)/100))
		}
		return start - p.Value
	}
	if *rules.SelectPolicy == autoscalingv2.MinChangePolicySelect {
		return m.selected(current, rules, now, leaves, func(a, b int32) bool { return a > b })
	}
	return m.selected(current, rules, now, leaves, func(a, b int32) bool { return a < b })
}

// selected asks all policies for a size and keeps the first that beats the others. Rules that are disabled allow the current size.
func (m *memory) selected(current int32, rules *autoscalingv2.HPAScalingRules, now time.Time,
	size func(start int32, p autoscalingv2.HPAScalingPolicy) int32, beats func(a, b int32) bool) (int32, string) {
	if *rules.SelectPolicy == autoscalingv2.DisabledPolicySelect {
		return current, "selectPolicy Disabled"
	}
	var best int32
	var rule string
	for i, p := range rules.Policies {
		since := now.Add(-seconds(p.PeriodSeconds))
		start := current - m.ups.since(since) + m.downs.since(since)
		if n := size(start, p); i == 0 || beats(n, best) {
			best = n
			rule = fmt.Sprintf("selectPolicy %s: %s, from %d at the start of the period to %d", *rules.SelectPolicy, policyText(p), start, n)
		}
	}
	return best, rule
}

// policyText is a policy in a few words: "Percent 100 in 15s".
func policyText(p autoscalingv2.HPAScalingPolicy) string {
	return fmt.Sprintf("%s %d in %s", p.Type, p.Value, seconds(p.PeriodSeconds))
}
