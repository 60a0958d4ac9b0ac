package harness_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
)

// ending is a context that ends once it was asked so many times whether it has, and counts how often it is asked after that.
type ending struct {
	context.Context
	left, after atomic.Int64
}

// Err implements context.Context.
func (e *ending) Err() error {
	if e.left.Add(-1) >= 0 {
		return nil
	}
	e.after.Add(1)
	return context.Canceled
}

// TestReplayEndsWithItsContext: wherever in a replay its context ends, it ends there.
func TestReplayEndsWithItsContext(t *testing.T) {
	replay := func(asks int64) (*ending, error) {
		script, err := workload.Named("two-machine-sizes")
		if err != nil {
			t.Fatal(err)
		}
		in, err := script.Input()
		if err != nil {
			t.Fatal(err)
		}
		r, err := harness.NewInputReplayer(t.Context(), in, harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(harness.Memory))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}()
		ctx := &ending{Context: t.Context()}
		ctx.left.Store(asks)
		_, err = r.Replay(ctx, script.Duration)
		return ctx, err
	}
	whole, err := replay(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	asked := 1<<40 - whole.left.Load()
	for _, part := range []int64{0, 1, 2, 3, 4, 5, 6, 7} {
		ctx, err := replay(asked * part / 8)
		if after := ctx.after.Load(); !errors.Is(err, context.Canceled) || after > 50 {
			t.Errorf("ended after %d/8 of %d: got %v, and it went on for %d", part, asked, err, after)
		}
	}
}
