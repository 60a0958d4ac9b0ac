package vertical

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/model"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/recommender/util"

	"github.com/scalehist/scalehist/internal/spec"
)

// smartKubeKind has an option per deviation, so that each can be shown, and taken away.
var smartKubeKind = Kind{
	Name:  "smart-kube",
	About: "smart-kube's port of the VPA's recommender with its deviations, each of which an option takes away",
	Options: []Option{
		{Name: "scale-1e7", Default: "true", About: "a megabyte counts as 1e7 bytes in the histogram of memory (upstream: as 1e6)"},
		{Name: "samples-per-second", Default: "true", About: "confidence counts 86400 samples a day (upstream: 1440)"},
		{Name: "memory-bounds-of-cpu", Default: "true", About: "confidence scales the bounds of CPU where those of memory are meant"},
		{Name: "upper-exponent", Default: "2", About: "exponent of the confidence of upper bounds (upstream: 1)"},
		{Name: "min-per-container", Default: "true", About: "each container has the least of a pod (upstream: split over its containers)"},
		{Name: "memory-every-sample", Default: "true", About: "each sample of memory counts (upstream: the peak of 24 hours)"},
		{Name: "cpu-weight", Default: "1", About: "weight of a sample of CPU (upstream: 0.1)"},
		{Name: "confidence", Default: "false", About: "bounds widen while there is little history (upstream: always)"},
		{Name: "minimum", Default: "false", About: "there is a least recommendation (upstream: always)"},
	},
	Make: func(o *spec.Values) Maker {
		k := smartKube{
			perSecond: o.Flag("samples-per-second"), ofCPU: o.Flag("memory-bounds-of-cpu"), exponent: o.Number("upper-exponent", 0, 10),
			perContainer: o.Flag("min-per-container"), every: o.Flag("memory-every-sample"), weight: o.Number("cpu-weight", 0.001, 1000),
			confidence: o.Flag("confidence"), minimum: o.Flag("minimum"), scale: 1,
		}
		if o.Flag("scale-1e7") {
			k.scale = 10
		}
		return func(w Workload) (Recommender, error) {
			again := k
			again.containers = max(1, len(w.Containers))
			return &again, nil
		}
	},
}

// smartKube follows the description of smart-kube's built-in recommender in our own words; its code is not here. Histograms are upstream's.
type smartKube struct {
	seen[portState]
	perSecond, ofCPU, perContainer, every, confidence, minimum bool
	exponent, weight                                           float64
	// scale is how many bytes of the histogram are one byte of usage.
	scale      float64
	containers int
}

// portState is what is known of a container.
type portState struct {
	cpu, memory util.Histogram
	first, last time.Time
	samples     int
	// peak of memory within the interval that ends at end, of all pods as one.
	peaks map[string]*window
}

type window struct {
	end  time.Time
	peak float64
}

// The interval of one peak, as upstream's default.
const peakInterval = model.DefaultMemoryAggregationInterval

func (k *smartKube) state(container string) *portState {
	s := k.of(container)
	if s.cpu == nil {
		c := portConfig()
		s.cpu = util.NewDecayingHistogram(c.CPUHistogramOptions, c.CPUHistogramDecayHalfLife)
		s.memory = util.NewDecayingHistogram(c.MemoryHistogramOptions, c.MemoryHistogramDecayHalfLife)
		s.peaks = map[string]*window{}
	}
	return s
}

func portConfig() *model.AggregationsConfig {
	return model.NewAggregationsConfig(peakInterval, model.DefaultMemoryAggregationIntervalCount, model.DefaultMemoryHistogramDecayHalfLife,
		model.DefaultCPUHistogramDecayHalfLife, model.DefaultOOMBumpUpRatio, model.DefaultOOMMinBumpUp)
}

// Observe implements Recommender. OOMs are not looked at: the port has none.
func (k *smartKube) Observe(s Sample) error {
	if err := s.check(); err != nil || s.OOM {
		return err
	}
	c := k.state(s.Container)
	if s.Usage.CPUMilli >= 0 {
		c.cpu.AddSample(float64(s.Usage.CPUMilli)/1000, k.weight, s.At)
		if c.first.IsZero() {
			c.first = s.At
		}
		c.last = s.At
		c.samples++
	}
	if s.Usage.MemoryBytes >= 0 {
		k.memory(c, s.Pod, s.At, float64(s.Usage.MemoryBytes)*k.scale)
	}
	return nil
}

// memory adds a sample, or upstream's peak of an interval: a higher one takes the place of the one before it
// (recommender/model/container.go).
func (k *smartKube) memory(c *portState, pod string, at time.Time, used float64) {
	if k.every {
		c.memory.AddSample(used, 1, at)
		return
	}
	w := c.peaks[pod]
	switch {
	case w == nil:
		w = &window{end: at.Add(peakInterval)} // the first interval begins with the first sample
		c.peaks[pod] = w
	case !at.Before(w.end):
		w.end = w.end.Add(at.Sub(w.end).Truncate(peakInterval) + peakInterval)
		w.peak = 0
	case used <= w.peak:
		return
	default:
		c.memory.SubtractSample(w.peak, 1, w.end)
	}
	c.memory.AddSample(used, 1, w.end)
	w.peak = used
}

// The percentiles and the margin are upstream's defaults, which the port has too.
const (
	lowerPercentile, targetPercentile, upperPercentile = 0.5, 0.9, 0.95
	portMargin                                         = 0.15
)

// Recommend implements Recommender. Amounts are upstream's, so that each step rounds as upstream's does.
func (k *smartKube) Recommend(context.Context, time.Time) ([]Recommendation, error) {
	var out []Recommendation
	for _, name := range k.names() {
		c := k.state(name)
		at := func(percentile float64) (cpu, memory model.ResourceAmount) {
			cpu, memory = model.CPUAmountFromCores(c.cpu.Percentile(percentile)), model.MemoryAmountFromBytes(c.memory.Percentile(percentile))
			return cpu + model.ScaleResource(cpu, portMargin), memory + model.ScaleResource(memory, portMargin)
		}
		bound := func(percentile, factor float64) Amount {
			cpu, memory := at(percentile)
			factor = min(factor, math.MaxFloat64) // without confidence it is infinite, and nothing as often is still nothing
			if k.ofCPU && k.confidence {
				memory = model.MemoryAmountFromBytes(float64(cpu) * 1e6 * k.scale) // its vectors are [MB, millicores]
			}
			return k.amount(model.ScaleResource(cpu, factor), model.ScaleResource(memory, factor))
		}
		low, high := k.factors(c)
		out = append(out, Recommendation{name, bound(lowerPercentile, low), k.amount(at(targetPercentile)), bound(upperPercentile, high)})
	}
	return out, nil
}

// factors are what confidence does to the bounds (recommender/logic/estimator.go): (1+multiplier/confidence)^exponent.
func (k *smartKube) factors(c *portState) (lower, upper float64) {
	if !k.confidence {
		return 1, 1
	}
	perDay := (24 * time.Hour).Minutes()
	if k.perSecond {
		perDay = (24 * time.Hour).Seconds()
	}
	confidence := min(float64(c.last.Sub(c.first))/float64(24*time.Hour), float64(c.samples)/perDay)
	return math.Pow(1+0.001/confidence, -2), math.Pow(1+1/confidence, k.exponent)
}

// amount has the least recommendation in it, and memory in bytes again. The least is 25m and 250 MiB for a pod upstream; the port's
// 250*10e6 is 250 of its megabytes, whatever they are scaled by.
func (k *smartKube) amount(cpu, memory model.ResourceAmount) Amount {
	if k.minimum {
		split, least := 1/float64(k.containers), 250.0*1024*1024
		if k.perContainer {
			split, least = 1, 250*1e6
		}
		cpu = model.ResourceAmountMax(cpu, model.ScaleResource(model.CPUAmountFromCores(0.025), split))
		memory = model.ResourceAmountMax(memory, model.ScaleResource(model.MemoryAmountFromBytes(least*k.scale), split))
	}
	return Amount{int64(cpu), int64(float64(memory) / k.scale)}
}

// saved is a portState as it is saved.
type saved struct {
	CPU, Memory vpav1.HistogramCheckpoint
	First, Last time.Time
	Samples     int
	Ends        map[string]time.Time
	Peaks       map[string]float64
}

// Save implements Recommender. As in upstream's checkpoints, weights are rounded.
func (k *smartKube) Save(w io.Writer, _ time.Time) error {
	all := map[string]saved{}
	for _, name := range k.names() {
		c := k.state(name)
		cpu, err := c.cpu.SaveToChekpoint()
		if err != nil {
			return err
		}
		memory, err := c.memory.SaveToChekpoint()
		if err != nil {
			return err
		}
		s := saved{*cpu, *memory, c.first, c.last, c.samples, map[string]time.Time{}, map[string]float64{}}
		for pod, w := range c.peaks {
			s.Ends[pod], s.Peaks[pod] = w.end, w.peak
		}
		all[name] = s
	}
	return json.NewEncoder(w).Encode(all)
}

// Load implements Recommender.
func (k *smartKube) Load(r io.Reader) error {
	all := map[string]saved{}
	if err := json.NewDecoder(r).Decode(&all); err != nil {
		return fmt.Errorf("what was saved of a recommender: %w", err)
	}
	k.Reset()
	for name, s := range all {
		c := k.state(name)
		if err := c.cpu.LoadFromCheckpoint(&s.CPU); err != nil {
			return fmt.Errorf("container %s: %w", name, err)
		}
		if err := c.memory.LoadFromCheckpoint(&s.Memory); err != nil {
			return fmt.Errorf("container %s: %w", name, err)
		}
		c.first, c.last, c.samples = s.First, s.Last, s.Samples
		for pod, end := range s.Ends {
			c.peaks[pod] = &window{end, s.Peaks[pod]}
		}
	}
	return nil
}
