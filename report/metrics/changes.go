package metrics

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// change is an amount from an offset on.
type change struct {
	at time.Duration
	to float64
}

// resizes are, by pod, the changes of what it asks for, in time order.
func (m *measured) resizes(name corev1.ResourceName) map[string][]change {
	out := map[string][]change{}
	for _, b := range m.r.Batches {
		for _, p := range b.Resized {
			out[p.Pod] = append(out[p.Pod], change{b.At.Sub(m.r.StartTime), amount(p.Requests, name)})
		}
	}
	return out
}

// offerChanges are, by node, the changes of what it offers, in time order.
func (m *measured) offerChanges(name corev1.ResourceName) map[string][]change {
	out := map[string][]change{}
	for _, b := range m.r.Batches {
		for _, n := range b.Offers {
			out[n.Node] = append(out[n.Node], change{b.At.Sub(m.r.StartTime), amount(n.Offers, name)})
		}
	}
	return out
}

// follow gives an amount for the length of a life, with the changes that fall into it.
func (l life) follow(v float64, changes []change) []step {
	steps := []step{{l.from, v}}
	for _, c := range changes {
		if c.at >= l.from && c.at < l.to {
			steps = append(steps, step{c.at, c.to - v})
			v = c.to
		}
	}
	return append(steps, step{l.to, -v})
}

// last is an amount at the end of a life.
func (l life) last(v float64, changes []change) float64 {
	for _, c := range changes {
		if c.at >= l.from && c.at <= l.to {
			v = c.to
		}
	}
	return v
}
