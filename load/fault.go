package load

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// FaultKind says how the source of metrics fails.
type FaultKind string

// The kinds of faults of the source of metrics.
const (
	// FaultDown: nobody answers.
	FaultDown FaultKind = "down"
	// FaultSlow: answers take Delay, and who waits less than that has none.
	FaultSlow FaultKind = "slow"
	// FaultStale: what was known at the first question of the fault is answered until it ends; of pods that came later nothing is.
	FaultStale FaultKind = "stale"
	// FaultEmpty: the answer has no series.
	FaultEmpty FaultKind = "empty"
	// FaultNaN: the answer is not a number. The metrics API for resources has no such answer, and leaves the pod out.
	FaultNaN FaultKind = "nan"
	// FaultWrong: the answer is Value.
	FaultWrong FaultKind = "wrong"
)

// APITimeout is how long an API server waits for the metrics APIs that it aggregates (--request-timeout of kube-apiserver).
const APITimeout = time.Minute

// Fault is something wrong with the source of metrics in [From, To); a zero bound is open.
type Fault struct {
	Kind FaultKind
	// Metric is the one it hits; empty: all.
	Metric   string        `json:",omitempty"`
	From, To time.Time     `json:",omitzero"`
	Delay    time.Duration `json:",omitempty"`
	Value    float64       `json:",omitempty"`
}

func (f *Fault) overlaps(from, to time.Time) bool {
	return (f.From.IsZero() || !to.Before(f.From)) && (f.To.IsZero() || from.Before(f.To))
}

// faults are those of a Meter, and what was known when one of them began.
type faults struct {
	list   []Fault
	frozen map[frozenKey]frozenValue
}

type frozenKey struct {
	fault                  int
	workload               scalehist.WorkloadRef
	pod, container, metric string
}

type frozenValue struct {
	value float64
	at    time.Time
	ok    bool
}

// SetFaults makes the source of metrics fail. Of several at an instant the first counts.
func (m *Meter) SetFaults(list []Fault) {
	m.faults = faults{list: list, frozen: map[frozenKey]frozenValue{}}
}

// Fault is what is wrong with a metric now; false if nothing is.
func (m *Meter) Fault(now time.Time, metric string) (Fault, bool) {
	if i := m.fault(now, metric); i >= 0 {
		return m.faults.list[i], true
	}
	return Fault{}, false
}

func (m *Meter) fault(now time.Time, metric string) int {
	for i := range m.faults.list {
		if f := &m.faults.list[i]; (f.Metric == "" || f.Metric == metric) && f.overlaps(now, now) {
			return i
		}
	}
	return -1
}

// WasAway says whether the whole source was down at some time in [from, to].
func (m *Meter) WasAway(from, to time.Time) bool {
	for i := range m.faults.list {
		if f := &m.faults.list[i]; f.Kind == FaultDown && f.Metric == "" && f.overlaps(from, to) {
			return true
		}
	}
	return false
}

// failed is the answer of a source with a fault; real gives the one that it would have had. Pod is nil for a metric of a workload.
func (m *Meter) failed(fault int, now time.Time, w scalehist.WorkloadRef, p *corev1.Pod, container, metric string, real func() (float64, time.Time, bool)) (float64, time.Time, bool) {
	f := &m.faults.list[fault]
	switch f.Kind {
	case FaultSlow:
		if f.Delay < APITimeout {
			return real()
		}
	case FaultWrong:
		_, at, ok := real()
		return f.Value, at, ok
	case FaultNaN:
		if _, at, ok := real(); ok && p == nil {
			return math.NaN(), at, true
		}
	case FaultStale:
		key := frozenKey{fault: fault, workload: w.Key(), container: container, metric: metric}
		if p != nil {
			if key.pod = p.Name; p.CreationTimestamp.After(f.From) {
				return 0, now, false
			}
		}
		known, seen := m.faults.frozen[key]
		if !seen {
			known.value, known.at, known.ok = real()
			m.faults.frozen[key] = known
		}
		return known.value, known.at, known.ok
	case FaultDown, FaultEmpty:
	}
	return 0, now, false
}
