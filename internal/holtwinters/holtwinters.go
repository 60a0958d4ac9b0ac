// Package holtwinters smooths a series of values at equal steps, and says how it would go on: additive triple exponential smoothing, with a level, a trend and a
// season (Winters, Forecasting sales by exponentially weighted moving averages, 1960). It knows nothing of what the values are.
package holtwinters

import "math"

// Weights are how much a new value counts, each 0 to 1.
type Weights struct{ Level, Trend, Season float64 }

// Series is the state of one series; the zero value has seen nothing.
type Series struct {
	// First are the values of the first season, until it is over.
	First []float64
	// Season has an entry per step of the season, of which At is the next one.
	Season       []float64
	At           int
	Level, Trend float64
}

// Known says whether there is a forecast: the first season is over.
func (s *Series) Known() bool { return s.Season != nil }

// Add ends a step with its value, NaN where it is not known: then the level keeps, and its place in the season passes. It gives by how much the value
// missed the forecast of it; false where there was no forecast or no value.
func (s *Series) Add(w Weights, season int, value float64) (miss float64, ok bool) {
	if !s.Known() {
		s.begin(season, value)
		return 0, false
	}
	i := s.At
	s.At = (s.At + 1) % len(s.Season)
	if math.IsNaN(value) {
		return 0, false
	}
	miss = value - (s.Level + s.Trend + s.Season[i])
	level := w.Level*(value-s.Season[i]) + (1-w.Level)*(s.Level+s.Trend)
	s.Trend = w.Trend*(level-s.Level) + (1-w.Trend)*s.Trend
	s.Season[i] = w.Season*(value-level) + (1-w.Season)*s.Season[i]
	s.Level = level
	return miss, true
}

// begin collects the first season; its mean is the first level, and the differences from it are the first season. A value that is not known is as the one before it.
func (s *Series) begin(season int, value float64) {
	n := len(s.First)
	if math.IsNaN(value) {
		if n == 0 {
			return
		}
		value = s.First[n-1]
	}
	if s.First = append(s.First, value); n+1 < season {
		return
	}
	sum := 0.0
	for _, x := range s.First {
		sum += x
	}
	s.Level = sum / float64(season)
	s.Season = make([]float64, season)
	for i, x := range s.First {
		s.Season[i] = x - s.Level
	}
	s.First = nil
}

// Highest is the highest value that is forecast for the next steps.
func (s *Series) Highest(steps int) float64 {
	highest := math.Inf(-1)
	for k := range steps {
		highest = max(highest, s.Level+float64(k+1)*s.Trend+s.Season[(s.At+k)%len(s.Season)])
	}
	return highest
}
