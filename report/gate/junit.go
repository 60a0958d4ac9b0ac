package gate

import (
	"strings"

	"github.com/scalehist/scalehist/report/ci"
)

// JUnit is the verdict as a JUnit file: a test case for each limit of each scenario; what could not be judged is skipped.
func (v *Verdict) JUnit() ([]byte, error) {
	suite := ci.Suite{Name: "scalehist gate"}
	check := func(class string, c Check, first string) {
		out := ci.Case{Class: class, Name: c.Metric + " " + c.Limit}
		switch c.Result {
		case Violated:
			out.Failure = ci.Fault(c.Why, strings.TrimSpace(strings.Join(append(c.Notes, first), "\n")))
		case NotJudged:
			out.Skipped = ci.Fault(c.Why, "")
		}
		suite.Add(out)
	}
	for _, j := range v.Scenarios {
		if j.Problem != "" {
			c := ci.Case{Class: j.Scenario, Name: "is on both sides, of one recording"}
			if j.Allowed {
				c.Skipped = ci.Fault(j.Problem, "")
			} else {
				c.Failure = ci.Fault(j.Problem, "")
			}
			suite.Add(c)
		}
		for _, c := range j.Checks {
			check(j.Scenario, c, j.apart())
		}
		if j.Repeat != nil {
			c := ci.Case{Class: j.Scenario, Name: "deterministic"}
			if j.Repeat.failed() {
				c.Failure = ci.Fault(j.Repeat.Why, j.Repeat.story())
			}
			suite.Add(c)
		}
	}
	for _, c := range v.Total {
		check("all scenarios", c, v.firstIn(c.MostIn))
	}
	return ci.Encode(suite)
}
