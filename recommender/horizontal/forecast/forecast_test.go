package forecast

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var day = time.Date(2024, 5, 28, 0, 0, 0, 0, time.UTC)

func TestPredict(t *testing.T) {
	// Nine o'clock is 30 on the first day, 60 on the second, 90 on the third; else it is 1.
	known := func(at time.Time) (float64, bool) {
		if at.Before(day) {
			return 0, false
		}
		if at.Hour() == 9 && at.Minute() == 0 {
			return 30 * float64(at.Day()-27), true
		}
		return 1, true
	}
	s := Seasonal{"requests", 24 * time.Hour, 10 * time.Minute}
	for at, want := range map[time.Duration]float64{
		24*time.Hour + 8*time.Hour + 45*time.Minute: 1,  // nine is not within ten minutes
		24*time.Hour + 8*time.Hour + 50*time.Minute: 30, // it is
		48*time.Hour + 9*time.Hour:                  45,
		72*time.Hour + 9*time.Hour:                  60,
		72*time.Hour + 9*time.Hour + time.Minute:    1,
	} {
		if got, err := s.Predict(day.Add(at), known); err != nil || got != want {
			t.Errorf("after %s: %v, %v; want %v", at, got, err, want)
		}
	}
	if _, err := s.Predict(day.Add(9*time.Hour), known); !errors.Is(err, ErrUnknown) {
		t.Errorf("on the first day: %v", err)
	}
}

// TestPredictKnowsNoFuture: whatever the season and the lead, nothing after now is looked at, and a metric that repeats is predicted exactly.
func TestPredictKnowsNoFuture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		season := time.Duration(rapid.IntRange(1, 200).Draw(t, "season")) * time.Minute
		lead := time.Duration(rapid.IntRange(1, int(season/time.Minute)).Draw(t, "lead")) * time.Minute
		now := day.Add(time.Duration(rapid.IntRange(0, 10_000).Draw(t, "now")) * time.Minute)
		value := func(at time.Time) float64 { return float64(at.Sub(day)%season) / float64(time.Minute) }
		got, err := Seasonal{"m", season, lead}.Predict(now, func(at time.Time) (float64, bool) {
			if at.After(now) {
				t.Fatalf("%s is after now, %s", at, now)
			}
			return value(at), true
		})
		most := 0.0
		for at := now; !at.After(now.Add(lead)); at = at.Add(step) {
			most = max(most, value(at))
		}
		if err != nil || now.Sub(day) >= 3*season && got-most > 1e-9 || now.Sub(day) >= 3*season && most-got > 1e-9 {
			t.Fatalf("%v, %v; want %v", got, err, most)
		}
	})
}

func TestParse(t *testing.T) {
	if s, err := Parse("forecast:requests:rate:24h:10m"); err != nil || s != (Seasonal{"requests:rate", 24 * time.Hour, 10 * time.Minute}) {
		t.Errorf("%+v, %v", s, err)
	}
	for name, want := range map[string]string{"forecast:requests": "write forecast:METRIC", "forecast::24h:1m": "write forecast:METRIC", "forecast:a:1h:2h": "no longer than the season", "forecast:a:1h:0s": "must be positive", "requests": "write"} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
