package generate

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// Kind is a shape by name.
type Kind = spec.Kind[draw]

// draw gives the shares of n steps of that length.
type draw func(n int, step time.Duration, dice *rand.Rand) []float64

// Shape is a kind with options.
type Shape struct {
	Name    string
	Options []spec.Setting
	draw    draw
}

// Kinds are the shapes there are, in the order in which help lists them.
func Kinds() []Kind {
	return []Kind{constant, step, sinusoidal, lowHigh, diurnal, bursts, batch, leak}
}

// Names are the names of Kinds.
func Names() []string { return spec.Names(Kinds()) }

// Parse reads a shape such as "sinusoidal:peaks=3". The error says what is unknown or wrong in it.
func Parse(text string) (Shape, error) {
	name, settings, d, err := spec.Choose("shape", Kinds(), text)
	if err != nil {
		return Shape{}, err
	}
	return Shape{name, settings, d}, nil
}

// String is the shape as Parse reads it.
func (s Shape) String() string { return spec.String(s.Name, s.Options) }

// Shares are n values from 0 to 1, a step apart. Another seed gives other values where the shape is random.
func (s Shape) Shares(n int, step time.Duration, seed uint64) []float64 {
	return s.draw(n, step, rand.New(rand.NewPCG(seed, 0)))
}

// constant is flat at the top of the range.
var constant = Kind{Name: "constant", About: "flat",
	Make: func(*spec.Values) draw {
		return each(func(int, time.Duration) float64 { return 1 })
	}}

// step is smart-kube's random walk: w(0) = start, w(t) = w(t-1) + unit times a whole number from -k to k, within 0 and 1.
var step = Kind{Name: "step", About: "random walk, by smart-kube's formula", Options: []spec.Option{
	{Name: "start", Default: "0.5", About: "share to start at"},
	{Name: "unit", Default: "0.01", About: "length of a step"},
	{Name: "max-steps", Default: "1", About: "most steps up or down at a time"},
}, Make: func(v *spec.Values) draw {
	start, unit, k := v.Number("start", 0, 1), v.Number("unit", 0, 1), int(v.Number("max-steps", 0, 1000))
	return func(n int, _ time.Duration, dice *rand.Rand) []float64 {
		out := make([]float64, n)
		w := start
		for i := range out {
			if i > 0 {
				w = clip(w + float64(dice.IntN(2*k+1)-k)*unit)
			}
			out[i] = w
		}
		return out
	}
}}

// sinusoidal is smart-kube's: (sin(x)+1)/2 with x from 0 to N pi over all values, so that N counts half periods.
var sinusoidal = Kind{Name: "sinusoidal", About: "a sine, by smart-kube's formula", Options: []spec.Option{
	{Name: "peaks", Default: "5", About: "number of half periods, as smart-kube counts peaks"},
}, Make: func(v *spec.Values) draw {
	peaks := v.Number("peaks", 0, 1e6)
	return func(n int, _ time.Duration, _ *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = (math.Sin(float64(i)/float64(max(1, n-1))*peaks*math.Pi) + 1) / 2
		}
		return out
	}
}}

// lowHigh is smart-kube's: least, most, least, most. Its own breaks on odd numbers of steps, which this does not.
var lowHigh = Kind{Name: "low_high", About: "least and most in turns, a step each",
	Make: func(*spec.Values) draw {
		return each(func(i int, _ time.Duration) float64 { return float64(i % 2) })
	}}

// diurnal is a day that is low at night: (1-cos(2 pi (t-low)/24h))/2 to a power, with noise in proportion.
var diurnal = Kind{Name: "diurnal", About: "days with a low and a peak, and noise", Options: []spec.Option{
	{Name: "low", Default: "4h", About: "time of day (UTC offset of the start) of the low; the peak is 12h later"},
	{Name: "sharp", Default: "1", About: "power of the curve: more than 1 makes peaks narrow"},
	{Name: "noise", Default: "0.05", About: "standard deviation, as a share of the value"},
}, Make: func(v *spec.Values) draw {
	low, sharp, noise := v.Duration("low", 0), v.Number("sharp", 0.1, 100), v.Number("noise", 0, 10)
	return func(n int, step time.Duration, dice *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			phase := float64(time.Duration(i)*step-low) / float64(24*time.Hour)
			out[i] = clip(math.Pow((1-math.Cos(2*math.Pi*phase))/2, sharp) * (1 + noise*dice.NormFloat64()))
		}
		return out
	}
}}

// bursts come as a Poisson process: the time between them is exponential. Bursts that overlap do not add up.
var bursts = Kind{Name: "bursts", About: "Poisson bursts over the least", Options: []spec.Option{
	{Name: "rate", Default: "0.5", About: "bursts per hour, on average"},
	{Name: "lasting", Default: "10m", About: "length of a burst"},
}, Make: func(v *spec.Values) draw {
	rate, lasting := v.Number("rate", 0, 3600), v.Duration("lasting", time.Second)
	return func(n int, step time.Duration, dice *rand.Rand) []float64 {
		out := make([]float64, n)
		if rate == 0 {
			return out
		}
		end := float64(n) * step.Seconds()
		for at := 0.0; ; {
			at += dice.ExpFloat64() * 3600 / rate
			if at >= end {
				return out
			}
			for i := int(math.Ceil(at / step.Seconds())); i < n && float64(i)*step.Seconds() < at+lasting.Seconds(); i++ {
				out[i] = 1
			}
		}
	}
}}

// batch is a job that runs every so often.
var batch = Kind{Name: "batch", About: "a job that runs at equal intervals", Options: []spec.Option{
	{Name: "every", Default: "6h", About: "interval"}, {Name: "lasting", Default: "1h", About: "how long it runs"}, {Name: "first", Default: "0s", About: "when it runs first"},
}, Make: func(v *spec.Values) draw {
	every, lasting, first := v.Duration("every", time.Second), v.Duration("lasting", time.Second), v.Duration("first", 0)
	return each(func(i int, step time.Duration) float64 {
		if at := time.Duration(i)*step - first; at >= 0 && at%every < lasting {
			return 1
		}
		return 0
	})
}}

// leak grows in a straight line and begins again, as with a process that leaks until it is started again.
var leak = Kind{Name: "leak", About: "growth in a straight line, from the least again after the most", Options: []spec.Option{
	{Name: "over", Default: "12h", About: "time from the least to the most"},
}, Make: func(v *spec.Values) draw {
	over := v.Duration("over", time.Second)
	return each(func(i int, step time.Duration) float64 {
		return float64(time.Duration(i)*step%over) / float64(over)
	})
}}

// each is a shape whose values do not depend on each other.
func each(value func(i int, step time.Duration) float64) draw {
	return func(n int, step time.Duration, _ *rand.Rand) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = value(i, step)
		}
		return out
	}
}

func clip(v float64) float64 { return max(0, min(1, v)) }
