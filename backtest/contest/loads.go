package contest

import (
	"fmt"
	"time"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/load/generate"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// Start is when loads begin.
var Start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// Load is a generated load by name: shapes of CPU and memory.
type Load struct{ Name, CPU, Memory string }

// Loads are those of the contest.
var Loads = []Load{
	{"diurnal", "diurnal", "diurnal:noise=0.02"},
	{"bursts", "bursts:rate=0.3,lasting=20m", "bursts:rate=0.1,lasting=1h"},
	{"batch", "batch", "batch:lasting=90m"},
	{"walk", "step:max-steps=3", "step:unit=0.003,max-steps=3"},
	{"leak", "diurnal:sharp=3", "leak:over=30h"},
}

// trainedOn are loads that built-in models see beside Loads of other seeds.
var trainedOn = []Load{
	{"constant", "constant", "constant"},
	{"sinusoidal", "sinusoidal:peaks=9", "sinusoidal:peaks=5"},
	{"narrow", "diurnal:sharp=4,low=10h", "diurnal:noise=0.1,low=10h"},
	{"often", "bursts:rate=1,lasting=5m", "constant"},
	{"nightly", "batch:every=24h,lasting=3h,first=2h", "batch:every=24h,lasting=3h,first=2h"},
	{"leak-short", "constant", "leak:over=7h"},
}

// The amounts of a contest: 100m to 1 core and 300Mi to 1Gi, with noise of 5 % of each pod. Requests and limits are what a careful person
// sets by hand: a quarter more than the top.
var (
	cpu, memory = generate.Range{Least: 100, Most: 1000}, generate.Range{Least: 300 << 20, Most: 1 << 30}
	byHand      = vertical.Amount{CPUMilli: 1250, MemoryBytes: 1280 << 20}
)

const (
	replicas = 3
	noise    = 0.05
)

// Workload makes the workload of a load with a seed.
func (l *Load) Workload(seed uint64, length time.Duration) (*trial.Workload, error) {
	made := generate.Load{CPU: cpu, Memory: memory, From: Start, Length: length, Step: time.Minute, Seed: seed, Workloads: 1, Replicas: replicas, Noise: noise, Usage: true}
	var err error
	if made.CPUShape, err = generate.Parse(l.CPU); err != nil {
		return nil, err
	}
	if made.MemoryShape, err = generate.Parse(l.Memory); err != nil {
		return nil, err
	}
	if err := made.Check(); err != nil {
		return nil, err
	}
	w := &trial.Workload{Kind: "Deployment", Namespace: "contest", Name: l.Name}
	for _, p := range made.Pods() {
		c := trial.Container{Name: "app", Requests: byHand, Limits: byHand}
		for i := range p.CPU {
			at := p.From.Add(time.Duration(i) * made.Step).UnixNano()
			c.Usage = append(c.Usage, trial.Usage{At: at, Amount: vertical.Amount{CPUMilli: p.CPU[i], MemoryBytes: p.Memory[i]}})
		}
		w.Pods = append(w.Pods, trial.Pod{Name: p.PodName(), From: p.From, Containers: []trial.Container{c}})
	}
	return w, nil
}

// firstTrained is the first seed of what is trained on; a contest has others.
const firstTrained = 1000

// Training is what models are trained on where nothing else is given: all loads with seeds that no contest has, as environments.
func Training(seeds int, length time.Duration) ([]env.Workload, error) {
	var out []env.Workload
	for _, l := range append(append([]Load{}, Loads...), trainedOn...) {
		for k := range seeds {
			w, err := l.Workload(firstTrained+uint64(k), length)
			if err != nil {
				return nil, fmt.Errorf("load %s: %w", l.Name, err)
			}
			w.Name = fmt.Sprintf("%s-%d", l.Name, firstTrained+k)
			out = append(out, backtest.Environments([]*trial.Workload{w}, Start, Start.Add(length), vertical.PastStep)...)
		}
	}
	return out, nil
}
