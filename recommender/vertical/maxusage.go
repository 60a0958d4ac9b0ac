package vertical

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

var maxUsageKind = Kind{
	Name:  "max-usage",
	About: "the highest usage of a window and a margin: what many people set by hand",
	Options: []Option{
		{Name: "margin", Default: "0.15", About: "what is added to the highest usage, as a fraction of it (smart-kube's analysis takes 0.15)"},
		{Name: "window", Default: "192h", About: "how long usage counts (8 days, as long as the VPA keeps peaks)"},
	},
	Make: func(o *spec.Values) Maker {
		margin, window := o.Number("margin", 0, 100), o.Duration("window", time.Minute)
		return func(Workload) (Recommender, error) { return &maxUsage{margin: margin, window: window}, nil }
	},
}

// maxUsage recommends the highest usage of a window and a margin as the target; the lower bound is the highest usage, the upper one
// has the margin twice.
type maxUsage struct {
	seen[peaks]
	margin float64
	window time.Duration
}

// peaks has the samples of a window that later ones do not exceed, per resource: in order of time, each higher than the next.
type peaks struct {
	CPU, Memory []peak
}

type peak struct {
	At    time.Time
	Value int64
}

func higher(list []peak, p peak) []peak {
	for len(list) > 0 && list[len(list)-1].Value <= p.Value {
		list = list[:len(list)-1]
	}
	return append(list, p)
}

// Observe implements Recommender. Memory that ran out counts as what upstream takes for needed.
func (m *maxUsage) Observe(s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	c := m.of(s.Container)
	if s.OOM {
		s.Usage = Amount{Unset, restarted(s.Requested)}
	}
	if s.Usage.CPUMilli >= 0 {
		c.CPU = higher(c.CPU, peak{s.At, s.Usage.CPUMilli})
	}
	if s.Usage.MemoryBytes >= 0 {
		c.Memory = higher(c.Memory, peak{s.At, s.Usage.MemoryBytes})
	}
	return nil
}

// Recommend implements Recommender.
func (m *maxUsage) Recommend(_ context.Context, now time.Time) ([]Recommendation, error) {
	from := now.Add(-m.window)
	highest := func(list *[]peak) int64 {
		for len(*list) > 0 && !(*list)[0].At.After(from) {
			*list = slices.Delete(*list, 0, 1)
		}
		if len(*list) == 0 {
			return Unset
		}
		return (*list)[0].Value
	}
	var out []Recommendation
	for _, name := range m.names() {
		c := m.of(name)
		most := Amount{highest(&c.CPU), highest(&c.Memory)}
		if most == None {
			continue
		}
		out = append(out, Recommendation{Container: name, Lower: most, Target: most.times(1 + m.margin), Upper: most.times(1 + 2*m.margin)})
	}
	return out, nil
}

// times scales what is set, rounded up.
func (a Amount) times(by float64) Amount {
	return Amount{times(a.CPUMilli, by), times(a.MemoryBytes, by)}
}

// times rounds up, but for what floating point adds to a product that is whole.
func times(v int64, by float64) int64 {
	if v < 0 {
		return v
	}
	return int64(math.Ceil(float64(v)*by - 1e-6))
}
