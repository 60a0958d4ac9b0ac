package recommender

import (
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/backoff"
)

// TestFailuresInARow: one within a backoff adds nothing, one after it doubles it, and one long after it begins again.
func TestFailuresInARow(t *testing.T) {
	a := &Autoscaler{backoff: backoff.New(5*time.Minute, 30*time.Minute, 3*time.Hour)}
	for _, step := range []struct{ at, until time.Duration }{
		{0, 5 * time.Minute},
		{time.Minute, 5 * time.Minute},
		{6 * time.Minute, 16 * time.Minute},
		{200 * time.Minute, 205 * time.Minute},
	} {
		l := &loop{Autoscaler: a, now: testNow.Add(step.at), d: &scalehist.Decision{}}
		l.fail("a", "why")
		if got := a.backoff.Of("a").Until.Sub(testNow); got != step.until {
			t.Errorf("a failure at %s: backed off until %s, want %s", step.at, got, step.until)
		}
	}
}
