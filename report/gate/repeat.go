package gate

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/compare"
)

// Repeat is what further runs of the candidate showed of a scenario: a candidate that is deterministic gives the same bytes
// each time, and one that is not was judged by a throw of dice.
type Repeat struct {
	// Runs counts the further runs. Why says what is wrong with the first that is not the candidate's; empty: all are.
	Runs int    `json:"runs"`
	Why  string `json:"why,omitempty"`
	// FirstDifference is the first decision in which two runs part, if a decision is what differs.
	FirstDifference *compare.Difference `json:"firstDifference,omitempty"`
}

// judgeRepeats holds the candidate's reports against those of further runs, scenario by scenario.
func judgeRepeats(p *Policy, v *Verdict, candidate []Scenario, repeats [][]Scenario) error {
	if len(repeats) == 0 {
		if p.Deterministic {
			return fmt.Errorf("policy %s: line %d: deterministic: there is only one run of the candidate, so nobody knows: replay it once more into another directory, and give that (--repeat DIR)", p.Path, p.DeterministicLine)
		}
		return nil
	}
	v.DeterministicLine = p.DeterministicLine
	for i := range v.Scenarios {
		j := &v.Scenarios[i]
		c := find(candidate, j.Scenario)
		if c == nil {
			continue // gone, which is said already
		}
		j.Repeat = &Repeat{Runs: len(repeats)}
		for n, again := range repeats {
			if again := find(again, j.Scenario); again != nil {
				var err error
				if j.Repeat.Why, j.Repeat.FirstDifference, err = differs(c.Report, again.Report); err != nil {
					return err
				}
			} else {
				j.Repeat.Why = "was not replayed again: the repeat has no report of it"
			}
			if j.Repeat.Why != "" {
				if len(repeats) > 1 {
					j.Repeat.Why += fmt.Sprintf(" (repeat %d of %d)", n+1, len(repeats))
				}
				break
			}
		}
	}
	return nil
}

// differs says how another run of the candidate is not the first; empty when it gave the same bytes.
func differs(one, two *scalehist.ReplayReport) (why string, first *compare.Difference, err error) {
	a, errA := report.Canonical(one)
	b, errB := report.Canonical(two)
	if err := errors.Join(errA, errB); err != nil {
		return "", nil, err
	}
	if one.Run != nil && two.Run != nil && !one.Run.StartedAt.IsZero() && one.Run.StartedAt.Equal(two.Run.StartedAt) && one.Run.Machine == two.Run.Machine {
		return "the repeat is a copy of the candidate's report, and no run of its own: replay again", nil, nil
	}
	if bytes.Equal(a, b) {
		return "", nil, nil
	}
	if why := compare.Comparable(one, two); why != "" {
		return "the repeat is of something else: " + why, nil, nil
	}
	if !compare.AskedAlike(one, two) {
		return "the repeat was asked for something else (flags, prices, delays or faults): replay it as the candidate was", nil, nil
	}
	first = compare.FirstDifference(one, two)
	switch {
	case first == nil:
		return "is not deterministic: two runs of the candidate decide alike, and their reports differ (" + strings.Join(report.ChangedParts(one, two), ", ") + ")", nil, nil
	case first.Kind == "reason":
		return "is not deterministic: two runs of the candidate do the same, and explain it otherwise", first, nil
	}
	return "is not deterministic: two runs of the candidate decide otherwise, so its numbers are those of one of them: what breaks ties, or is read in no order?", first, nil
}

// story states the first decision in which two runs part; empty when none does.
func (r *Repeat) story() string {
	if r == nil || r.FirstDifference == nil {
		return ""
	}
	return fmt.Sprintf("first decision that differs between two runs of the candidate, at %s:\n%s", r.FirstDifference.At(), indent(r.FirstDifference.Text("one run", "another"), "  "))
}

// failed says whether repeats found something wrong.
func (r *Repeat) failed() bool { return r != nil && r.Why != "" }
