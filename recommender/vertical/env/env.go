package env

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// MB is the unit of memory, in bytes.
const MB = 1e6

// The numbers of a container in observations and actions.
const (
	Observed = 4
	Acted    = 6
)

// Container is one of the pod: what it was recorded with, and what it uses at each step.
type Container struct {
	Name             string
	Requests, Limits vertical.Amount
	Usage            []vertical.Amount
}

// Bounds are those of a limit range: requests and limits of CPU in millicores and memory in MB, and the most of limit by request.
type Bounds struct {
	LeastCPU, MostCPU, LeastMemory, MostMemory, Ratio float64
}

// DefaultBounds are smart-kube's LIMIT_RANGE.
var DefaultBounds = Bounds{MostCPU: 100_000, MostMemory: 800_000, Ratio: 100}

// Config is what an environment is of.
type Config struct {
	Containers []Container
	// Step is the time of a step.
	Step time.Duration
	// Updater decides whether the pod gets the target: vertical.UpdaterUpstream looks at requests, the two of smart-kube at usage.
	Updater string
	Reward  Reward
	Bounds  Bounds
	// RoundRobin begins the usage again after its end, so that there is none; otherwise the last step ends it.
	RoundRobin bool
	// RandomStart begins at a step that the seed of Reset draws.
	RandomStart bool
}

// Steps is how many steps the usage has.
func (c *Config) Steps() int { return len(c.Containers[0].Usage) }

func (c *Config) check() error {
	if len(c.Containers) == 0 {
		return errors.New("there are no containers")
	}
	for _, one := range c.Containers {
		if len(one.Usage) != c.Steps() || c.Steps() < 2 {
			return fmt.Errorf("container %s has %d values of usage: want two or more, as many as the others", one.Name, len(one.Usage))
		}
	}
	if c.Step <= 0 {
		return errors.New("a step takes no time")
	}
	if _, ok := rules[c.Updater]; !ok {
		return fmt.Errorf("updater %q: choose %s, %s or %s", c.Updater, vertical.UpdaterUpstream, vertical.UpdaterSmartKubeCode, vertical.UpdaterSmartKubeReadme)
	}
	return nil
}

// rules say whether a container needs the target.
var rules = map[string]func(j vertical.Judged, request vertical.Amount) bool{
	// Upstream's rule of bounds (updater/priority); what it does for OOMs, ages and budgets of replicas needs more than a step.
	vertical.UpdaterUpstream: func(j vertical.Judged, r vertical.Amount) bool {
		return r.CPUMilli < j.Lower.CPUMilli || r.CPUMilli > j.Upper.CPUMilli || r.MemoryBytes < j.Lower.MemoryBytes || r.MemoryBytes > j.Upper.MemoryBytes
	},
	vertical.UpdaterSmartKubeCode:   func(j vertical.Judged, _ vertical.Amount) bool { return j.OutOfBounds() },
	vertical.UpdaterSmartKubeReadme: func(j vertical.Judged, _ vertical.Amount) bool { return j.WithinBounds() },
}

// Env is an environment. It has no locks.
type Env struct {
	c       Config
	at, end int // step, and the one that ends it
	running []trial.Running
	done    bool
}

// New returns an environment, at its first step.
func New(c Config) (*Env, error) {
	if c.Bounds == (Bounds{}) {
		c.Bounds = DefaultBounds
	}
	if c.Reward == nil {
		c.Reward = Constant
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	e := &Env{c: c, running: make([]trial.Running, len(c.Containers))}
	e.Reset(0)
	return e, nil
}

// Info is what came of a step beside the reward.
type Info struct {
	// Step is the number of the step that comes next, within the usage.
	Step int `json:"step"`
	// Recreated: the pod got the targets. Capped: a target was beyond the limit range, and was cut to it.
	Recreated bool `json:"recreated"`
	Capped    bool `json:"capped"`
	// Containers say what became of each in the step.
	Containers []Fate `json:"containers"`
}

// Fate is what became of a container in a step, in MB and millicores. A limit of -1 is none.
type Fate struct {
	Name    string     `json:"name"`
	Usage   [2]float64 `json:"usage"`
	Request [2]float64 `json:"request"`
	Limit   [2]float64 `json:"limit"`
	// Slack and Overrun are of what it used, Throttled is CPU that its limit held back.
	Slack     [2]float64 `json:"slack"`
	Overrun   [2]float64 `json:"overrun"`
	Throttled float64    `json:"throttled"`
	OOM       bool       `json:"oom"`
	Down      bool       `json:"down"`
}

// Reset begins again, with the requests and limits that were recorded, and returns the first observation.
func (e *Env) Reset(seed uint64) []float64 {
	e.at, e.end, e.done = 0, e.c.Steps()-1, false
	if e.c.RandomStart {
		e.at = rand.New(rand.NewPCG(seed, 0)).IntN(e.c.Steps() - 1)
	}
	for i := range e.running {
		e.running[i].Start(e.now(), e.c.Containers[i].Requests.Or(vertical.Amount{}), e.c.Containers[i].Limits)
	}
	return e.observation()
}

// now is virtual; round robin goes on in time.
func (e *Env) now() time.Time { return time.Unix(0, 0).Add(time.Duration(e.at) * e.c.Step) }

func (e *Env) usage(i int) vertical.Amount {
	u := e.c.Containers[i].Usage
	return u[e.at%len(u)]
}

// observation has usage and requests, usage as whole numbers as smart-kube's.
func (e *Env) observation() []float64 {
	out := make([]float64, 0, Observed*len(e.running))
	for i := range e.running {
		u := e.usage(i)
		out = append(out, math.Round(megabytes(u.MemoryBytes)), milli(u.CPUMilli), megabytes(e.running[i].Requests.MemoryBytes), milli(e.running[i].Requests.CPUMilli))
	}
	return out
}

func milli(v int64) float64 { return float64(max(0, v)) }

func megabytes(v int64) float64 { return float64(max(0, v)) / MB }

// Step acts: where the updater's rule says so of a container, all get the targets as requests, and limits in the proportion that they were
// recorded with; then the step passes. done is true after the last step, when Reset is needed. An error says what is wrong with the
// action, and nothing has happened.
func (e *Env) Step(action []float64) (observation []float64, reward float64, done bool, info Info, err error) {
	if e.done {
		return nil, 0, true, info, errors.New("the environment is done: reset it")
	}
	list, err := e.read(action)
	if err != nil {
		return nil, 0, false, info, err
	}
	rule := rules[e.c.Updater]
	for i, r := range list {
		limits := e.running[i].Limits
		if rule(vertical.Judged{Lower: r.Lower, Upper: r.Upper, Usage: e.usage(i), Limit: limits}, e.running[i].Requests) {
			info.Recreated = true
		}
	}
	if info.Recreated {
		for i, r := range list {
			requests, limits, capped := e.bounded(i, r.Target)
			e.running[i].Start(e.now(), requests, limits)
			info.Capped = info.Capped || capped
		}
	}
	for i := range e.running {
		info.Containers = append(info.Containers, e.pass(i))
	}
	reward = e.c.Reward(&info)
	e.at++
	if e.c.RoundRobin {
		info.Step = e.at % e.c.Steps()
		return e.observation(), reward, false, info, nil
	}
	e.done = e.at >= e.end
	info.Step = e.at
	return e.observation(), reward, e.done, info, nil
}

// pass lets a container do its step.
func (e *Env) pass(i int) Fate {
	c := &e.running[i]
	u := e.usage(i)
	fate := c.Want(e.now(), u)
	f := Fate{Name: e.c.Containers[i].Name, Usage: [2]float64{megabytes(fate.Used.MemoryBytes), milli(fate.Used.CPUMilli)},
		Request: [2]float64{megabytes(c.Requests.MemoryBytes), milli(c.Requests.CPUMilli)}, Limit: [2]float64{-1, -1},
		Throttled: float64(fate.Throttled), OOM: fate.Killed, Down: fate.Down}
	if c.Limits.MemoryBytes >= 0 {
		f.Limit[0] = megabytes(c.Limits.MemoryBytes)
	}
	if c.Limits.CPUMilli >= 0 {
		f.Limit[1] = milli(c.Limits.CPUMilli)
	}
	for k := range 2 {
		f.Slack[k], f.Overrun[k] = max(0, f.Request[k]-f.Usage[k]), max(0, f.Usage[k]-f.Request[k])
	}
	return f
}

// read turns an action into recommendations.
func (e *Env) read(action []float64) ([]vertical.Recommendation, error) {
	if len(action) != Acted*len(e.running) {
		return nil, fmt.Errorf("an action has %d numbers: want %d, six for each of %d containers", len(action), Acted*len(e.running), len(e.running))
	}
	out := make([]vertical.Recommendation, len(e.running))
	for i := range out {
		six := action[Acted*i : Acted*(i+1)]
		for k, v := range six {
			if !(v >= 0 && v <= 1e12) {
				return nil, fmt.Errorf("action[%d] is %v: want 0 to 1e12", Acted*i+k, v)
			}
		}
		for k := range 2 {
			if six[k] > six[2+k] || six[2+k] > six[4+k] {
				return nil, fmt.Errorf("action of container %d: want lower <= target <= upper of each resource, not %v", i, six)
			}
		}
		at := func(n int) vertical.Amount {
			return vertical.Amount{CPUMilli: int64(math.Round(six[n+1])), MemoryBytes: int64(math.Round(six[n] * MB))}
		}
		out[i] = vertical.Recommendation{Container: e.c.Containers[i].Name, Lower: at(0), Target: at(2), Upper: at(4)}
	}
	return out, nil
}

// bounded are the requests and limits of a target: limits are int(target*limit/request) of what was recorded, and all within the limit range.
func (e *Env) bounded(i int, target vertical.Amount) (requests, limits vertical.Amount, capped bool) {
	was, b := e.c.Containers[i], e.c.Bounds
	cut := func(v, least, most float64) int64 {
		out := max(least, min(most, v))
		capped = capped || out != v
		return int64(out)
	}
	of := func(target, request, limit int64, least, most float64) (r, l int64) {
		r = cut(float64(target), least, most)
		if limit < 0 {
			return r, vertical.Unset
		}
		ratio := 1.0
		if request > 0 {
			ratio = min(float64(limit)/float64(request), b.Ratio)
		}
		return r, cut(math.Trunc(float64(r)*max(1, ratio)), least, most)
	}
	requests.CPUMilli, limits.CPUMilli = of(target.CPUMilli, was.Requests.CPUMilli, was.Limits.CPUMilli, b.LeastCPU, b.MostCPU)
	requests.MemoryBytes, limits.MemoryBytes = of(target.MemoryBytes, was.Requests.MemoryBytes, was.Limits.MemoryBytes, b.LeastMemory*MB, b.MostMemory*MB)
	return requests, limits, capped
}
