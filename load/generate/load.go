package generate

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Range is the least and the most of a resource, in millicores or bytes.
type Range struct{ Least, Most int64 }

// at is the value of a share.
func (r Range) at(share float64) int64 {
	return r.Least + int64(math.Round(share*float64(r.Most-r.Least)))
}

// Load says what is made.
type Load struct {
	CPUShape, MemoryShape Shape
	CPU, Memory           Range
	From                  time.Time
	Length, Step          time.Duration
	Seed                  uint64
	// Workloads is how many there are, each with so many Replicas, which differ by noise of that share.
	Workloads, Replicas int
	Noise               float64
	// Rate is how many pods a workload gets per hour at the top of the shape of CPU, and Lifetime how long each runs on average; 0: its
	// replicas are there all the time.
	Rate     float64
	Lifetime time.Duration
	// Request and Limit are those of each container, in millicores and bytes; 0: none.
	Request, Limit [2]int64
	// Usage says whether usage is made.
	Usage bool
}

// Most bounds what is made: values of usage, and pods.
const (
	maxValues = 50_000_000
	maxPods   = 200_000
)

// Check says what cannot be made.
func (l *Load) Check() error {
	steps := int64(0)
	if l.Step > 0 {
		steps = int64(l.Length / l.Step)
	}
	switch {
	case l.Step < time.Second:
		return fmt.Errorf("step %s: want a second or more", l.Step)
	case steps < 1:
		return fmt.Errorf("length %s: want a step (%s) or more", l.Length, l.Step)
	case l.Workloads < 1 || l.Replicas < 1 || l.Workloads > maxPods || l.Replicas > maxPods || l.Workloads*l.Replicas > maxPods:
		return fmt.Errorf("%d workloads of %d replicas: want 1 to %d pods", l.Workloads, l.Replicas, maxPods)
	case l.Rate == 0 && steps*int64(l.Workloads*l.Replicas) > maxValues, steps > maxValues:
		return fmt.Errorf("this would be %d values of each resource: want at most %d; choose a longer step", steps*int64(l.Workloads*l.Replicas), maxValues)
	case l.CPU.Least < 0 || l.CPU.Most < l.CPU.Least, l.Memory.Least < 0 || l.Memory.Most < l.Memory.Least:
		return fmt.Errorf("CPU %+v, memory %+v: want the least before the most", l.CPU, l.Memory)
	case l.Noise < 0 || l.Noise > 10 || math.IsNaN(l.Noise):
		return fmt.Errorf("noise %g: want 0 to 10", l.Noise)
	case l.Rate < 0 || math.IsNaN(l.Rate) || l.Rate*l.Length.Hours()*float64(l.Workloads) > maxPods:
		return fmt.Errorf("%g pods an hour: want 0 or more, and at most %d in all", l.Rate, maxPods)
	case l.Rate > 0 && l.Lifetime < l.Step:
		return fmt.Errorf("lifetime %s: want a step (%s) or more", l.Lifetime, l.Step)
	}
	return nil
}

// Pod is a pod that was made.
type Pod struct {
	Workload, Number int
	// From and To are when it comes and finishes; To is the end of the load of one that does not.
	From, To time.Time
	// CPU and Memory are its usage from From on, a step apart; nil where none is made.
	CPU, Memory []int64
}

// Pods makes all pods, in the order in which they come.
func (l *Load) Pods() []Pod {
	n := int(l.Length / l.Step)
	var out []Pod
	for w := range l.Workloads {
		seed := l.Seed + uint64(w)*1_000_003 // each workload has values of its own
		cpu, memory := l.CPUShape.Shares(n, l.Step, seed), l.MemoryShape.Shares(n, l.Step, seed+500_000)
		lives := l.lives(w, cpu, seed)
		for _, p := range lives {
			if l.Usage {
				p.CPU, p.Memory = l.values(p, cpu, memory, seed)
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Pod) int {
		return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// lives are the pods of a workload: its replicas, or as many as a Poisson process brings whose rate follows the shape.
func (l *Load) lives(w int, shares []float64, seed uint64) []Pod {
	end := l.From.Add(time.Duration(len(shares)) * l.Step)
	var out []Pod
	if l.Rate == 0 {
		for i := range l.Replicas {
			out = append(out, Pod{Workload: w, Number: i, From: l.From, To: end})
		}
		return out
	}
	dice := rand.New(rand.NewPCG(seed, 1))
	for i, share := range shares {
		at := l.From.Add(time.Duration(i) * l.Step)
		for range poisson(dice, share*l.Rate*l.Step.Hours()) {
			from := at.Add(time.Duration(dice.Int64N(int64(l.Step)))).Truncate(time.Second)
			to := from.Add(max(time.Second, time.Duration(dice.ExpFloat64()*float64(l.Lifetime)).Truncate(time.Second)))
			if to.After(end) {
				to = end
			}
			out = append(out, Pod{Workload: w, Number: len(out), From: from, To: to})
		}
	}
	return out
}

// poisson draws from a Poisson distribution by the times between arrivals (Knuth, The Art of Computer Programming 2, 3.4.1, in sums).
func poisson(dice *rand.Rand, mean float64) int {
	n := 0
	for sum := dice.ExpFloat64(); sum < mean; sum += dice.ExpFloat64() {
		n++
	}
	return n
}

// values are the usage of a pod, with noise of its own.
func (l *Load) values(p Pod, cpu, memory []float64, seed uint64) (a, b []int64) {
	dice := rand.New(rand.NewPCG(seed+uint64(p.Number), 2))
	first := int((p.From.Sub(l.From) + l.Step - 1) / l.Step)
	for i := first; i < len(cpu) && l.From.Add(time.Duration(i)*l.Step).Before(p.To); i++ {
		noisy := func(v int64) int64 {
			if l.Noise == 0 {
				return v
			}
			return max(0, int64(math.Round(float64(v)*(1+l.Noise*dice.NormFloat64()))))
		}
		a, b = append(a, noisy(l.CPU.at(cpu[i]))), append(b, noisy(l.Memory.at(memory[i])))
	}
	return a, b
}

// First is the instant of the first value of a pod.
func (l *Load) First(p Pod) time.Time {
	return l.From.Add((p.From.Sub(l.From) + l.Step - 1) / l.Step * l.Step)
}
