package promserve

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/scalehist/scalehist/recorder/history"
)

// source reads the samples of a plan from a history.
type source struct {
	db *history.DB
	*plan
}

// Querier implements storage.Queryable; what of the time is read, hints say.
func (s source) Querier(int64, int64) (storage.Querier, error) { return s, nil }

// Close implements storage.Querier.
func (source) Close() error { return nil }

var errNoLabels = errors.New("the engine asks for no labels")

// LabelValues implements storage.Querier.
func (source) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLabels
}

// LabelNames implements storage.Querier.
func (source) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errNoLabels
}

// Select implements storage.Querier: the series of the first candidate that knows the time.
func (s source) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var candidates []candidate
	var asked []*labels.Matcher
	for _, m := range matchers {
		if m.Name != marker {
			asked = append(asked, m)
		} else if i, err := strconv.Atoi(m.Value); err == nil && i < len(s.candidates) {
			candidates = s.candidates[i]
		}
	}
	var errs []error
	for _, c := range candidates {
		from, to := time.UnixMilli(hints.Start).UTC(), time.UnixMilli(hints.End).UTC()
		if hints.Range == 0 && !c.spec.Series {
			from = from.Add(Lookback - time.Millisecond) // the first instant; the value holds from the one recorded before it
		}
		if err := c.knows(from, to); err != nil {
			errs = append(errs, err)
			continue
		}
		set, err := s.read(ctx, c, from.Add(-max(c.step(), Lookback)), to, asked, hints.Range > 0)
		if err != nil {
			return storage.ErrSeriesSet(err)
		}
		return set
	}
	return storage.ErrSeriesSet(&unknownError{errors.Join(errs...)})
}

// unknownError is a time that is not recorded.
type unknownError struct{ error }

// read gives the series of a candidate with from <= at <= to that match. In ranges each value counts once.
func (s source) read(ctx context.Context, c candidate, from, to time.Time, matchers []*labels.Matcher, ranged bool) (*seriesSet, error) {
	if from.Before(c.from) {
		from = c.from
	}
	if !c.until.IsZero() && !to.Before(c.until) {
		to = c.until.Add(-time.Nanosecond)
	}
	found := map[string]*promql.Series{}
	for v, err := range s.db.Samples(ctx, from.Add(-time.Nanosecond), to) {
		if err != nil {
			return nil, err
		}
		if v.Series != c.name {
			continue
		}
		b := labels.NewBuilder(labels.FromMap(v.Labels))
		if c.byName {
			b.Set(model.MetricNameLabel, c.name)
		}
		l := b.Labels()
		if !matches(l, matchers) {
			continue
		}
		key := l.String()
		if found[key] == nil {
			found[key] = &promql.Series{Metric: l}
		}
		found[key].Floats = append(found[key].Floats, promql.FPoint{T: v.At.UnixMilli(), F: v.Value})
	}
	out := &seriesSet{at: -1}
	for _, f := range found {
		if !ranged && !c.spec.Series && c.step() > 0 {
			f.Floats = held(f.Floats, c.step().Milliseconds(), to.UnixMilli())
		}
		out.series = append(out.series, *f)
	}
	slices.SortFunc(out.series, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return out, nil
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(l.Get(m.Name)) })
}

// held makes values that were worked out at intervals hold until the next instant, and end there if it has none: a series that an answer does not have
// any more is gone at once, as one of a recording rule is.
func held(points []promql.FPoint, step, end int64) []promql.FPoint {
	var out []promql.FPoint
	again := (Lookback - time.Millisecond).Milliseconds()
	for i, p := range points {
		next := end + 1
		if i+1 < len(points) {
			next = points[i+1].T
		}
		stop := min(p.T+step, next)
		for at := p.T; at < stop; at += again {
			out = append(out, promql.FPoint{T: at, F: p.F})
		}
		if p.T+step < next {
			out = append(out, promql.FPoint{T: p.T + step, F: math.Float64frombits(value.StaleNaN)})
		}
	}
	return out
}

// seriesSet implements storage.SeriesSet.
type seriesSet struct {
	series []promql.Series
	at     int
}

func (s *seriesSet) Next() bool {
	s.at++
	return s.at < len(s.series)
}
func (s *seriesSet) At() storage.Series                { return promql.NewStorageSeries(s.series[s.at]) }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }
