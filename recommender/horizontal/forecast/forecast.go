// Package forecast predicts the most that a metric will be within some time from now, from what it was up to now: the last value, what it was at the same time
// in earlier seasons (a day, a week), smoothing with trend and season. None of them knows holidays.
//
// A forecast is given values one by one, in order of time, so it cannot use one that is still to come.
//
// The package must not know of clusters, histories and replays.
package forecast

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/plural"
)

// Step is how far apart the values of a metric are that a replay gives to a forecast.
const Step = 15 * time.Second

// MaxSeason bounds the steps of a season: each is a number in memory.
const MaxSeason = 1_000_000

// Prefix begins the names of metrics that are forecasts.
const Prefix = "forecast:"

// Spec says what is predicted of a metric, and how.
type Spec struct {
	Metric string
	Method string
	// Season is how long it takes until the metric repeats; Lead how far is looked ahead.
	Season, Lead time.Duration
}

// Parse reads the name of a forecast, "forecast:METRIC:SEASON:LEAD" or "forecast:METRIC:SEASON:LEAD:METHOD", such as "forecast:requests:24h:10m".
func Parse(name string) (Spec, error) {
	rest, is := strings.CutPrefix(name, Prefix)
	parts := strings.Split(rest, ":")
	s := Spec{Method: Seasonal}
	if n := len(parts); n > 3 && slices.Contains(Names(), parts[n-1]) {
		s.Method, parts = parts[n-1], parts[:n-1]
	}
	if n := len(parts); is && n >= 3 {
		var errSeason, errLead error
		s.Season, errSeason = time.ParseDuration(parts[n-2])
		s.Lead, errLead = time.ParseDuration(parts[n-1])
		s.Metric = strings.Join(parts[:n-2], ":")
		if errSeason == nil && errLead == nil && s.Metric != "" {
			if err := s.Check(Step); err != nil {
				return Spec{}, fmt.Errorf("%s: %w", name, err)
			}
			return s, nil
		}
	}
	return Spec{}, fmt.Errorf("%s: write %sMETRIC:SEASON:LEAD, such as %srequests:24h:10m, and behind it :METHOD for another method than %s: %s", name, Prefix, Prefix, Seasonal, plural.Or(Names()))
}

// Check refuses what cannot be predicted from values a step apart.
func (s *Spec) Check(step time.Duration) error {
	switch {
	case s.Lead <= 0 || s.Season < s.Lead:
		return fmt.Errorf("the lead %s must be positive, and no longer than the season %s", s.Lead, s.Season)
	case s.Lead%step != 0 || s.Season%step != 0:
		return fmt.Errorf("the season %s and the lead %s must be multiples of %s", s.Season, s.Lead, step)
	case s.Season/step < 2 || s.Season/step > MaxSeason:
		return fmt.Errorf("the season %s has %d steps of %s: want 2 to %d", s.Season, s.Season/step, step, MaxSeason)
	}
	return nil
}

// ErrUnknown says that too little is known to predict from.
var ErrUnknown = errors.New("too little of the past is known")

// Forecast predicts one metric. Its values are a step apart.
type Forecast struct {
	spec  Spec
	model model
}

// New is a forecast that has seen nothing.
func New(s Spec, step time.Duration) (*Forecast, error) {
	if err := s.Check(step); err != nil {
		return nil, err
	}
	for _, m := range methods {
		if m.Name == s.Method {
			return &Forecast{s, m.make(int(s.Season/step), int(s.Lead/step))}, nil
		}
	}
	return nil, fmt.Errorf("method %q: must be %s", s.Method, plural.Or(Names()))
}

// Observe takes in what the metric is a step after what was observed last; NaN where it is not known.
func (f *Forecast) Observe(value float64) { f.model.observe(value) }

// Predict is the most that the metric is expected to be after the last observed value, up to the lead. An error is ErrUnknown.
func (f *Forecast) Predict() (float64, error) {
	v, ok := f.model.predict()
	if !ok {
		return 0, fmt.Errorf("%s %s ago: %w", f.spec.Metric, f.spec.Season, ErrUnknown)
	}
	return v, nil
}
