package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Election is how processes agree on the one that acts: by a Lease. The times are those of the components of Kubernetes where they are 0:
// 15 s, 10 s, 2 s.
type Election struct {
	// Namespace and Name are those of the Lease; Identity is this process's own.
	Namespace, Name, Identity string
	// Lease is how long it holds, Renew within which it must be renewed, Retry how often that is tried.
	Lease, Renew, Retry time.Duration
}

// errDeposed: another process may act by now.
var errDeposed = errors.New("this process does not lead any more, and writes nothing")

// elect lets this process lead whenever it holds the lease, until ctx ends. The lease is given back once the last round has ended, not before:
// then the next process begins when nobody writes any more.
func (h *Handler) elect(ctx context.Context, e *Election) error {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.Namespace, e.Name, h.client.CoreV1(), h.client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: e.Identity, EventRecorder: nil})
	if err != nil {
		return fmt.Errorf("elect: %w", err)
	}
	for ctx.Err() == nil {
		if err := h.term(ctx, e, lock); err != nil {
			return fmt.Errorf("elect: %w", err)
		}
	}
	return nil
}

// term waits for the lease and leads until it is lost or ctx ends.
func (h *Handler) term(ctx context.Context, e *Election, lock resourcelock.Interface) error {
	candidacy, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	lease, renew := cmp.Or(e.Lease, 15*time.Second), cmp.Or(e.Renew, 10*time.Second)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.Name, ReleaseOnCancel: true,
		LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: cmp.Or(e.Retry, 2*time.Second),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				work, stop := context.WithCancel(leading)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				logOf(ctx).Info("Leading", "identity", e.Identity)
				h.lead(work)
				resign()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	// It stops to write when the lease should have been renewed, which is before others may take it.
	fence := func() error {
		if !elector.IsLeader() || elector.Check(renew-lease) != nil {
			return errDeposed
		}
		return nil
	}
	h.fence.Store(&fence)
	// Who is not leading waits for nothing.
	defer context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			resign()
		}
	})()
	elector.Run(candidacy)
	h.terms.Lock() // where the lease was lost, the last round may still be ending
	defer h.terms.Unlock()
	return nil
}
