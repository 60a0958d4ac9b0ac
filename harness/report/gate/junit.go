package gate

import (
	"encoding/xml"
	"fmt"
	"strings"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *junitSkipped `xml:"skipped,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

// JUnit is the verdict as a JUnit file: a test case for each limit of each scenario; what could not be judged is skipped.
func (v *Verdict) JUnit() ([]byte, error) {
	suite := junitSuite{Name: "scalehist gate"}
	add := func(c junitCase) {
		suite.Tests++
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Skipped != nil {
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	check := func(class string, c Check, first string) {
		out := junitCase{Class: class, Name: c.Metric + " " + c.Limit}
		switch c.Result {
		case Violated:
			out.Failure = &junitFailure{clean(c.Why), clean(strings.TrimSpace(strings.Join(append(c.Notes, first), "\n")))}
		case NotJudged:
			out.Skipped = &junitSkipped{clean(c.Why)}
		}
		add(out)
	}
	for _, j := range v.Scenarios {
		if j.Problem != "" {
			c := junitCase{Class: j.Scenario, Name: "is on both sides, of one recording"}
			if j.Allowed {
				c.Skipped = &junitSkipped{clean(j.Problem)}
			} else {
				c.Failure = &junitFailure{Message: clean(j.Problem)}
			}
			add(c)
		}
		for _, c := range j.Checks {
			check(j.Scenario, c, j.apart())
		}
		if j.Repeat != nil {
			c := junitCase{Class: j.Scenario, Name: "deterministic"}
			if j.Repeat.failed() {
				c.Failure = &junitFailure{clean(j.Repeat.Why), clean(j.Repeat.story())}
			}
			add(c)
		}
	}
	for _, c := range v.Total {
		check("all scenarios", c, v.firstIn(c.MostIn))
	}
	b, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// clean takes out what XML cannot hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
