package promserve

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/prometheus/promql"
)

// Range gives the values of an expression at instants a step apart, both ends included, as far as they are known: an instant that is not recorded has no value. It
// is an error if none is, or if the expression cannot be answered at all.
func (s *Server) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) (promql.Matrix, error) {
	var why error
	out, err := s.known(ctx, query, span{from, to, step}, &why)
	if err == nil && out == nil {
		err = why
	}
	return out, err
}

// known leaves out what is not recorded, which is found by halves: a gap costs a few queries, and none for each instant. Why has the first reason.
func (s *Server) known(ctx context.Context, query string, at span, why *error) (promql.Matrix, error) {
	r, err := s.run(ctx, query, at)
	unknown := (*unknownError)(nil)
	switch {
	case err == nil:
		m, err := r.Matrix()
		if m == nil {
			m = promql.Matrix{} // known, and without series
		}
		return m, err
	case !errors.As(err, &unknown):
		return nil, err
	}
	if *why == nil {
		*why = unknown
	}
	half := at.end.Sub(at.start) / at.step / 2 * at.step
	if at.end.Sub(at.start) < at.step {
		return nil, nil
	}
	first, err := s.known(ctx, query, span{at.start, at.start.Add(half), at.step}, why)
	if err != nil {
		return nil, err
	}
	second, err := s.known(ctx, query, span{at.start.Add(half + at.step), at.end, at.step}, why)
	if err != nil || second == nil {
		return first, err
	}
	return joined(first, second), nil
}

// joined puts the points of later series behind those of earlier ones.
func joined(first, second promql.Matrix) promql.Matrix {
	if first == nil {
		return second
	}
	at := map[string]int{}
	for i := range first {
		at[first[i].Metric.String()] = i
	}
	for _, more := range second {
		if i, known := at[more.Metric.String()]; known {
			first[i].Floats = append(first[i].Floats, more.Floats...)
		} else {
			first = append(first, more)
		}
	}
	return first
}
