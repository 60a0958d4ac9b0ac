package promserve

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// Lookback is how old a value may be that a selector still takes: the default of Prometheus (--query.lookback-delta), which the recorder uses too.
const Lookback = usage.Lookback

// recorded is what a query, or what else wrote series of a name, left in a history.
type recorded struct {
	// name is that of the samples.
	name string
	spec v1alpha1.MetricQuerySpec
	// text is the query as the parser writes it; empty where it is not known, or cannot be parsed.
	text string
	// selector is the query where it is one, without offset and @.
	selector *parser.VectorSelector
	// metrics are the names that its text mentions.
	metrics map[string]bool
	// from and to are the first and the last instant whose answers are known, gaps are what is missing between. Until is when the query was
	// replaced; zero if it never was.
	from, to, until time.Time
	gaps            []history.Gap
	// labels are those of its series, sorted.
	labels []labels.Labels
}

func (r *recorded) step() time.Duration { return time.Duration(r.spec.StepSeconds) * time.Second }

// load reads what a history has of series, all but the values.
func load(ctx context.Context, db *history.DB, p parser.Parser) ([]*recorded, error) {
	start, _ := db.Span()
	var out []*recorded
	open := map[string]*recorded{} // versions without an end
	note := func(c scalehist.Change) {
		q, ok := c.Object.(*v1alpha1.MetricQuery)
		if !ok {
			return
		}
		if last := open[q.Name]; last != nil {
			if c.Op != scalehist.OpDelete && last.spec == q.Spec {
				return
			}
			last.until = c.At
			delete(open, q.Name)
		}
		if c.Op == scalehist.OpDelete {
			return
		}
		r := &recorded{name: q.Name, spec: q.Spec, from: usage.First(c.At, max(time.Duration(q.Spec.StepSeconds)*time.Second, time.Second))}
		r.parse(p)
		if q.Spec.Series {
			r.from = r.from.Add(-Lookback) // recorder: the first window reaches as far back
		}
		open[q.Name], out = r, append(out, r)
	}
	atStart, err := db.ObjectsAt(ctx, start, "MetricQuery")
	if err != nil {
		return nil, err
	}
	for _, o := range atStart {
		note(scalehist.Change{At: start, Op: scalehist.OpAdd, Object: o})
	}
	for c, err := range db.ChangesOf(ctx, start, time.Time{}, "MetricQuery") {
		if err != nil {
			return nil, err
		}
		note(c)
	}
	if out, err = seen(ctx, db, out); err != nil {
		return nil, err
	}
	gaps, err := db.Gaps(ctx, time.Time{}, time.Time{})
	for _, r := range out {
		for _, g := range gaps {
			if slices.Contains(g.Kinds, "Query:"+r.name) {
				r.gaps = append(r.gaps, g)
			}
		}
	}
	return out, err
}

// parse reads the text.
func (r *recorded) parse(p parser.Parser) {
	e, err := p.ParseExpr(r.spec.Query)
	if err != nil {
		return // the recorded Prometheus had no answer to it either
	}
	r.text, r.metrics = unwrapped(e).String(), map[string]bool{}
	if s, ok := unwrapped(e).(*parser.VectorSelector); ok && s.OriginalOffset == 0 && s.Timestamp == nil && s.StartOrEnd == 0 {
		r.selector = s
	}
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			r.metrics[nameOf(s)] = true
		}
		return nil
	})
}

// unwrapped is an expression without parentheses around all of it.
func unwrapped(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

// nameOf is the metric that a selector names; empty for none.
func nameOf(s *parser.VectorSelector) string {
	for _, m := range s.LabelMatchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return s.Name
}

// seen adds what the samples show: labels, and the last instant that is known. Names that no query has are there as they are.
func seen(ctx context.Context, db *history.DB, out []*recorded) ([]*recorded, error) {
	byName := map[string][]*recorded{}
	for _, r := range out {
		byName[r.name] = append(byName[r.name], r)
	}
	all := map[*recorded]map[string]labels.Labels{}
	for s, err := range db.Samples(ctx, time.Time{}, time.Time{}) {
		if err != nil {
			return nil, err
		}
		if byName[s.Series] == nil {
			r := &recorded{name: s.Series, from: s.At}
			byName[s.Series], out = []*recorded{r}, append(out, r)
		}
		for _, r := range byName[s.Series] {
			if s.At.Before(r.from) || !r.until.IsZero() && !s.At.Before(r.until) {
				continue
			}
			if all[r] == nil {
				all[r] = map[string]labels.Labels{}
			}
			l := labels.FromMap(s.Labels)
			all[r][l.String()], r.to = l, s.At
		}
	}
	for _, r := range out {
		r.labels = slices.SortedFunc(maps.Values(all[r]), labels.Compare)
		if !r.to.IsZero() && !r.spec.Series && r.step() > 0 {
			r.to = r.to.Add(r.step() - time.Millisecond) // until the next instant the value holds
		}
	}
	slices.SortStableFunc(out, func(a, b *recorded) int { return cmp.Or(cmp.Compare(a.name, b.name), a.from.Compare(b.from)) })
	return out, nil
}

// knows says why not all of [from, to] is known, nil if it is.
func (r *recorded) knows(from, to time.Time) error {
	switch {
	case r.to.IsZero():
		return fmt.Errorf("%s has no values in the recording", r.name)
	case from.Before(r.from) || to.After(r.to):
		return fmt.Errorf("%s is recorded from %s to %s, and the query reads %s to %s: choose a time in it", r.name,
			stamp(r.from), stamp(r.to), stamp(from), stamp(to))
	}
	for _, g := range r.gaps {
		if g.From.Before(to) && g.To.After(from) {
			return fmt.Errorf("%s is not recorded from %s to %s (%s), and the query reads %s to %s", r.name, stamp(g.From), stamp(g.To), g.Why, stamp(from), stamp(to))
		}
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
