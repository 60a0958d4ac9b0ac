package conformance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Spread is what several seeds say about cases together: how much of the agreement is chance.
type Spread struct {
	Cases int `json:"cases"`
	Seeds int `json:"seeds"`
	// Mean, Least and Most are how many cases agree with a seed: on average, with the worst and with the best of them.
	Mean  float64 `json:"mean"`
	Least int     `json:"least"`
	Most  int     `json:"most"`
	// Itself is how many cases a run of the virtual autoscaler would agree in on average if the outcomes had been measured of the virtual
	// autoscaler, with as many runs: the outcomes of few runs do not hold all that may happen, so no rule that follows chance agrees in
	// all of them.
	Itself float64 `json:"itself"`
	// Doubtful are the cases in which less than half of the seeds agree, the worst first.
	Doubtful []CaseShare `json:"doubtful,omitempty"`
}

// CaseShare is the share of seeds that agree in a case.
type CaseShare struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// The outcomes of a case were measured in fewRuns runs, and in manyRuns where these differed (fixtures/conformance/README.md).
const fewRuns, manyRuns = 6, 30

// Seeds runs cases with the seeds 0 to n-1. Cases without outcomes are left out.
func Seeds(ctx context.Context, cases []Case, n int) (Spread, error) {
	cases = slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return len(c.Outcomes) == 0 })
	results := make([][]Result, len(cases))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range cases {
		results[i] = make([]Result, n)
		g.Go(func() error {
			for seed := range n {
				r, err := RunSeed(ctx, c, int64(seed))
				if err != nil {
					return fmt.Errorf("case %s, seed %d: %w", c.Name, seed, err)
				}
				results[i][seed] = r
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return Spread{}, err
	}
	out := Spread{Cases: len(cases), Seeds: n}
	agreed := make([]int, n)
	for i, c := range cases {
		share := 0
		for seed, r := range results[i] {
			if r.Agrees {
				agreed[seed]++
				share++
			}
		}
		if 2*share < n {
			out.Doubtful = append(out.Doubtful, CaseShare{Name: c.Name, Share: float64(share) / float64(n)})
		}
		out.Itself += againstItself(shares(results[i]))
	}
	slices.SortStableFunc(out.Doubtful, func(a, b CaseShare) int { return cmp.Compare(a.Share, b.Share) })
	for _, a := range agreed {
		out.Mean += float64(a) / float64(n)
	}
	out.Least, out.Most = slices.Min(agreed), slices.Max(agreed)
	return out, nil
}

// shares are how often each outcome came about, in the order of their first runs.
func shares(results []Result) []float64 {
	var (
		seen []Outcome
		out  []float64
	)
	for _, r := range results {
		i := slices.IndexFunc(seen, r.Got.equal)
		if i < 0 {
			i = len(seen)
			seen, out = append(seen, r.Got), append(out, 0)
		}
		out[i] += 1 / float64(len(results))
	}
	return out
}

// againstItself is how likely it is that a run has one of the outcomes that were seen in fewRuns others, or in manyRuns where
// these differed, if outcomes have these shares.
func againstItself(shares []float64) float64 {
	sum := 0.0
	for k, p := range shares {
		alike := 0.0 // the first runs all had the same outcome, another than k
		for j, q := range shares {
			if j != k {
				alike += math.Pow(q, fewRuns)
			}
		}
		unseen := alike + math.Pow(1-p, manyRuns) - alike*math.Pow(1-p, manyRuns-fewRuns)
		sum += p * (1 - unseen)
	}
	return sum
}
