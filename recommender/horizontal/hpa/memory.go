package hpa

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

// memory is what a controller keeps of an autoscaler between syncs, by its name: another object of that name finds it again.
type memory struct {
	recommendations []recommendation
	ups, downs      events
}

// recommendation is a size that metrics wanted at some time, before limits.
type recommendation struct {
	replicas int32
	at       time.Time
}

// begin makes the size at the first sync the first recommendation, so that a restarted controller does not scale down at once.
func (m *memory) begin(replicas int32, now time.Time) {
	if m.recommendations == nil {
		m.recommendations = []recommendation{{replicas, now}}
	}
}

// recommend keeps a recommendation, in the place of the last one for which old says yes.
func (m *memory) recommend(r recommendation, old func(recommendation) bool) {
	for i := len(m.recommendations) - 1; i >= 0; i-- {
		if old(m.recommendations[i]) {
			m.recommendations[i] = r
			return
		}
	}
	m.recommendations = append(m.recommendations, r)
}

// highest is the largest of a recommendation and of those that keep says are to count.
func (m *memory) highest(replicas int32, keep func(recommendation) bool) recommendation {
	best := recommendation{replicas: replicas}
	for _, r := range m.recommendations {
		if r.replicas > best.replicas && keep(r) {
			best = r
		}
	}
	return best
}

// lowest is the smallest, as highest is the largest.
func (m *memory) lowest(replicas int32, keep func(recommendation) bool) recommendation {
	best := recommendation{replicas: replicas}
	for _, r := range m.recommendations {
		if r.replicas < best.replicas && keep(r) {
			best = r
		}
	}
	return best
}

// rescaled keeps the change of size that policies count.
func (m *memory) rescaled(b *autoscalingv2.HorizontalPodAutoscalerBehavior, from, to int32, now time.Time) {
	if to > from {
		m.ups.add(to-from, longestPeriod(b.ScaleUp), now)
	} else {
		m.downs.add(from-to, longestPeriod(b.ScaleDown), now)
	}
}

// events are the changes of size in one direction.
type events []event

type event struct {
	replicas int32 // how many were added or removed, never negative
	at       time.Time
	// outdated is set when a change is older than all periods, which may become longer later: such an event counts again until its place is taken.
	outdated bool
}

// add keeps an event, in the place of the last outdated one.
func (e *events) add(replicas int32, longest time.Duration, now time.Time) {
	place := -1
	for i := range *e {
		if (*e)[i].at.Before(now.Add(-longest)) {
			(*e)[i].outdated = true
		}
		if (*e)[i].outdated {
			place = i
		}
	}
	fresh := event{replicas: replicas, at: now}
	if place < 0 {
		*e = append(*e, fresh)
	} else {
		(*e)[place] = fresh
	}
}

// since adds up the changes after an instant.
func (e events) since(start time.Time) (replicas int32) {
	for _, ev := range e {
		if ev.at.After(start) {
			replicas += ev.replicas
		}
	}
	return replicas
}

// longestPeriod is the longest period of the policies of some rules.
func longestPeriod(rules *autoscalingv2.HPAScalingRules) (longest time.Duration) {
	for _, p := range rules.Policies {
		longest = max(longest, seconds(p.PeriodSeconds))
	}
	return longest
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }
