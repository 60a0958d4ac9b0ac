package vertical

import (
	"context"
	"math"
	"time"

	"github.com/scalehist/scalehist/internal/holtwinters"
	"github.com/scalehist/scalehist/internal/spec"
)

var holtWintersKind = Kind{
	Name:  "holt-winters",
	About: "the highest usage that exponential smoothing with trend and season forecasts, and a margin of its own errors",
	Options: []Option{
		{Name: "step", Default: "5m", About: "usage of so long is one value, its highest"},
		{Name: "season", Default: "24h", About: "length of the season, in whole steps"},
		{Name: "horizon", Default: "24h", About: "how far is forecast"},
		{Name: "alpha", Default: "0.2", About: "smoothing of the level"}, {Name: "beta", Default: "0.001", About: "smoothing of the trend"}, {Name: "gamma", Default: "0.3", About: "smoothing of the season"},
		{Name: "errors", Default: "3", About: "how many standard deviations of the forecast's errors are added"},
		{Name: "margin", Default: "0.05", About: "what is added at least, as a fraction"},
	},
	Make: func(o *spec.Values) Maker {
		h := holtWinters{
			step: o.Duration("step", time.Second), weights: holtwinters.Weights{Level: o.Number("alpha", 0, 1), Trend: o.Number("beta", 0, 1), Season: o.Number("gamma", 0, 1)},
			errors: o.Number("errors", 0, 100), margin: o.Number("margin", 0, 100),
		}
		season, horizon := o.Duration("season", 2*time.Second), o.Duration("horizon", time.Second)
		if o.Err == nil {
			h.season, h.horizon = int(season/h.step), int(max(1, horizon/h.step))
			if h.season < 2 || h.season > 100_000 || h.horizon > 100_000 {
				o.Wrong("season", "2 to 100000 steps of it, and of the horizon at most as many")
			}
		}
		return func(Workload) (Recommender, error) { again := h; return &again, nil }
	},
}

// holtWinters is package holtwinters per
// resource of a container. Until a season is over, the highest usage by then stands for the forecast.
type holtWinters struct {
	seen[smoothed]
	step            time.Duration
	season, horizon int
	weights         holtwinters.Weights
	errors, margin  float64
}

// smoothed are both resources of a container.
type smoothed struct {
	// Step is the number of the current step since the epoch, Highest what was used most in it, over all pods.
	Step    int64
	Highest Amount
	Begun   bool
	CPU     smooth
	Memory  smooth
}

// smooth is the state of one series.
type smooth struct {
	holtwinters.Series
	// Errors is a smoothed mean of the squared errors of forecasts one step ahead.
	Errors float64
	Most   float64
	Any    bool
}

// Observe implements Recommender.
func (h *holtWinters) Observe(s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	c := h.of(s.Container)
	h.advance(c, s.At)
	if s.OOM {
		s.Usage = Amount{Unset, restarted(s.Requested)}
	}
	c.Highest = Amount{max(c.Highest.CPUMilli, s.Usage.CPUMilli), max(c.Highest.MemoryBytes, s.Usage.MemoryBytes)}
	return nil
}

// advance ends the steps before an instant. A step without usage is skipped in the level, and its place in the season passes.
func (h *holtWinters) advance(c *smoothed, now time.Time) {
	step := now.UnixNano() / int64(h.step)
	if !c.Begun {
		c.Begun, c.Step, c.Highest = true, step, None
		return
	}
	if step <= c.Step {
		return
	}
	h.add(&c.CPU, c.Highest.CPUMilli)
	h.add(&c.Memory, c.Highest.MemoryBytes)
	missed := step - c.Step - 1
	for range min(missed, int64(h.season)+missed%int64(h.season)) { // whole seasons of nothing change nothing
		h.add(&c.CPU, Unset)
		h.add(&c.Memory, Unset)
	}
	c.Step, c.Highest = step, None
}

// add ends a step with its value, negative where there is none.
func (h *holtWinters) add(s *smooth, value int64) {
	x := float64(value)
	if value >= 0 {
		s.Most, s.Any = max(s.Most, x), true
	} else {
		x = math.NaN()
	}
	if miss, ok := s.Add(h.weights, h.season, x); ok {
		s.Errors += (miss*miss - s.Errors) / float64(min(h.season, 288))
	}
}

// forecast is the highest value of the horizon, and the margin.
func (h *holtWinters) forecast(s *smooth) (highest, margin float64, ok bool) {
	if !s.Known() {
		return s.Most, max(h.margin, 0.15) * s.Most, s.Any // the margin of max-usage
	}
	highest = max(0, s.Highest(h.horizon))
	return highest, max(h.margin*highest, h.errors*math.Sqrt(s.Errors)), true
}

// Recommend implements Recommender: the target is the forecast and the margin, the lower bound the forecast, the upper one has the
// margin twice.
func (h *holtWinters) Recommend(_ context.Context, now time.Time) ([]Recommendation, error) {
	var out []Recommendation
	for _, name := range h.names() {
		c := h.of(name)
		h.advance(c, now)
		r := Recommendation{Container: name, Lower: None, Target: None, Upper: None}
		set := func(s *smooth, current int64, of func(*Amount) *int64) {
			highest, margin, ok := h.forecast(s)
			if !ok && current < 0 {
				return
			}
			if !s.Known() && float64(current) > highest {
				highest, margin = float64(current), max(h.margin, 0.15)*float64(current)
			}
			*of(&r.Lower), *of(&r.Target), *of(&r.Upper) = up(highest), up(highest+margin), up(highest+2*margin)
		}
		set(&c.CPU, c.Highest.CPUMilli, func(a *Amount) *int64 { return &a.CPUMilli })
		set(&c.Memory, c.Highest.MemoryBytes, func(a *Amount) *int64 { return &a.MemoryBytes })
		if r.Target != None {
			out = append(out, r)
		}
	}
	return out, nil
}

// most is more than any machine has: a trend that runs away stays a number.
const most = 1 << 50

func up(v float64) int64 { return int64(math.Ceil(min(v, most))) }
