package learn

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/env"
)

// PolicyOptions say how a policy is trained.
type PolicyOptions struct {
	Seed uint64
	// Reward is the name of a reward of env, with options.
	Reward string
	// Rounds is how often a population is tried, of Population policies of which Elite are kept.
	Rounds, Population, Elite int
	// Progress, where set, is called after each policy that was tried, one at a time.
	Progress func(done, all int)
}

// DefaultPolicy are options that train in a minute.
var DefaultPolicy = PolicyOptions{Seed: 1, Reward: "weighted", Rounds: 25, Population: 32, Elite: 6}

// firstNumbers is where the search begins: all peaks count alike, margin 15 %, bounds a third below and by half above.
var firstNumbers = []float64{0, 0, 0, 0, 0, -1.9, -0.7, -0.7}

// leastSpread keeps the search from standing still early on: it is the least standard deviation of a number, and ends at 0 with the last round.
const leastSpread = 0.3

// Policy finds a policy by the cross-entropy method (Rubinstein and Kroese, 2004): each round draws a population from a normal distribution
// of each number, runs an episode of each in all environments, and moves the distributions to those of the elite.
func Policy(ctx context.Context, workloads []env.Workload, o PolicyOptions) (*vertical.PolicyModel, *Curve, error) {
	if o.Rounds < 1 || o.Rounds > 10_000 || o.Elite < 2 || o.Population < o.Elite || o.Population > 10_000 {
		return nil, nil, fmt.Errorf("%d rounds of %d with an elite of %d: want 1 to 10000 of each, and an elite of 2 to the population", o.Rounds, o.Population, o.Elite)
	}
	s := &search{o: o, all: o.Rounds*o.Population + 1} // at the end, the one that is left
	m := &vertical.PolicyModel{Trained: vertical.Trained{Version: vertical.ModelVersion, Recommender: "policy", Seed: o.Seed}, Reward: o.Reward}
	reward, err := env.ParseReward(o.Reward)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range workloads {
		m.On = append(m.On, w.Name)
		s.configs = append(s.configs, env.Config{Containers: w.Containers, Step: w.Step, Updater: vertical.UpdaterUpstream, Reward: reward})
	}
	if len(workloads) == 0 {
		return nil, nil, fmt.Errorf("there is no workload to learn from")
	}
	c := &Curve{Title: "Penalty of policies, which is the reward negated, per step", Columns: []string{"rounds", "penalty of the policy", "mean penalty of the population", "OOMs per day", "recreated per day"}}
	mean := append(slices.Clone(firstNumbers), firstNumbers...)
	spread := slices.Repeat([]float64{1}, len(mean))
	dice := rand.New(rand.NewPCG(o.Seed, 0))
	for round := range o.Rounds + 1 {
		population := [][]float64{slices.Clone(mean)} // the first is where it is
		for round < o.Rounds && len(population) < o.Population {
			one := make([]float64, len(mean))
			for i := range one {
				one[i] = max(-20, min(20, mean[i]+spread[i]*dice.NormFloat64()))
			}
			population = append(population, one)
		}
		tried, err := s.try(ctx, population)
		if err != nil {
			return nil, nil, err
		}
		all := 0.0
		for i := range tried {
			all += tried[i].Reward / float64(len(tried))
		}
		c.Rows = append(c.Rows, []float64{float64(round), -tried[0].Reward, -all, tried[0].OOMs, tried[0].Recreated})
		if round == o.Rounds {
			break
		}
		order := make([]int, len(tried))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(tried[b].Reward, tried[a].Reward) })
		floor := leastSpread * (1 - float64(round)/float64(o.Rounds))
		for i := range mean {
			sum, squares := 0.0, 0.0
			for _, k := range order[:o.Elite] {
				sum += population[k][i]
			}
			mean[i] = sum / float64(o.Elite)
			for _, k := range order[:o.Elite] {
				squares += (population[k][i] - mean[i]) * (population[k][i] - mean[i])
			}
			spread[i] = max(floor, math.Sqrt(squares/float64(o.Elite)))
		}
	}
	m.Numbers = mean
	return m, c, nil
}

// search tries policies.
type search struct {
	o       PolicyOptions
	configs []env.Config
	// all are the policies to try; done, under lock, those that were.
	all  int
	lock sync.Mutex
	done int
}

// Tried is what came of episodes: reward per step, and OOMs and recreations per day of a workload.
type Tried struct{ Reward, OOMs, Recreated float64 }

// try runs an episode of each policy in each environment, on as many processors as there are.
func (s *search) try(ctx context.Context, population [][]float64) ([]Tried, error) {
	out, errs := make([]Tried, len(population)), make([]error, len(population))
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(len(population), runtime.GOMAXPROCS(0)) {
		wait.Go(func() {
			for i := range next {
				out[i], errs[i] = Episodes(ctx, s.configs, func() vertical.Recommender { return vertical.NewPolicy(&vertical.PolicyModel{Numbers: population[i]}) })
				s.tried()
			}
		})
	}
	for i := range population {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// tried counts a policy that was tried.
func (s *search) tried() {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.done++; s.o.Progress != nil {
		s.o.Progress(s.done, s.all)
	}
}

// Episodes runs an episode in each environment, each with a recommender of its own, and gives the means.
func Episodes(ctx context.Context, configs []env.Config, r func() vertical.Recommender) (out Tried, err error) {
	steps, days := 0.0, 0.0
	for i := range configs {
		e, err := env.New(configs[i])
		if err != nil {
			return out, err
		}
		a := actor{c: &configs[i], e: e, r: r()}
		if err := a.run(ctx, &out); err != nil {
			return out, err
		}
		steps += float64(a.steps)
		days += (time.Duration(a.steps) * a.c.Step).Hours() / 24
	}
	out.Reward /= steps
	out.OOMs /= days
	out.Recreated /= days
	return out, nil
}

// actor steps an environment by what a recommender recommends. It is shown what each step came to, after the step: the observation of the
// usage to come, which the environment gives, is not looked at.
type actor struct {
	c     *env.Config
	e     *env.Env
	r     vertical.Recommender
	steps int
}

func (a *actor) run(ctx context.Context, out *Tried) error {
	a.e.Reset(0)
	idle := a.idle()
	for done := false; !done; a.steps++ {
		action, now := idle, time.Unix(0, 0).Add(time.Duration(a.steps)*a.c.Step)
		list, err := a.r.Recommend(ctx, now)
		if err != nil {
			return err
		}
		if len(list) == len(a.c.Containers) {
			action = a.action(list)
		}
		_, reward, last, info, err := a.e.Step(action)
		if err != nil {
			return err
		}
		done = last
		out.Reward += reward
		if info.Recreated {
			out.Recreated++
		}
		for i := range info.Containers {
			f := &info.Containers[i]
			s := vertical.Sample{At: now, Pod: "pod", Container: f.Name, Usage: vertical.Amount{CPUMilli: int64(f.Usage[1]), MemoryBytes: int64(f.Usage[0] * env.MB)}}
			if f.OOM {
				s.OOM, s.Requested = true, int64(f.Request[0]*env.MB)
				out.OOMs++
			}
			if f.Down && !f.OOM {
				continue
			}
			if err := a.r.Observe(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// idle is an action that changes nothing: all requests are within its bounds.
func (a *actor) idle() []float64 {
	var out []float64
	for range a.c.Containers {
		out = append(out, 0, 0, 0, 0, 1e12, 1e12)
	}
	return out
}

// action has the recommendations in the order of the containers.
func (a *actor) action(list []vertical.Recommendation) []float64 {
	var out []float64
	for _, c := range a.c.Containers {
		i := slices.IndexFunc(list, func(r vertical.Recommendation) bool { return r.Container == c.Name })
		if i < 0 {
			return a.idle()
		}
		for _, v := range []vertical.Amount{list[i].Lower, list[i].Target, list[i].Upper} {
			out = append(out, float64(max(0, v.MemoryBytes))/env.MB, float64(max(0, v.CPUMilli)))
		}
	}
	return out
}
