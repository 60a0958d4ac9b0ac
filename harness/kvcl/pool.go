package kvcl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Pool keeps virtual clusters booted ahead of their use: the next ones boot while one is in use. Virtual time of a
// pooled one starts at Get. Safe for concurrent use.
type Pool struct {
	opts   Options
	ctx    context.Context
	cancel context.CancelFunc
	ready  chan booted
	booted atomic.Int64
	// start boots one; tests replace it.
	start func(context.Context, Options) (*EnvTest, error)

	// mu keeps Close from waiting while another boot is added.
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

type booted struct {
	e   *EnvTest
	err error
}

// NewPool starts booting size virtual clusters. Now, Scoring and TieBreak of the options are not used: Get has them.
func NewPool(o Options, size int) *Pool { return newPool(o, size, boot) }

func newPool(o Options, size int, start func(context.Context, Options) (*EnvTest, error)) *Pool {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Pool{opts: o, ctx: ctx, cancel: cancel, ready: make(chan booted, max(size, 1)), start: start}
	for range max(size, 1) {
		p.refill()
	}
	return p
}

// refill boots one more, unless the pool is closed. There is always room for it in ready: one is booted for each taken.
// A boot that fails is tried once more: a machine under load, or a port that was taken, is no reason to fail a spec.
func (p *Pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.wg.Go(func() {
		e, err := p.boot()
		if err != nil && p.ctx.Err() == nil {
			e, err = p.boot()
		}
		p.ready <- booted{e, err}
	})
}

// boot gives each virtual cluster its own directory for logs.
func (p *Pool) boot() (*EnvTest, error) {
	o := p.opts
	if o.LogDir != "" {
		o.LogDir = filepath.Join(o.LogDir, fmt.Sprintf("kvcl-%d", p.booted.Add(1)))
		if err := os.MkdirAll(o.LogDir, 0o755); err != nil {
			return nil, fmt.Errorf("log directory of the virtual cluster: %w", err)
		}
	}
	return p.start(p.ctx, o)
}

// Get returns a virtual cluster whose time, scoring and ties are those of o; the rest of o is that of the pool. The
// caller closes it. It waits for the boot if need be. A boot that failed twice is reported once, and another one is tried.
func (p *Pool) Get(ctx context.Context, o Options) (*EnvTest, error) {
	if o.Now.IsZero() {
		return nil, errors.New("virtual cluster from the pool: the start of virtual time is not set")
	}
	select {
	case b := <-p.ready:
		if p.ctx.Err() != nil {
			if b.e != nil {
				return nil, errors.Join(errPoolClosed, b.e.Close())
			}
			return nil, errPoolClosed
		}
		p.refill()
		if b.err != nil {
			return nil, fmt.Errorf("virtual cluster from the pool: %w", b.err)
		}
		b.e.plane.Configure(o.Scoring, o.TieBreak)
		if err := b.e.plane.Start(ctx, o.Now); err != nil {
			return nil, errors.Join(err, b.e.Close())
		}
		return b.e, nil
	case <-p.ctx.Done():
		return nil, errPoolClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("virtual cluster from the pool: %w", ctx.Err())
	}
}

var errPoolClosed = errors.New("the pool of virtual clusters is closed")

// Close ends the virtual clusters nobody took, also those that are booting. Those taken stay.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.wg.Wait()
	var errs []error
	for {
		select {
		case b := <-p.ready:
			if b.e != nil {
				errs = append(errs, b.e.Close())
			}
		default:
			return errors.Join(errs...)
		}
	}
}
