package plane

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
)

// TestParallelEnds: after an error nothing more is begun, nor after the end of the context.
func TestParallelEnds(t *testing.T) {
	wrong := errors.New("wrong")
	for name, c := range map[string]struct {
		happens func(end context.CancelFunc) error
		want    []error
	}{
		"an error":         {func(context.CancelFunc) error { return wrong }, []error{nil, nil, wrong, nil, nil}},
		"the context ends": {func(end context.CancelFunc) error { end(); return nil }, []error{nil, nil, nil, context.Canceled, nil}},
		"all is well":      {func(context.CancelFunc) error { return nil }, make([]error, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(t.Context())
			defer end()
			got := make([]error, 5)
			parallel(ctx, 1, got, func(i int) error {
				if i == 2 {
					return c.happens(end)
				}
				return nil
			})
			if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			many := make([]error, 100)
			parallel(t.Context(), 8, many, func(int) error { return nil })
			parallel(ctx, 8, many, func(int) error { return c.happens(end) })
		})
	}
}

// TestFeedEndsWithItsContext: the scheduler, which is none here, sees nothing more.
func TestFeedEndsWithItsContext(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	pl := &Plane{pending: []change{{obj: &corev1.Pod{}}}}
	if err := pl.feed(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("fed: %v, want that the context has ended", err)
	}
}
