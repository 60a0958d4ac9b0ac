package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Options choose what Check looks at.
type Options struct {
	// Window chooses the part of the history, given its first and last instant; nil is all of it.
	Window func(first, last time.Time) (from, to time.Time, err error)
	// Disable names rules to leave out, by code.
	Disable []string
	// MinSeverity leaves out findings that are milder; empty keeps all.
	MinSeverity Severity
}

// Report is what Check found in one file.
type Report struct {
	File string `json:"file"`
	// From and To are the window, zero when the file could not be read.
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
	// First is where the history begins: offsets count from there.
	First    time.Time `json:"first,omitzero"`
	Errors   int       `json:"errors"`
	Warnings int       `json:"warnings"`
	Infos    int       `json:"infos"`
	// Findings are ordered by severity, code, instant, object and message.
	Findings []Finding `json:"findings"`
}

// Worst is the worst severity found; false if nothing was.
func (r *Report) Worst() (Severity, bool) {
	if len(r.Findings) == 0 {
		return "", false
	}
	return r.Findings[0].Severity, true
}

// Check runs the rules over the history at path. What is wrong with the history is a finding; an error is what kept
// Check from looking: no file there, an unknown code, a window that is not in it.
func Check(ctx context.Context, path string, o Options) (*Report, error) {
	disabled := map[string]bool{}
	for _, code := range o.Disable {
		rule, err := FindRule(code)
		if err != nil {
			return nil, err
		}
		disabled[rule.Code] = true
	}
	in, err := load(ctx, path, o.Window)
	if err != nil {
		return nil, err
	}
	report := &Report{File: path, From: in.From, To: in.To, First: in.First, Findings: []Finding{}}
	for _, rule := range Rules() {
		if disabled[rule.Code] || !rule.onFile && !in.readable() {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("check %s: %w", path, err)
		}
		found, err := rule.run(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("check %s: rule %s: %w", path, rule.Code, err)
		}
		for _, f := range found {
			f.Code, f.Title, f.Advice = rule.Code, rule.Title, rule.Advice
			if f.Severity == "" {
				f.Severity = rule.Severity
			}
			f.At = f.At.UTC()
			report.add(f, o.MinSeverity)
		}
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(a.Code, b.Code), a.At.Compare(b.At),
			cmp.Compare(a.Object, b.Object), cmp.Compare(a.Message, b.Message))
	})
	return report, nil
}

func (r *Report) add(f Finding, least Severity) {
	if least != "" && !f.Severity.AtLeast(least) {
		return
	}
	switch f.Severity {
	case Error:
		r.Errors++
	case Warning:
		r.Warnings++
	case Info:
		r.Infos++
	}
	r.Findings = append(r.Findings, f)
}
