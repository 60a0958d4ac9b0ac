package promserve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/scalehist/scalehist/recorder/history"
)

// Limits of a query, those that a Prometheus has unless other ones are set.
const (
	maxSamples   = 50_000_000
	queryTimeout = 2 * time.Minute
	maxPoints    = 11_000
)

// Clock says which instant of the recording is now, and how far behind the clock of those who ask it is.
type Clock struct {
	// Now is the instant that a query without one is for, in the time of those who ask.
	Now func() time.Time
	// Behind is added to an instant of the recording to get that of those who ask.
	Behind time.Duration
}

// Server answers queries from a history.
type Server struct {
	db     *history.DB
	all    []*recorded
	parser parser.Parser
	engine *promql.Engine
	clock  Clock
}

// New reads what a history has recorded of metrics. The history is the caller's to close, after the last request.
func New(ctx context.Context, db *history.DB, c Clock) (*Server, error) {
	p := parser.NewParser(parser.Options{})
	all, err := load(ctx, db, p)
	if err != nil {
		return nil, err
	}
	return &Server{db: db, all: all, parser: p, clock: c, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: maxSamples, Timeout: queryTimeout, LookbackDelta: Lookback, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }, // global.evaluation_interval of a Prometheus without one
	})}, nil
}

// Names lists what is recorded, by its names, sorted.
func (s *Server) Names() []string {
	var out []string
	for i, r := range s.all {
		if i == 0 || s.all[i-1].name != r.name {
			out = append(out, r.name)
		}
	}
	return out
}

// span is an instant query, or a range of them.
type span struct {
	start, end time.Time
	step       time.Duration // 0: an instant
}

// run answers a query, in the time of those who ask.
func (s *Server) run(ctx context.Context, query string, at span) (*promql.Result, error) {
	e, err := s.parser.ParseExpr(query)
	if err != nil {
		return nil, badData("query", err)
	}
	if t := e.Type(); at.step > 0 && t != parser.ValueTypeVector && t != parser.ValueTypeScalar {
		return nil, badData("query", fmt.Errorf("a %s has no values over a range: want a scalar or an instant vector", parser.DocumentedType(t)))
	}
	if s.clock.Behind != 0 {
		parser.Inspect(e, s.fix)
	}
	p, err := newPlan(e, s.all)
	if err != nil {
		return nil, err
	}
	var q promql.Query
	if at.step > 0 {
		q, err = s.engine.NewRangeQuery(ctx, source{s.db, p}, nil, p.query, at.start.Add(-s.clock.Behind), at.end.Add(-s.clock.Behind), at.step)
	} else {
		q, err = s.engine.NewInstantQuery(ctx, source{s.db, p}, nil, p.query, at.start.Add(-s.clock.Behind))
	}
	if err != nil {
		return nil, badData("query", err)
	}
	r := q.Exec(ctx)
	if r.Err != nil {
		return nil, r.Err
	}
	r.Value = s.shown(r.Value)
	return r, nil
}

// fix moves fixed times of a query (@) into the time of the recording.
func (s *Server) fix(n parser.Node, _ []parser.Node) error {
	var at *int64
	switch n := n.(type) {
	case *parser.VectorSelector:
		at = n.Timestamp
	case *parser.SubqueryExpr:
		at = n.Timestamp
	}
	if at != nil {
		*at -= s.clock.Behind.Milliseconds()
	}
	return nil
}

// shown is a value in the time of those who ask, without our markers, which absent() makes labels of.
func (s *Server) shown(v parser.Value) parser.Value {
	behind := s.clock.Behind.Milliseconds()
	switch v := v.(type) {
	case promql.Scalar:
		v.T += behind
		return v
	case promql.String:
		v.T += behind
		return v
	case promql.Vector:
		if v == nil {
			return promql.Vector{} // JSON shows the difference
		}
		for i := range v {
			v[i].T, v[i].Metric = v[i].T+behind, unmarked(v[i].Metric)
		}
	case promql.Matrix:
		if v == nil {
			return promql.Matrix{}
		}
		for i := range v {
			v[i].Metric, v[i].Floats = unmarked(v[i].Metric), slices.Clone(v[i].Floats)
			for j := range v[i].Floats {
				v[i].Floats[j].T += behind
			}
		}
	}
	return v
}

func unmarked(l labels.Labels) labels.Labels { return labels.NewBuilder(l).Del(marker).Labels() }

// selected are the series that any of some selectors selects, sorted; all of them without selectors. A selector of what is not recorded is an error.
func (s *Server) selected(selectors []string) ([]labels.Labels, error) {
	found := map[string]labels.Labels{}
	add := func(c candidate, matchers []*labels.Matcher) {
		for _, l := range c.labels {
			if c.byName {
				l = labels.NewBuilder(l).Set(model.MetricNameLabel, c.name).Labels()
			}
			if matches(l, matchers) {
				found[l.String()] = l
			}
		}
	}
	for _, text := range selectors {
		e, err := s.parser.ParseExpr(text)
		if err != nil {
			return nil, badData("match[]", err)
		}
		v, ok := e.(*parser.VectorSelector)
		if !ok {
			return nil, badData("match[]", fmt.Errorf("%s is not a selector", text))
		}
		asked := slices.Clone(v.LabelMatchers)
		p := &plan{all: s.all}
		if err := p.selector(v, false); err != nil {
			return nil, err
		}
		for _, c := range p.candidates[0] {
			add(c, asked)
		}
	}
	if len(selectors) == 0 {
		for _, r := range s.all {
			add(candidate{r, r.selector == nil}, nil)
		}
	}
	return slices.SortedFunc(maps.Values(found), labels.Compare), nil
}
