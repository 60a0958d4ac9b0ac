package recommender

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/simulator/fit"
)

// Local recommends in this process. It keeps checkers from one call to the next, because they take milliseconds to build
// and know the nodes they have seen. It is safe for concurrent use.
type Local struct {
	mu   sync.Mutex
	idle []*fit.Checker
}

var _ Recommender = (*Local)(nil)

// New makes a recommender.
func New() *Local { return &Local{} }

// Recommend implements Recommender. It is an error when the request contradicts itself, names an unknown strategy or
// scoring, or lacks a price that the policy needs; every error names what is wrong.
func (l *Local) Recommend(ctx context.Context, r *Request) (*Recommendation, error) {
	strategy, err := strategyOf(r.Strategy)
	if err != nil {
		return nil, err
	}
	return l.recommend(ctx, r, strategy)
}

func (l *Local) recommend(ctx context.Context, r *Request, strategy Strategy) (*Recommendation, error) {
	c, err := prepare(r)
	if err != nil {
		return nil, err
	}
	parallelism := r.Parallelism
	if parallelism == 0 {
		parallelism = runtime.GOMAXPROCS(0)
	}
	workers, err := l.workers(max(1, min(parallelism, len(c.groups))), c)
	if err != nil {
		return nil, err
	}
	defer l.release(workers)
	p := newPlanner(c, workers, c.classify(workers[0].c))
	if s, ok := strategy.(interface {
		settle(ctx context.Context, p *planner)
	}); ok {
		s.settle(ctx, p)
	} else {
		p.fillExisting(ctx)
	}
	if err := p.raise(ctx); err != nil {
		return nil, fmt.Errorf("raise groups to their min size: %w", err)
	}
	if p.start, err = p.mark(ctx); err != nil {
		return nil, err
	}
	if err := p.workers[0].catchUp(p.changes); err != nil {
		return nil, err
	}
	base := p.copy()
	p.workers[0].c.Snapshot().Fork() // judge goes back here
	if err := strategy.scaleUp(ctx, p); err != nil {
		return nil, fmt.Errorf("strategy %s: %w", strategy.Name(), err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.conclude(ctx, strategy, base)
}

// workers takes idle checkers, or makes new ones, and gives each the cluster.
func (l *Local) workers(n int, c *cluster) ([]*worker, error) {
	out := make([]*worker, n)
	l.mu.Lock()
	for i := range out {
		if last := len(l.idle) - 1; last >= 0 {
			out[i] = &worker{c: l.idle[last]}
			l.idle = l.idle[:last]
		}
	}
	l.mu.Unlock()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			if out[i] == nil {
				out[i] = &worker{}
				if out[i].c, errs[i] = fit.New(); errs[i] != nil {
					return
				}
			}
			errs[i] = out[i].c.Reset(c.req.Objects, c.nodes, func(node string) []*corev1.Pod { return c.bound[node] })
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("cluster snapshot: %w", err)
		}
	}
	return out, nil
}

func (l *Local) release(workers []*worker) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range workers {
		l.idle = append(l.idle, w.c)
	}
}
