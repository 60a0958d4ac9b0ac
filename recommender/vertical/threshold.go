package vertical

import (
	"context"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

var thresholdKind = Kind{
	Name:  "threshold",
	About: "six fixed numbers for every container, as smart-kube's recommender of that name",
	Options: []Option{
		{Name: "lower-cpu", Default: "100m", About: "lower bound of CPU"}, {Name: "target-cpu", Default: "250m", About: "target of CPU"}, {Name: "upper-cpu", Default: "1", About: "upper bound of CPU"},
		{Name: "lower-memory", Default: "128Mi", About: "lower bound of memory"}, {Name: "target-memory", Default: "256Mi", About: "target of memory"}, {Name: "upper-memory", Default: "1Gi", About: "upper bound of memory"},
	},
	Make: func(o *spec.Values) Maker {
		six := six(o)
		return func(Workload) (Recommender, error) { return &threshold{six: six}, nil }
	},
}

// threshold recommends the same for every container it has seen.
type threshold struct {
	seen[struct{}]
	six Recommendation
}

// Observe implements Recommender.
func (t *threshold) Observe(s Sample) error {
	t.of(s.Container)
	return s.check()
}

// Recommend implements Recommender.
func (t *threshold) Recommend(context.Context, time.Time) ([]Recommendation, error) {
	var out []Recommendation
	for _, name := range t.names() {
		r := t.six
		r.Container = name
		out = append(out, r)
	}
	return out, nil
}
