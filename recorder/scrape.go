package recorder

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// The kinds of gaps that are no Kubernetes kinds.
const (
	// UsageKind is the metrics API's.
	UsageKind = "Usage"
	// QueryKind and a query's name is a Prometheus query's.
	QueryKind = "Query:"
)

// scraping is what is asked for at intervals, beside the watches.
type scraping struct {
	prometheus      *usage.Client
	queries         []usage.Query
	usages, samples atomic.Int64
}

// connectPrometheus prepares to ask it; the metrics API is the cluster's.
func (r *Recorder) connectPrometheus() error {
	p := r.o.Prometheus
	if p == nil {
		return nil
	}
	c, err := usage.NewClient(*p)
	if err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	r.scraping.prometheus, r.scraping.queries = c, p.Queries
	return nil
}

// scrapes are the loops that ask, each until its context ends. They begin when the recording has.
func (r *Recorder) scrapes() []func(context.Context) {
	var out []func(context.Context)
	if r.o.Usage > 0 {
		out = append(out, r.scrapeUsage)
	}
	for _, q := range r.scraping.queries {
		out = append(out, func(ctx context.Context) { r.scrapeQuery(ctx, q) })
	}
	return out
}

// begunOr waits for the recording to begin; false if ctx ends before.
func (r *Recorder) begunOr(ctx context.Context) bool {
	select {
	case <-r.synced:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits by the recorder's clock; false if ctx ends before.
func (r *Recorder) sleep(ctx context.Context, d time.Duration) bool {
	timer := r.o.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// scrapeUsage lists the metrics API at intervals. It keeps no past: a listing that fails is a gap from the last one that
// did not to the next.
func (r *Recorder) scrapeUsage(ctx context.Context) {
	if !r.begunOr(ctx) {
		return
	}
	good, why := r.now(), ""
	for {
		list, err := r.clients.Load().pods.List(ctx, r.now())
		r.trouble.note(ctx, UsageKind, err)
		now := r.now()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			why = worded(err).Error()
		default:
			if why != "" && r.enqueue(item{gap: &history.Gap{From: good, To: now, Kinds: []string{UsageKind}, Why: why}}) != nil {
				return
			}
			good, why = now, ""
			if r.writeLater(func(ctx context.Context, store *history.Writer) error { return store.Usage(ctx, list) }) != nil {
				return
			}
			r.scraping.usages.Add(int64(len(list)))
		}
		if ctx.Err() != nil || !r.sleep(ctx, r.o.Usage) {
			if why != "" {
				_ = r.enqueue(item{gap: &history.Gap{From: good, To: r.now(), Kinds: []string{UsageKind}, Why: why}}) // else nothing is written any more
			}
			return
		}
	}
}

// scrapeQuery asks for every instant of a query, in order. An answer that fails is asked for again, so nothing is missed
// as long as the Prometheus keeps it; what could not be had by the end is a gap.
func (r *Recorder) scrapeQuery(ctx context.Context, q usage.Query) {
	if !r.begunOr(ctx) {
		return
	}
	if r.recordQuery(q) != nil {
		return
	}
	next, err := r.firstInstant(ctx, q)
	why := ""
	if err != nil {
		klog.FromContext(ctx).Error(err, "Cannot tell which instants the history has", "query", q.Name)
		next = usage.First(r.now(), q.Step)
	}
	for {
		for ctx.Err() == nil {
			w, ok := usage.Next(next, r.now(), q.Step)
			if !ok {
				break
			}
			samples, err := r.scraping.prometheus.Range(ctx, q, w)
			r.trouble.note(ctx, QueryKind+q.Name, err)
			if err != nil {
				if ctx.Err() == nil {
					why = worded(err).Error()
				}
				break
			}
			why = ""
			if r.writeLater(func(ctx context.Context, store *history.Writer) error { return store.Sample(ctx, samples) }) != nil {
				return
			}
			r.scraping.samples.Add(int64(len(samples)))
			next = w.Last.Add(q.Step)
		}
		if ctx.Err() != nil || !r.sleep(ctx, q.Step) {
			if why != "" {
				_ = r.enqueue(item{gap: &history.Gap{From: next, To: r.now(), Kinds: []string{QueryKind + q.Name}, Why: why}}) // else nothing is written any more
			}
			return
		}
	}
}

// recordQuery writes what a series of samples is. The same again changes nothing; another text is a version of its own.
func (r *Recorder) recordQuery(q usage.Query) error {
	o := &v1alpha1.MetricQuery{Spec: v1alpha1.MetricQuerySpec{Query: q.Query, Series: q.Series, StepSeconds: int32(q.Step / time.Second)}}
	o.Name = q.Name
	return r.enqueue(item{entry: &history.Entry{Change: scalehist.Change{Op: scalehist.OpUpdate, Object: o}}})
}

// firstInstant is the one after the last that the history has; in a history without any the first of the recording.
func (r *Recorder) firstInstant(ctx context.Context, q usage.Query) (time.Time, error) {
	first := usage.First(r.now(), q.Step)
	if q.Series {
		first = usage.First(first.Add(-usage.Lookback), q.Step)
	}
	if r.resumedFrom.IsZero() {
		return first, nil
	}
	db, err := history.Open(ctx, r.o.Path)
	if err != nil {
		return first, err
	}
	last, err := db.LastSample(ctx, q.Name)
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	if err != nil || last.IsZero() {
		return first, err
	}
	return usage.First(last.Add(time.Nanosecond), q.Step), nil
}

// writeLater queues something to write that is no change of an object.
func (r *Recorder) writeLater(f func(context.Context, *history.Writer) error) error {
	return r.enqueue(item{write: f})
}
