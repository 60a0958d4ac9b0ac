// Package forecast predicts what a metric will be from what it was at the same time in earlier seasons: a day, a week. It is the oldest forecast there is, and
// what others have to beat; it knows no holidays.
//
// The package must not know of clusters, histories and replays.
package forecast

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// seasons are how many earlier ones count; step is how far apart the instants of one are at which is looked.
const (
	seasons = 3
	step    = 15 * time.Second
)

// Prefix begins the names of metrics that are forecasts.
const Prefix = "forecast:"

// Seasonal predicts the most that a metric will be within Lead from now.
type Seasonal struct {
	Metric       string
	Season, Lead time.Duration
}

// Parse reads the name of a forecast, "forecast:METRIC:SEASON:LEAD", such as "forecast:requests:24h:10m".
func Parse(name string) (Seasonal, error) {
	rest, is := strings.CutPrefix(name, Prefix)
	parts := strings.Split(rest, ":")
	if n := len(parts); is && n >= 3 {
		season, errSeason := time.ParseDuration(parts[n-2])
		lead, errLead := time.ParseDuration(parts[n-1])
		metric := strings.Join(parts[:n-2], ":")
		if errSeason == nil && errLead == nil && metric != "" {
			if lead <= 0 || season < lead {
				return Seasonal{}, fmt.Errorf("%s: the lead %s must be positive, and no longer than the season %s", name, lead, season)
			}
			return Seasonal{metric, season, lead}, nil
		}
	}
	return Seasonal{}, fmt.Errorf("%s: write %sMETRIC:SEASON:LEAD, such as %srequests:24h:10m", name, Prefix, Prefix)
}

// ErrUnknown says that no earlier season is known.
var ErrUnknown = errors.New("no earlier season is known")

// Predict is the mean, over the last three seasons as far as they are known, of the most that the metric was in the same stretch. Known gives values of the
// past; it is not asked for later ones than now.
func (s Seasonal) Predict(now time.Time, known func(time.Time) (float64, bool)) (float64, error) {
	sum, n := 0.0, 0
	for k := 1; k <= seasons; k++ {
		most, seen := math.Inf(-1), false
		from := now.Add(-time.Duration(k) * s.Season)
		for at := from; !at.After(from.Add(s.Lead)) && !at.After(now); at = at.Add(step) {
			if v, ok := known(at); ok {
				most, seen = max(most, v), true
			}
		}
		if seen {
			sum, n = sum+most, n+1
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("%s %s ago: %w", s.Metric, s.Season, ErrUnknown)
	}
	return sum / float64(n), nil
}
