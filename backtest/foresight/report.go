package foresight

import (
	"math"
	"time"

	"github.com/scalehist/scalehist/recommender/horizontal/forecast"
)

// Report is what came of forecasts.
type Report struct {
	Source string    `json:"source"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Step   string    `json:"step"`
	Season string    `json:"season"`
	// Lead is how far was looked ahead: what is predicted is the most within it.
	Lead   string         `json:"lead"`
	Series []SeriesResult `json:"series"`
	Notes  []string       `json:"notes,omitempty"`
	step   time.Duration
}

// SeriesResult is that of one series.
type SeriesResult struct {
	Series string `json:"series"`
	// JudgedFrom is the first moment that counts, Judged how many do.
	JudgedFrom time.Time `json:"judgedFrom"`
	Judged     int       `json:"judged"`
	// Mean is what came on average at them.
	Mean float64 `json:"mean"`
	// Forecasts begin with that of the last value.
	Forecasts []Result `json:"forecasts"`
	bytes     bool
	curves
}

// curves have a value for each step, NaN where it is not known; none where they were not asked for.
type curves struct {
	values, came []float64
	predicted    [][]float64 // by forecast
	judged       []bool
}

func (c *curves) keep(value, came float64, predicted []float64, judged bool) {
	c.values, c.came, c.judged = append(c.values, value), append(c.came, came), append(c.judged, judged)
	if c.predicted == nil {
		c.predicted = make([][]float64, len(predicted))
	}
	for k, p := range predicted {
		c.predicted[k] = append(c.predicted[k], p)
	}
}

// Result is a forecast's.
type Result struct {
	Method string `json:"method"`
	// Best: no other has a smaller mean error.
	Best bool `json:"best"`
	Errors
	// Seasons are the parts of the window, a season long each, as far as they are judged.
	Seasons []Part `json:"seasons"`
}

// Part is a season of the window.
type Part struct {
	From time.Time `json:"from"`
	Errors
}

// Errors are by how much predictions missed, in the unit of the metric where nothing else is said.
type Errors struct {
	Judged int `json:"judged"`
	// Mean is the mean absolute error (MAE).
	Mean float64 `json:"meanError"`
	// Bias is the mean of what was predicted less what came: above 0 too much was predicted.
	Bias float64 `json:"bias"`
	// Percent is the mean absolute percentage error (MAPE), as a fraction, of the moments at which something came; absent where nothing ever did.
	Percent *float64 `json:"meanPercentageError,omitempty"`
	// OfLast is the mean error by that of the last value: below 1 the forecast is worth something. Absent where the last value was always right, and in parts.
	OfLast *float64 `json:"ofLastValue,omitempty"`
	// Low is the share of moments for which too little was predicted, Short by how much on average at them.
	Low   float64 `json:"tooLow"`
	Short float64 `json:"short"`
	// WorstLow and WorstHigh are the moments that were missed most; absent where none was missed so.
	WorstLow  *Miss `json:"worstTooLow,omitempty"`
	WorstHigh *Miss `json:"worstTooHigh,omitempty"`
}

// Miss is a moment with what was predicted for the lead after it, and what came.
type Miss struct {
	At        time.Time `json:"at"`
	Predicted float64   `json:"predicted"`
	Came      float64   `json:"came"`
}

func (m *Miss) by() float64 { return math.Abs(m.Predicted - m.Came) }

// sum adds up the misses of a forecast, in all and by season.
type sum struct {
	season  time.Duration
	all     misses
	current *misses
	list    []*misses
}

// misses are means that grow by a moment at a time.
type misses struct {
	from              time.Time
	n, percented, low int
	mean, bias, short float64
	percent           float64
	worst             [2]*Miss // too low, too high
}

func (s *sum) add(at, from time.Time, predicted, came float64) {
	begin := from.Add(at.Sub(from).Truncate(s.season)).UTC()
	if s.current == nil || !s.current.from.Equal(begin) {
		s.current = &misses{from: begin}
		s.list = append(s.list, s.current)
	}
	s.all.add(at, predicted, came)
	s.current.add(at, predicted, came)
}

func (s *sum) parts() []Part {
	var out []Part
	for _, m := range s.list {
		out = append(out, Part{m.from, m.errors()})
	}
	return out
}

func (m *misses) add(at time.Time, predicted, came float64) {
	miss := predicted - came
	m.n++
	m.mean += (math.Abs(miss) - m.mean) / float64(m.n)
	m.bias += (miss - m.bias) / float64(m.n)
	if came != 0 {
		m.percented++
		m.percent += (math.Abs(miss/came) - m.percent) / float64(m.percented)
	}
	side := 1
	switch {
	case miss == 0:
		return
	case miss < 0:
		side = 0
		m.low++
		m.short += (-miss - m.short) / float64(m.low)
	}
	if one := (&Miss{at, predicted, came}); m.worst[side] == nil || one.by() > m.worst[side].by() {
		m.worst[side] = one
	}
}

func (m *misses) errors() Errors {
	out := Errors{Judged: m.n, Mean: m.mean, Bias: m.bias, Low: float64(m.low) / float64(max(1, m.n)), Short: m.short, WorstLow: m.worst[0], WorstHigh: m.worst[1]}
	if m.percented > 0 {
		out.Percent = &m.percent
	}
	return out
}

// conclude compares the forecasts.
func (s *SeriesResult) conclude() {
	least, last := math.Inf(1), s.Forecasts[0].Mean // forecast.Last is the first
	for i := range s.Forecasts {
		least = min(least, s.Forecasts[i].Mean)
	}
	for i := range s.Forecasts {
		f := &s.Forecasts[i]
		f.Best = f.Mean == least
		if last > 0 && f.Method != forecast.Last {
			share := f.Mean / last
			f.OfLast = &share
		}
	}
}
