package contest

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// Seeds is how many seeds each load of a contest has, from 0 on; calibratedSeeds is how many a baseline is fitted on, from firstCalibrated on.
const (
	Seeds           = 5
	calibratedSeeds = 2
	firstCalibrated = 500
)

// A week each, of which two days count for nothing: recommenders learn.
const (
	length = 7 * 24 * time.Hour
	learns = 2 * 24 * time.Hour
)

// Measured is a number with a half of its 95 % confidence interval.
type Measured struct{ Mean, Half float64 }

// Entry is what came of a recommender on a load.
type Entry struct {
	Load, Recommender string
	// Penalty is the default reward of environments, negated, by the accounts of a backtest: relative slack, 5 times the share of time with
	// CPU throttled, 10 times that of being down for memory, and evictions per container and five minutes.
	Penalty, Slack, Throttled, Down, Evictions Measured
	// AgainstVPA is the difference of the penalty to that of vpa, seed by seed.
	AgainstVPA Measured
}

// Contestants are the recommenders of the contest with their default options.
var Contestants = []string{"vpa", "boosted", "policy", "holt-winters", "max-usage", "smart-kube", "threshold", "random"}

// baselines are rules whose options are calibrated on each load, among all combinations of a grid.
var baselines = []struct {
	name  string
	fixed []vertical.Setting
	grid  []backtest.Parameter
}{
	{"max-usage", nil, []backtest.Parameter{{Name: "margin", Values: []string{"0", "0.05", "0.1", "0.15", "0.3", "0.5"}}, {Name: "window", Values: []string{"1h", "6h", "24h", "192h"}}}},
	{"threshold", []vertical.Setting{{Name: "upper-cpu", Value: "4"}, {Name: "upper-memory", Value: "4Gi"}}, []backtest.Parameter{
		{Name: "target-cpu", Values: []string{"500m", "750m", "1", "1100m", "1200m"}}, {Name: "target-memory", Values: []string{"512Mi", "768Mi", "1Gi", "1150Mi", "1230Mi"}}}},
}

// Run gives the entries of loads, each with the recommenders in order: Contestants, the calibrated baselines, and what was set by hand.
func Run(ctx context.Context, loads []Load, jobs int) ([]Entry, error) {
	var out []Entry
	for _, l := range loads {
		var candidates []backtest.Candidate
		for _, name := range Contestants {
			s, err := vertical.Parse(name)
			if err != nil {
				return nil, err
			}
			candidates = append(candidates, backtest.Candidate{Label: name, Recommender: s, Updater: vertical.UpdaterUpstream})
		}
		for _, b := range baselines {
			all, err := backtest.Candidates(b.name, b.fixed, vertical.UpdaterUpstream, b.grid)
			if err != nil {
				return nil, err
			}
			best, err := l.calibrate(ctx, all, jobs)
			if err != nil {
				return nil, err
			}
			best.Label = b.name + ", calibrated"
			candidates = append(candidates, best)
		}
		candidates = append(candidates, backtest.Candidate{Label: "by hand"})
		var reports []*backtest.Report
		for seed := range uint64(Seeds) {
			r, err := l.try(ctx, seed, candidates, jobs)
			if err != nil {
				return nil, err
			}
			reports = append(reports, r)
		}
		for i := range candidates {
			out = append(out, entry(l.Name, i, reports))
		}
	}
	return out, nil
}

// try is a backtest of a load.
func (l *Load) try(ctx context.Context, seed uint64, candidates []backtest.Candidate, jobs int) (*backtest.Report, error) {
	w, err := l.Workload(seed, length)
	if err != nil {
		return nil, err
	}
	r, err := backtest.Run(ctx, []*trial.Workload{w}, candidates, backtest.Options{Name: l.Name, From: Start, To: Start.Add(length), Learn: learns,
		Interval: vertical.PastStep, Limits: trial.LimitsRequests, Jobs: jobs})
	if err != nil {
		return nil, fmt.Errorf("load %s, seed %d: %w", l.Name, seed, err)
	}
	return r, nil
}

// calibrate finds the candidate with the least penalty on seeds that the contest does not have.
func (l *Load) calibrate(ctx context.Context, candidates []backtest.Candidate, jobs int) (backtest.Candidate, error) {
	sums := make([]float64, len(candidates))
	for k := range calibratedSeeds {
		r, err := l.try(ctx, uint64(firstCalibrated+k), candidates, jobs)
		if err != nil {
			return backtest.Candidate{}, err
		}
		for i := range sums {
			sums[i] += penalty(&r.Candidates[i].Cluster)
		}
	}
	best := 0
	for i := range sums {
		if sums[i] < sums[best] {
			best = i
		}
	}
	return candidates[best], nil
}

func slack(m *backtest.Measures) float64 { return (m.CPU.RelativeSlack + m.Memory.RelativeSlack) / 2 }

func down(m *backtest.Measures) float64 { return m.DownHours / m.ContainerHours }

// evictions are those per container and day.
func evictions(m *backtest.Measures) float64 { return float64(m.Evictions) / m.ContainerHours * 24 }

func penalty(m *backtest.Measures) float64 {
	const stepsOfDay = float64(24 * time.Hour / vertical.PastStep)
	return slack(m) + 5*m.Throttled + 10*down(m) + evictions(m)/stepsOfDay
}

// entry measures a candidate over seeds.
func entry(load string, i int, reports []*backtest.Report) Entry {
	over := func(of func(r *backtest.Report) float64) Measured {
		values := make([]float64, len(reports))
		for k, r := range reports {
			values[k] = of(r)
		}
		return measure(values)
	}
	of := func(f func(*backtest.Measures) float64) Measured {
		return over(func(r *backtest.Report) float64 { return f(&r.Candidates[i].Cluster) })
	}
	return Entry{
		Load: load, Recommender: reports[0].Candidates[i].Label, Penalty: of(penalty), Slack: of(slack), Down: of(down), Evictions: of(evictions),
		Throttled: of(func(m *backtest.Measures) float64 { return m.Throttled }),
		AgainstVPA: over(func(r *backtest.Report) float64 {
			return penalty(&r.Candidates[i].Cluster) - penalty(&r.Candidates[0].Cluster)
		}),
	}
}

// student has the 97.5 % quantiles of Student's t distribution for 1 degree of freedom on.
var student = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}

// measure is the mean with its confidence interval by Student's t distribution.
func measure(values []float64) Measured {
	n := float64(len(values))
	mean, squares := 0.0, 0.0
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return Measured{mean, student[len(values)-2] * math.Sqrt(squares/(n-1)/n)}
}
