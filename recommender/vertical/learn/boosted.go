package learn

import (
	"context"
	"fmt"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/boosted"
	"github.com/scalehist/scalehist/recommender/vertical/env"
)

// BoostedOptions say how trees are trained.
type BoostedOptions struct {
	Seed uint64
	// Trees is how many there are of each resource at most.
	Trees int
	// Horizon is how far is predicted, in steps of vertical.PastStep.
	Horizon time.Duration
	// CPU and Memory are the quantiles that are predicted.
	CPU, Memory float64
}

// DefaultBoosted are options that train in a minute.
var DefaultBoosted = BoostedOptions{Seed: 1, Trees: 120, Horizon: 2 * time.Hour, CPU: 0.95, Memory: 0.99}

// held is the share of each workload's usage, at its end, that a model is not trained on but tested with.
const held = 0.25

// Boosted trains trees on the usage of workloads, whose steps are vertical.PastStep.
func Boosted(ctx context.Context, workloads []env.Workload, o BoostedOptions) (*vertical.BoostedModel, *Curve, error) {
	if o.Horizon < vertical.PastStep || o.Horizon > 24*time.Hour || o.Trees < 1 || o.Trees > 10_000 {
		return nil, nil, fmt.Errorf("horizon %s, %d trees: want %s to 24h, and 1 to 10000", o.Horizon, o.Trees, vertical.PastStep)
	}
	m := &vertical.BoostedModel{Trained: vertical.Trained{Version: vertical.ModelVersion, Recommender: "boosted", Seed: o.Seed}, Horizon: int(o.Horizon / vertical.PastStep)}
	for _, w := range workloads {
		if w.Step != vertical.PastStep {
			return nil, nil, fmt.Errorf("workload %s has steps of %s: want %s", w.Name, w.Step, vertical.PastStep)
		}
		m.On = append(m.On, w.Name)
	}
	var curves [2][]boosted.Point
	for k, quantile := range []float64{o.CPU, o.Memory} {
		if !(quantile >= 0.01 && quantile <= 0.999) {
			return nil, nil, fmt.Errorf("quantile %g: want 0.01 to 0.999", quantile)
		}
		var train, test boosted.Data
		for _, w := range workloads {
			for i := range w.Containers {
				collect(&train, &test, w.From, values(w.Containers[i].Usage, k), o.Horizon)
			}
		}
		options := boosted.DefaultOptions(quantile, o.Seed)
		options.Trees = o.Trees
		one, curve, err := boosted.Train(ctx, train, test, options)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", []string{"CPU", "memory"}[k], err)
		}
		if curves[k] = curve; k == 0 {
			m.CPU = one
		} else {
			m.Memory = one
		}
	}
	c := &Curve{Title: "Loss of boosted trees, as shares of the highest usage of a day", Columns: []string{"trees", "CPU trained", "CPU held back", "memory trained", "memory held back"}}
	for i, p := range curves[0] {
		q := curves[1][i]
		c.Rows = append(c.Rows, []float64{float64(p.Trees), p.Trained, p.Tested, q.Trained, q.Tested})
	}
	return m, c, nil
}

func values(usage []vertical.Amount, resource int) []int64 {
	out := make([]int64, len(usage))
	for i, u := range usage {
		out[i] = [2]int64{u.CPUMilli, u.MemoryBytes}[resource]
	}
	return out
}

// collect parts the rows of a container: the last ones are tested with, and those before whose target is among them are left out.
func collect(train, test *boosted.Data, from time.Time, usage []int64, horizon time.Duration) {
	rows, targets := vertical.BoostedRows(from, usage, horizon)
	first := len(rows) - int(held*float64(len(rows)))
	end := max(0, first-int(horizon/vertical.PastStep))
	train.Rows, train.Targets = append(train.Rows, rows[:end]...), append(train.Targets, targets[:end]...)
	test.Rows, test.Targets = append(test.Rows, rows[first:]...), append(test.Targets, targets[first:]...)
}
