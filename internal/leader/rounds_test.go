package leader

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestRounds: a round now and at each interval, an error ends none of them; one that takes too long is reported, not one that is not expected.
func TestRounds(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	r := Rounds{Clock: clock, Interval: time.Minute, Slack: time.Hour}
	clock.Step(24 * time.Hour)
	if err := r.Stuck(); err != nil {
		t.Errorf("before it leads: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	begun, end, ended := make(chan struct{}), make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		r.Play(ctx, func(context.Context) error {
			begun <- struct{}{}
			return <-end
		})
	}()
	<-begun
	if err := r.Stuck(); err != nil {
		t.Errorf("in the first round: %v", err)
	}
	clock.Step(time.Hour + 5*time.Minute + time.Second)
	if r.Stuck() == nil {
		t.Error("a round of an hour and more is not reported")
	}
	end <- errors.New("once")
	<-begun // the next round comes, for which the interval is over
	if err := r.Stuck(); err != nil {
		t.Errorf("in the second round: %v", err)
	}
	stop()
	end <- nil
	<-ended
	clock.Step(24 * time.Hour)
	if err := r.Stuck(); err != nil {
		t.Errorf("after it led: %v", err)
	}
}
