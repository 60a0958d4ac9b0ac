package env

import (
	"fmt"

	"github.com/scalehist/scalehist/internal/spec"
)

// Reward says how good a step was.
type Reward func(*Info) float64

// Constant is smart-kube's: 1 for every step.
func Constant(*Info) float64 { return 1 }

// mean of something over containers.
func mean(i *Info, of func(*Fate) float64) float64 {
	sum := 0.0
	for n := range i.Containers {
		sum += of(&i.Containers[n])
	}
	return sum / float64(len(i.Containers))
}

func flag(is bool) float64 {
	if is {
		return -1
	}
	return 0
}

// share is a by b, 0 where there is no b.
func share(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

// The parts of rewards, each 0 at best.
var parts = map[string]func(*Info) float64{
	// slack is the share of requests that is not used, of CPU and memory.
	"slack": func(i *Info) float64 {
		return -mean(i, func(f *Fate) float64 { return (share(f.Slack[0], f.Request[0]) + share(f.Slack[1], f.Request[1])) / 2 })
	},
	// overrun is the share of usage that was not requested.
	"overrun": func(i *Info) float64 {
		return -mean(i, func(f *Fate) float64 { return (share(f.Overrun[0], f.Usage[0]) + share(f.Overrun[1], f.Usage[1])) / 2 })
	},
	// oom is 1 for a kill, and for a step that a container is down.
	"oom": func(i *Info) float64 { return mean(i, func(f *Fate) float64 { return flag(f.OOM || f.Down) }) },
	// throttling is the share of CPU wanted that the limit held back.
	"throttling": func(i *Info) float64 {
		return -mean(i, func(f *Fate) float64 { return share(f.Throttled, f.Throttled+f.Usage[1]) })
	},
	// restarts is 1 for a step in which the pod is recreated.
	"restarts": func(i *Info) float64 { return flag(i.Recreated) },
	// cost is what is requested, in cores and, at a seventh of a core's price, GB: about what clouds ask.
	"cost": func(i *Info) float64 {
		return -mean(i, func(f *Fate) float64 { return f.Request[1]/1000 + f.Request[0]/1000/7 })
	},
}

// rewardOptions are the weights of ParseReward("weighted").
var rewardOptions = []spec.Option{
	{Name: "slack", Default: "1"}, {Name: "overrun", Default: "0"}, {Name: "oom", Default: "10"}, {Name: "throttling", Default: "5"},
	{Name: "restarts", Default: "1"}, {Name: "cost", Default: "0"},
}

// ParseReward reads the name of a reward: constant, slack, overrun, oom, throttling, restarts, cost, or weighted with a weight for each,
// such as "weighted:slack=1,oom=20".
func ParseReward(text string) (Reward, error) {
	name, settings := spec.Parse(text)
	if name == "weighted" {
		v, err := spec.New(rewardOptions, settings)
		if err != nil {
			return nil, fmt.Errorf("reward weighted: %w", err)
		}
		var weights []float64
		for _, o := range rewardOptions {
			weights = append(weights, v.Number(o.Name, 0, 1e6))
		}
		if v.Err != nil {
			return nil, fmt.Errorf("reward weighted: %w", v.Err)
		}
		return func(i *Info) float64 {
			sum := 0.0
			for k, o := range rewardOptions {
				sum += weights[k] * parts[o.Name](i)
			}
			return sum
		}, nil
	}
	if len(settings) > 0 {
		return nil, fmt.Errorf("reward %s has no options", name)
	}
	if name == "constant" {
		return Constant, nil
	}
	if p, ok := parts[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("reward %q: choose constant, slack, overrun, oom, throttling, restarts, cost or weighted", name)
}
