package ci

import (
	"fmt"
	"strings"
)

// Status is how a scenario ended.
type Status string

// The statuses. Failed: it was replayed, and something was not as expected. Broken: it could not be replayed or judged.
const (
	Passed Status = "passed"
	Failed Status = "failed"
	Broken Status = "error"
	NotRun Status = "not run"
)

// Outcome is one scenario and what became of it.
type Outcome struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// File and Line are where it is written; Line counts from 1, 0 is unknown.
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	// Seconds of the wall clock it took.
	Seconds float64 `json:"seconds"`
	// Summary is what happened in a few words: "batch 0->3".
	Summary string `json:"summary,omitempty"`
	// Problems are what was not as expected, in the order of the file.
	Problems []Problem `json:"problems,omitempty"`
	// Artifacts is the directory of its files, Rerun the command that runs just this; either may be empty.
	Artifacts string `json:"artifacts,omitempty"`
	Rerun     string `json:"rerun,omitempty"`
}

// Problem is one thing that was not as expected, and where the expectation is.
type Problem struct {
	// Title names the expectation: "scaledUp".
	Title   string `json:"title"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Run is what one call judged: outcomes in the order they are listed.
type Run struct {
	// Title names it in summaries and JUnit: "scalehist test".
	Title    string
	Outcomes []Outcome
}

// Count is the number of outcomes of a status.
func (r Run) Count(s Status) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == s {
			n++
		}
	}
	return n
}

// Headline counts: "3 scenarios: 2 passed, 1 failed".
func (r Run) Headline() string {
	noun := "scenarios"
	if len(r.Outcomes) == 1 {
		noun = "scenario"
	}
	parts := []string{fmt.Sprintf("%d passed", r.Count(Passed))}
	for _, s := range []struct {
		status Status
		text   string
	}{{Failed, "%d failed"}, {Broken, "%d could not be judged"}, {NotRun, "%d not run"}} {
		if n := r.Count(s.status); n > 0 {
			parts = append(parts, fmt.Sprintf(s.text, n))
		}
	}
	return fmt.Sprintf("%d %s: %s", len(r.Outcomes), noun, strings.Join(parts, ", "))
}
