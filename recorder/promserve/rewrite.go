package promserve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// marker is the label by which a selector of a rewritten query says which candidates it reads. No series has it.
const marker = "__scalehist__"

// candidate is something recorded that may answer a selector; byName, as the series of a recording rule would.
type candidate struct {
	*recorded
	byName bool
}

// plan is a query over what is recorded: its text for the engine, and the candidates of its selectors by their markers.
type plan struct {
	query      string
	candidates [][]candidate
	all        []*recorded
}

// NotRecordedError is a selector that nothing recorded answers.
type NotRecordedError struct {
	// Selector as it was asked for.
	Selector string
	// Hint says what can be done.
	Hint string
}

// Error implements error.
func (e *NotRecordedError) Error() string {
	return fmt.Sprintf("%s is not recorded: %s", e.Selector, e.Hint)
}

// newPlan rewrites a query so that it reads only what is recorded.
func newPlan(e parser.Expr, all []*recorded) (*plan, error) {
	p := &plan{all: all}
	out, err := p.rewrite(e)
	if err != nil {
		return nil, err
	}
	p.query = out.String()
	return p, nil
}

// rewrite puts the series of recorded queries in the place of their texts, and marks selectors.
func (p *plan) rewrite(e parser.Expr) (parser.Expr, error) {
	if found := p.whole(e); found != nil {
		s := &parser.VectorSelector{LabelMatchers: []*labels.Matcher{p.mark(found)}}
		if e.Type() == parser.ValueTypeScalar {
			return &parser.Call{Func: parser.Functions["scalar"], Args: parser.Expressions{s}}, nil
		}
		return s, nil
	}
	var err error
	into := func(e *parser.Expr) {
		if *e != nil && err == nil {
			*e, err = p.rewrite(*e)
		}
	}
	switch e := e.(type) {
	case *parser.AggregateExpr:
		into(&e.Expr)
		into(&e.Param)
	case *parser.BinaryExpr:
		into(&e.LHS)
		into(&e.RHS)
	case *parser.Call:
		for i := range e.Args {
			into(&e.Args[i])
		}
	case *parser.ParenExpr:
		into(&e.Expr)
	case *parser.SubqueryExpr:
		into(&e.Expr)
	case *parser.UnaryExpr:
		into(&e.Expr)
	case *parser.MatrixSelector:
		err = p.selector(e.VectorSelector.(*parser.VectorSelector), true)
	case *parser.VectorSelector:
		err = p.selector(e, false)
	}
	return e, err
}

// whole are the recorded queries whose text an expression is. What reads no series is worked out, and a selector may be covered otherwise.
func (p *plan) whole(e parser.Expr) []candidate {
	if _, ok := e.(*parser.VectorSelector); ok || e.Type() != parser.ValueTypeVector && e.Type() != parser.ValueTypeScalar {
		return nil
	}
	text := unwrapped(e).String()
	var out []candidate
	for _, r := range p.all {
		if r.text == text && len(r.metrics) > 0 && r.selector == nil {
			out = append(out, candidate{recorded: r})
		}
	}
	return out
}

// selector marks a selector with what answers it: series that were recorded as scraped; the same selector at intervals, but not for ranges, whose
// values would be others; a recorded query by its name.
func (p *plan) selector(s *parser.VectorSelector, ranged bool) error {
	if slices.ContainsFunc(s.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == marker }) {
		return &NotRecordedError{marker, "no series has this label"}
	}
	var scraped, sampled, named []candidate
	for _, r := range p.all {
		switch {
		case r.selector != nil && covers(r.selector.LabelMatchers, s.LabelMatchers):
			if r.spec.Series {
				scraped = append(scraped, candidate{recorded: r})
			} else if !ranged {
				sampled = append(sampled, candidate{recorded: r})
			}
		case r.selector == nil && nameOf(s) == r.name && !r.metrics[r.name]:
			named = append(named, candidate{r, true})
		}
	}
	found := slices.Concat(scraped, sampled, named)
	if len(found) == 0 {
		return p.refuse(s, ranged)
	}
	s.LabelMatchers = append(s.LabelMatchers, p.mark(found))
	return nil
}

func (p *plan) mark(c []candidate) *labels.Matcher {
	p.candidates = append(p.candidates, c)
	return labels.MustNewMatcher(labels.MatchEqual, marker, strconv.Itoa(len(p.candidates)-1))
}

// covers says whether every series that the matchers asked select is selected by the matchers had.
func covers(had, asked []*labels.Matcher) bool {
	for _, h := range had {
		if !slices.ContainsFunc(asked, func(a *labels.Matcher) bool {
			if a.Name != h.Name {
				return false
			}
			if a.Type == h.Type && a.Value == h.Value {
				return true
			}
			values := a.SetMatches()
			if a.Type == labels.MatchEqual {
				values = []string{a.Value}
			}
			return a.Type != labels.MatchNotEqual && a.Type != labels.MatchNotRegexp && len(values) > 0 && !slices.ContainsFunc(values, func(v string) bool { return !h.Matches(v) })
		}) {
			return false
		}
	}
	return true
}

// refuse says what is recorded instead.
func (p *plan) refuse(s *parser.VectorSelector, ranged bool) error {
	bare := &parser.VectorSelector{Name: s.Name, LabelMatchers: s.LabelMatchers}
	hint := "record it as it is scraped (scalehist record --series '" + bare.String() + "'), or the whole query (--queries)"
	if ranged && slices.ContainsFunc(p.all, func(r *recorded) bool { return r.selector != nil && covers(r.selector.LabelMatchers, s.LabelMatchers) }) {
		hint = "there are values of it at intervals, which are not those of a range: record it as it is scraped (scalehist record --series '" + bare.String() + "')"
	}
	return &NotRecordedError{Selector: bare.String(), Hint: hint + "; recorded: " + p.some()}
}

// some lists what is recorded, the first five.
func (p *plan) some() string {
	const most = 5
	var out []string
	for _, r := range p.all {
		text := r.name
		if r.spec.Query != "" && r.spec.Query != r.name {
			text += " (" + r.spec.Query + ")"
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	if len(out) > most {
		out = append(out[:most], "and others")
	}
	return strings.Join(out, ", ")
}
