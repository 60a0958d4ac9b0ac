package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Severity says how bad a finding is for a replay.
type Severity string

// The severities, mildest last.
const (
	// Error: the history cannot be replayed, or a replay of it means nothing.
	Error Severity = "error"
	// Warning: a replay runs, and something in it is guessed or missing.
	Warning Severity = "warning"
	// Info: worth knowing when a replay differs.
	Info Severity = "info"
)

// Severities lists them, worst first.
func Severities() []Severity { return []Severity{Error, Warning, Info} }

// rank orders severities: 0 is the worst.
func (s Severity) rank() int { return slices.Index(Severities(), s) }

// AtLeast says whether s is as bad as o or worse.
func (s Severity) AtLeast(o Severity) bool { return s.rank() <= o.rank() }

// ParseSeverity reads one of the names.
func ParseSeverity(v string) (Severity, error) {
	if s := Severity(v); slices.Contains(Severities(), s) {
		return s, nil
	}
	return "", fmt.Errorf("must be error, warning or info")
}

// Finding is one thing a rule found.
type Finding struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	// At is the instant of the history it is about, zero if it is about none.
	At time.Time `json:"at,omitzero"`
	// Object is "Kind namespace/name" or "Kind name", empty if it is about no single object.
	Object  string `json:"object,omitempty"`
	Message string `json:"message"`
	// Advice says what to do.
	Advice string `json:"advice"`
}

// Rule is one check.
type Rule struct {
	// Code is stable: a rule keeps its code for ever, and a code is never used again.
	Code string
	// Title is a few words, without a verb where one can do without.
	Title string
	// Severity is that of its findings; a finding may be milder.
	Severity Severity
	// Doc says what is checked and what it means for a replay, Advice what to do.
	Doc, Advice string

	// onFile rules look at the file; the others at a history that could be read.
	onFile bool
	run    func(ctx context.Context, in *Input) ([]Finding, error)
}

// FindRule returns the rule with the code, in any case of letters.
func FindRule(code string) (Rule, error) {
	rules := Rules()
	i := slices.IndexFunc(rules, func(r Rule) bool { return strings.EqualFold(r.Code, strings.TrimSpace(code)) })
	if i < 0 {
		return Rule{}, fmt.Errorf("there is no rule %q: codes go from %s to %s, docs/doctor.md lists them", code, rules[0].Code, rules[len(rules)-1].Code)
	}
	return rules[i], nil
}
