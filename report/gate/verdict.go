package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/compare"
	"github.com/scalehist/scalehist/report/metrics"
)

// Result is how a check ended.
type Result string

// The results.
const (
	Passed   Result = "passed"
	Violated Result = "violated"
	// NotJudged: neither side has the metric.
	NotJudged Result = "not judged"
)

// Verdict is what a gate found.
type Verdict struct {
	Passed    bool       `json:"passed"`
	Policy    string     `json:"policy"`
	Baseline  string     `json:"baseline"`
	Candidate string     `json:"candidate"`
	Scenarios []Judgment `json:"scenarios"`
	// Total are the checks over all scenarios together.
	Total []Check `json:"total,omitempty"`
	// Notes are what else a reader should know.
	Notes []string `json:"notes,omitempty"`
	// DeterministicLine is where the policy asks for determinism, 0 when it does not.
	DeterministicLine int `json:"deterministicLine,omitempty"`
}

// Judgment is one scenario.
type Judgment struct {
	Scenario string `json:"scenario"`
	// Problem says why it could not be compared, which is a violation unless Allowed.
	Problem string  `json:"problem,omitempty"`
	Allowed bool    `json:"allowed,omitempty"`
	Checks  []Check `json:"checks"`
	// FirstDifference is the first decision in which the candidate parts from the baseline; nil when all are the same.
	FirstDifference *compare.Difference `json:"firstDifference,omitempty"`
	// Repeat is nil when the candidate was replayed once.
	Repeat *Repeat `json:"repeat,omitempty"`
}

// Check is one limit held against one change.
type Check struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	Limit  string `json:"limit"`
	// Line is the policy's.
	Line      int      `json:"line"`
	Baseline  *float64 `json:"baseline,omitempty"`
	Candidate *float64 `json:"candidate,omitempty"`
	Change    *float64 `json:"change,omitempty"`
	Relative  *float64 `json:"relativePercent,omitempty"`
	Result    Result   `json:"result"`
	// Why says what a violation is, or why nothing was judged.
	Why string `json:"why,omitempty"`
	// Notes warn of reading the metric alone.
	Notes []string `json:"notes,omitempty"`
	// MostIn is the scenario that moved a total most.
	MostIn string `json:"mostIn,omitempty"`
}

// violated says whether a scenario fails.
func (j Judgment) violated() bool {
	return j.Problem != "" && !j.Allowed || j.Repeat.failed() || slices.ContainsFunc(j.Checks, func(c Check) bool { return c.Result == Violated })
}

// Violations counts what fails.
func (v *Verdict) Violations() int {
	n := 0
	for _, j := range v.Scenarios {
		if j.Problem != "" && !j.Allowed {
			n++
		}
		if j.Repeat.failed() {
			n++
		}
		for _, c := range j.Checks {
			if c.Result == Violated {
				n++
			}
		}
	}
	for _, c := range v.Total {
		if c.Result == Violated {
			n++
		}
	}
	return n
}

// Judge holds the candidate's reports against the baseline's under a policy, and against those of further runs of the
// candidate, if there are any. A limit that could be judged nowhere is an error: it would seem to hold. So is a policy that
// excuses every scenario, or one that asks for a deterministic candidate where there was one run of it.
func Judge(policy *Policy, baseline, candidate []Scenario, repeats ...[]Scenario) (*Verdict, error) {
	baseline, candidate, repeats = plaintext.Values(baseline), plaintext.Values(candidate), plaintext.Values(repeats) // the verdict is text in lines
	v := &Verdict{Policy: policy.Path, Scenarios: []Judgment{}}
	var pairs []pair
	for _, name := range names(baseline, candidate) {
		b, c := find(baseline, name), find(candidate, name)
		j := Judgment{Scenario: name, Checks: []Check{}}
		switch {
		case c == nil:
			j.Problem, j.Allowed = "the candidate has no report of it (gone)", matches(policy.Allow.Gone, name)
		case b == nil:
			j.Problem, j.Allowed = "the baseline has no report of it (new)", matches(policy.Allow.New, name)
		default:
			if why := compare.Comparable(b.Report, c.Report); why != "" {
				j.Problem, j.Allowed = "cannot be compared: "+why, matches(policy.Allow.Rerecorded, name)
				break
			}
			p := pair{name, append(metrics.Of(b.Report), compare.Unchanged()...), append(metrics.Of(c.Report), compare.Changed(b.Report, c.Report)...)}
			pairs = append(pairs, p)
			j = judgePair(policy, p, b.Report, c.Report)
		}
		v.Scenarios = append(v.Scenarios, j)
	}
	for _, l := range policy.Total {
		if !l.Limit.Off {
			v.Total = append(v.Total, judgeTotal(l, pairs))
		}
	}
	if err := judgeRepeats(policy, v, candidate, repeats); err != nil {
		return v, err
	}
	v.Notes = unmatched(policy, v)
	v.Passed = v.Violations() == 0
	if len(pairs) == 0 && v.Passed {
		return v, errors.New("no scenario could be compared, and the policy allows that for each: there is nothing to judge")
	}
	return v, neverJudged(policy, v)
}

// pair are the values of a scenario on both sides.
type pair struct {
	name            string
	base, candidate metrics.Set
}

func names(lists ...[]Scenario) []string {
	var out []string
	for _, list := range lists {
		for _, s := range list {
			out = append(out, s.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func find(list []Scenario, name string) *Scenario {
	i := slices.IndexFunc(list, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

func judgePair(policy *Policy, p pair, base, candidate *scalehist.ReplayReport) Judgment {
	j := Judgment{Scenario: p.name, Checks: []Check{}, FirstDifference: compare.FirstDifference(base, candidate)}
	for _, l := range policy.For(p.name) {
		check := judge(l, p.base.Get(l.Metric.Name), p.candidate.Get(l.Metric.Name))
		if l.Metric.Name == "cost" {
			if note := compare.CostNote("the baseline", "the candidate", p.base, p.candidate); note != "" {
				check.Notes = []string{note}
			}
		}
		if groups := compare.GroupsChanged(base, candidate); l.Metric.Name == "node-groups.changed" && len(groups) > 0 {
			check.Notes = append(check.Notes, report.Some(groups, 10))
		}
		j.Checks = append(j.Checks, check)
	}
	return j
}

// judge holds one change against one limit.
func judge(l MetricLimit, base, candidate metrics.Value) Check {
	c := Check{Metric: l.Metric.Name, Unit: candidate.Unit, Limit: l.Limit.Text, Line: l.Line, Baseline: base.Value, Candidate: candidate.Value, Result: Passed}
	if candidate.Value == nil {
		c.Unit = base.Unit
	}
	alone := !slices.ContainsFunc(l.Limit.Alternatives, func(b Bound) bool { return b.Kind == Change || b.Kind == Relative })
	switch {
	case candidate.Value == nil && base.Value == nil:
		c.Result, c.Why = NotJudged, "no report has it: "+candidate.Missing
		return c
	case candidate.Value == nil:
		c.Result, c.Why = Violated, "the baseline has it, the candidate has not: "+candidate.Missing
		return c
	case base.Value == nil && !alone:
		c.Result, c.Why = Violated, "the candidate has it, the baseline has not: "+base.Missing
		return c
	case base.Value != nil && base.Unit != candidate.Unit:
		c.Result, c.Why = Violated, fmt.Sprintf("the baseline is in %s, the candidate in %s", base.Unit, candidate.Unit)
		return c
	}
	from := *candidate.Value
	if base.Value != nil {
		from = *base.Value
		c.Change, c.Relative, _ = compare.Change(from, *candidate.Value, l.Metric.Better)
	}
	if !l.Limit.Holds(from, *candidate.Value, l.Metric.Better) {
		c.Result, c.Why = Violated, c.moved()+", limit "+l.Limit.Text
	}
	return c
}

// moved says what a metric did: "pending.p95 went from 40s to 1m0s (+20s, +50 %)".
func (c Check) moved() string {
	if c.Candidate == nil {
		return c.Metric + " is not reported"
	}
	if c.Baseline == nil {
		return fmt.Sprintf("%s is %s", c.Metric, metrics.Text(*c.Candidate, c.Unit))
	}
	if *c.Change == 0 {
		return fmt.Sprintf("%s stayed %s", c.Metric, metrics.Text(*c.Candidate, c.Unit))
	}
	values := metrics.Texts([]float64{*c.Baseline, *c.Candidate}, c.Unit)
	return fmt.Sprintf("%s went from %s to %s (%s)", c.Metric, values[0], values[1], c.change())
}

func (c Check) change() string {
	if c.Change == nil {
		return ""
	}
	if *c.Change == 0 {
		return "="
	}
	text := metrics.Signed(*c.Change, c.Unit)
	if c.Unit == metrics.Percent {
		text = strings.TrimSuffix(text, " %") + " points"
	}
	if c.Relative != nil {
		text += ", " + metrics.Signed(*c.Relative, metrics.Percent)
	}
	return text
}

// judgeTotal takes the scenarios that are on both sides together.
func judgeTotal(l MetricLimit, pairs []pair) Check {
	base, candidate := metrics.Value{Name: l.Metric.Name}, metrics.Value{Name: l.Metric.Name}
	var sums [2]float64
	var most string
	largest, measured := 0.0, 0
	for _, p := range pairs {
		a, b := p.base.Get(l.Metric.Name), p.candidate.Get(l.Metric.Name)
		if a.Value == nil && b.Value == nil {
			base.Missing, candidate.Missing = cmp.Or(base.Missing, a.Missing), cmp.Or(candidate.Missing, b.Missing)
			continue
		}
		if why := cannotAdd(a, b, candidate.Unit, measured > 0); why != "" {
			return Check{Metric: l.Metric.Name, Unit: b.Unit, Limit: l.Limit.Text, Line: l.Line, Result: Violated, Why: fmt.Sprintf("in scenario %s %s", p.name, why)}
		}
		measured++
		base.Unit, candidate.Unit = a.Unit, b.Unit
		if by := abs(*b.Value - *a.Value); by > largest {
			largest, most = by, p.name
		}
		for i, v := range []float64{*a.Value, *b.Value} {
			if l.Metric.Total == metrics.Largest {
				sums[i] = max(sums[i], v)
			} else {
				sums[i] += v
			}
		}
	}
	if measured > 0 {
		base.Value, candidate.Value = &sums[0], &sums[1]
	} else if candidate.Missing == "" {
		base.Missing, candidate.Missing = "no scenario is on both sides", "no scenario is on both sides"
	}
	c := judge(l, base, candidate)
	c.MostIn = most
	if c.Result == Violated && most != "" {
		c.Why += "; most of it in scenario " + most
	}
	if measured > 0 && measured < len(pairs) {
		c.Notes = append(c.Notes, fmt.Sprintf("not reported by %d of %s", len(pairs)-measured, plural.Of(len(pairs), "scenario")))
	}
	return c
}

// cannotAdd says why the values of a scenario do not go into a total; empty: they do.
func cannotAdd(base, candidate metrics.Value, unit string, others bool) string {
	switch {
	case candidate.Value == nil:
		return "the baseline has it, the candidate has not: " + candidate.Missing
	case base.Value == nil:
		return "the candidate has it, the baseline has not: " + base.Missing
	case base.Unit != candidate.Unit:
		return fmt.Sprintf("the baseline is in %s, the candidate in %s", base.Unit, candidate.Unit)
	case others && candidate.Unit != unit:
		return fmt.Sprintf("it is in %s, elsewhere in %s", candidate.Unit, unit)
	}
	return ""
}

func abs(v float64) float64 { return max(v, -v) }

// unmatched names patterns of the policy that no scenario matches: mistyped, they would loosen the gate in silence.
func unmatched(p *Policy, v *Verdict) []string {
	var out []string
	for _, o := range p.Overrides {
		if !slices.ContainsFunc(v.Scenarios, func(j Judgment) bool { return matches(o.Match, j.Scenario) }) {
			out = append(out, fmt.Sprintf("policy line %d: no scenario matches %s", o.Line, strings.Join(o.Match, ", ")))
		}
	}
	return out
}

// neverJudged is an error about limits that no scenario has a value for.
func neverJudged(p *Policy, v *Verdict) error {
	type key struct {
		line   int
		metric string
	}
	judged, why := map[key]bool{}, map[key]string{}
	for _, j := range append(slices.Clone(v.Scenarios), Judgment{Checks: v.Total}) {
		for _, c := range j.Checks {
			if c.Result == NotJudged {
				why[key{c.Line, c.Metric}] = c.Why
			} else {
				judged[key{c.Line, c.Metric}] = true
			}
		}
	}
	var errs []error
	for _, lists := range append([][]MetricLimit{p.Limits, p.Total}, overrideLimits(p)...) {
		for _, l := range lists {
			k := key{l.Line, l.Metric.Name}
			if text, ok := why[k]; ok && !judged[k] {
				errs = append(errs, fmt.Errorf("policy %s: line %d: %s could be judged in no scenario, so the limit would hold whatever happens: %s", p.Path, l.Line, l.Metric.Name, text))
			}
		}
	}
	return errors.Join(errs...)
}

func overrideLimits(p *Policy) [][]MetricLimit {
	var out [][]MetricLimit
	for _, o := range p.Overrides {
		out = append(out, o.Limits)
	}
	return out
}
