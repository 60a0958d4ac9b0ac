// Package beside keeps virtual node groups beside an API server in real time: their nodes are objects there, which come and go as the
// provider of package simulator/cloudprovider says. Nothing runs on them: a kubelet simulator such as kwok, or nobody, does the rest.
//
// The package must not know how an API server is reached.
package beside

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
)

// Nodes are the node objects of an API server. To create one that is there, or to delete one that is not, is no error.
type Nodes interface {
	Create(ctx context.Context, n *corev1.Node) error
	Delete(ctx context.Context, name string) error
}

// Beside gives turns with a provider, at the instants of a clock.
type Beside struct {
	mu       sync.Mutex
	provider *cloudprovider.Provider
	clock    clock.WithTicker
	nodes    Nodes
	due      []cloudprovider.Event // not yet written
	wake     chan struct{}
}

var _ nodegroups.Turns = (*Beside)(nil)

// New puts a provider beside an API server; nodes is nil where there is none. Instances that the target sizes are ahead of are asked for.
func New(p *cloudprovider.Provider, c clock.WithTicker, nodes Nodes) *Beside {
	b := &Beside{provider: p, clock: c, nodes: nodes, wake: make(chan struct{}, 1)}
	p.Fill(c.Now())
	return b
}

// Turn implements nodegroups.Turns.
func (b *Beside) Turn(_ context.Context, f func(now time.Time) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now().UTC()
	b.advance(now)
	err := f(now)
	b.advance(now) // what is there at once
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return err
}

// Loop implements nodegroups.Turns.
func (b *Beside) Loop(ctx context.Context, f func(now time.Time) error) error { return b.Turn(ctx, f) }

// advance is called with the lock held.
func (b *Beside) advance(now time.Time) { b.due = append(b.due, b.provider.Advance(now)...) }

// retry is how long a write that failed waits for its next try.
const retry = 2 * time.Second

// Run writes nodes until ctx ends. said hears of each write, with its error; one that failed is tried again.
func (b *Beside) Run(ctx context.Context, said func(text string, err error)) {
	for {
		timer := b.clock.NewTimer(b.write(ctx, said))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-b.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// write writes what is due, and says how long nothing will be.
func (b *Beside) write(ctx context.Context, said func(string, error)) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now().UTC()
	b.advance(now)
	for len(b.due) > 0 {
		e := b.due[0]
		b.mu.Unlock() // calls are answered meanwhile, however long a write takes, or somebody to hear of it
		text, err := b.one(ctx, e)
		said(text, err)
		b.mu.Lock()
		if err != nil {
			return retry
		}
		b.due = b.due[1:]
	}
	if at, ok := b.provider.Next(); ok {
		return max(0, at.Sub(b.clock.Now()))
	}
	return time.Hour // a call wakes it
}

func (b *Beside) one(ctx context.Context, e cloudprovider.Event) (text string, err error) {
	switch e.Type {
	case cloudprovider.NodeJoined:
		if b.nodes != nil {
			err = b.nodes.Create(ctx, e.Node)
		}
		return fmt.Sprintf("node %s of %s joined", e.NodeName, e.Group), err
	case cloudprovider.NodeGone:
		if b.nodes != nil {
			err = b.nodes.Delete(ctx, e.NodeName)
		}
		return fmt.Sprintf("node %s of %s is gone", e.NodeName, e.Group), err
	}
	return fmt.Sprintf("instance %s of %s failed: %s", e.NodeName, e.Group, e.Message), nil
}
