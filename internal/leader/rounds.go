package leader

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Rounds are played at an interval, while this process leads.
type Rounds struct {
	Clock    clock.WithTicker
	Interval time.Duration
	// Slack is how much longer than five intervals a round may take.
	Slack time.Duration

	// heartbeat is when a round last ended, or the first one began, as Unix nanoseconds; leading says whether rounds are expected.
	heartbeat atomic.Int64
	leading   atomic.Bool
}

// Play plays a round now and at each interval until ctx ends, and returns when the last one has ended. An error of a round is logged, and the next
// one comes; that ctx ended is none.
func (r *Rounds) Play(ctx context.Context, round func(context.Context) error) {
	ticker := r.Clock.NewTicker(r.Interval)
	defer ticker.Stop()
	r.heartbeat.Store(r.Clock.Now().UnixNano())
	r.leading.Store(true)
	defer r.leading.Store(false)
	for {
		if err := round(ctx); err != nil && ctx.Err() == nil {
			LogOf(ctx).Error(err, "Round failed")
		}
		r.heartbeat.Store(r.Clock.Now().UnixNano())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// Stuck is an error if a round takes far longer than rounds may.
func (r *Rounds) Stuck() error {
	since := r.Clock.Since(time.Unix(0, r.heartbeat.Load()))
	if r.leading.Load() && since > 5*r.Interval+r.Slack {
		return fmt.Errorf("no round has ended for %s", since.Truncate(time.Second))
	}
	return nil
}

// LogOf is the logger of a context, else klog's, which a virtual control plane in the same process does not let give contexts theirs.
func LogOf(ctx context.Context) logr.Logger {
	if l, err := logr.FromContext(ctx); err == nil {
		return l
	}
	return klog.Background()
}
