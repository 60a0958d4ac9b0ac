// Package leader has one of several processes act at a time, by a Lease, and stop to write when it cannot be sure of that any more.
package leader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
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

// ErrDeposed: another process may act by now.
var ErrDeposed = errors.New("this process does not lead any more, and writes nothing")

// Fence is asked before each write. The zero value lets everything pass.
type Fence struct{ check atomic.Pointer[func() error] }

// Check gives an error when this process must not write any more.
func (f *Fence) Check() error {
	if check := f.check.Load(); check != nil {
		return (*check)()
	}
	return nil
}

// Set has Check give what check gives.
func (f *Fence) Set(check func() error) { f.check.Store(&check) }

// Lead calls lead whenever this process holds the lease, until ctx ends; the context of lead ends with the lease. The lease is given back once
// lead has returned, not before: then the next process begins when nobody writes any more.
func (e *Election) Lead(ctx context.Context, client kubernetes.Interface, fence *Fence, lead func(context.Context)) error {
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, e.Namespace, e.Name, client.CoreV1(), client.CoordinationV1(),
		resourcelock.ResourceLockConfig{Identity: e.Identity, EventRecorder: nil})
	if err != nil {
		return fmt.Errorf("elect: %w", err)
	}
	for ctx.Err() == nil {
		if err := e.term(ctx, lock, fence, lead); err != nil {
			return fmt.Errorf("elect: %w", err)
		}
	}
	return nil
}

// term waits for the lease and leads until it is lost or ctx ends.
func (e *Election) term(ctx context.Context, lock resourcelock.Interface, fence *Fence, lead func(context.Context)) error {
	candidacy, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	var leading sync.Mutex
	lease, renew := cmp.Or(e.Lease, 15*time.Second), cmp.Or(e.Renew, 10*time.Second)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, Name: e.Name, ReleaseOnCancel: true,
		LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: cmp.Or(e.Retry, 2*time.Second),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				leading.Lock()
				defer leading.Unlock()
				work, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				lead(work)
				resign()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	// It stops to write when the lease should have been renewed, which is before others may take it.
	fence.Set(func() error {
		if !elector.IsLeader() || elector.Check(renew-lease) != nil {
			return ErrDeposed
		}
		return nil
	})
	// Who is not leading waits for nothing.
	defer context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			resign()
		}
	})()
	elector.Run(candidacy)
	leading.Lock() // where the lease was lost, the last round may still be ending
	defer leading.Unlock()
	return nil
}
