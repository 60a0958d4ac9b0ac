package ci

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// Suite is a JUnit test suite; Add counts. The types of Ginkgo's reporter would bring Ginkgo into the binary, and have no errors or lines.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Errors   int      `xml:"errors,attr"`
	Time     string   `xml:"time,attr,omitempty"`
	Cases    []Case   `xml:"testcase"`
}

// Case is a JUnit test case. File and Line are what GitLab and others link to.
type Case struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	File    string      `xml:"file,attr,omitempty"`
	Line    int         `xml:"line,attr,omitempty"`
	Time    string      `xml:"time,attr,omitempty"`
	Failure *CaseFault  `xml:"failure,omitempty"`
	Error   *CaseFault  `xml:"error,omitempty"`
	Skipped *CaseFault  `xml:"skipped,omitempty"`
	Output  *caseOutput `xml:"system-out,omitempty"`
}

// CaseFault says why a case did not pass: one line, and everything.
type CaseFault struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type caseOutput struct {
	Text string `xml:",chardata"`
}

// Fault is a CaseFault without what XML cannot hold.
func Fault(message, text string) *CaseFault { return &CaseFault{clean(message), clean(text)} }

// Add appends a case and counts it.
func (s *Suite) Add(c Case) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// Encode writes a suite, or anything else that XML can hold, as a file.
func Encode(v any) ([]byte, error) {
	b, err := xml.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write JUnit: %w", err)
	}
	return append([]byte(xml.Header), append(b, '\n')...), nil
}

// JUnit is the run as a JUnit file: a suite for each file, a test case for each scenario.
func (r Run) JUnit() ([]byte, error) {
	all := struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []*Suite
	}{Name: clean(r.Title)}
	seconds := map[*Suite]float64{}
	for _, o := range r.Outcomes {
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != clean(o.File) {
			all.Suites = append(all.Suites, &Suite{Name: clean(o.File)})
		}
		suite := all.Suites[len(all.Suites)-1]
		suite.Add(o.junit())
		seconds[suite] += o.Seconds
		suite.Time = fmt.Sprintf("%.3f", seconds[suite])
	}
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	}
	return Encode(all)
}

func (o Outcome) junit() Case {
	c := Case{Class: clean(o.File), Name: clean(o.Name), File: clean(o.File), Line: o.Line, Time: fmt.Sprintf("%.3f", o.Seconds)}
	fault := func() *CaseFault {
		var titles, texts []string
		for _, p := range o.Problems {
			title, _, _ := strings.Cut(p.Message, "\n")
			titles = append(titles, title)
			texts = append(texts, strings.TrimSuffix(p.At()+": "+p.Title, ": ")+"\n"+p.Message)
		}
		return Fault(strings.Join(titles, "; "), strings.Join(texts, "\n\n"))
	}
	switch o.Status {
	case Failed:
		c.Failure = fault()
	case Broken:
		c.Error = fault()
	case NotRun:
		c.Skipped = Fault("not run", "")
	}
	var out []string
	for _, line := range []struct{ head, text string }{{"", o.Summary}, {"artifacts: ", o.Artifacts}, {"re-run: ", o.Rerun}} {
		if line.text != "" {
			out = append(out, line.head+line.text)
		}
	}
	if len(out) > 0 {
		c.Output = &caseOutput{clean(strings.Join(out, "\n"))}
	}
	return c
}

// At is where the expectation is: "file:line:column".
func (p Problem) At() string {
	at := p.File
	for _, n := range []int{p.Line, p.Column} {
		if n > 0 {
			at += fmt.Sprintf(":%d", n)
		}
	}
	return at
}

// clean takes out what XML cannot hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, plaintext.Lines(s))
}
