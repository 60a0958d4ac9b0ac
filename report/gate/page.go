package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/ci"
	"github.com/scalehist/scalehist/report/metrics"
)

// Text is the verdict as a page for a terminal. Checks that hold without any change are counted, unless all are asked for.
func (v *Verdict) Text(all bool) string { return v.TextWithin(all, 0) }

// TextWithin is Text for a terminal so many columns wide: a table that is wider becomes two lines a check. 0 is no limit.
func (v *Verdict) TextWithin(all bool, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "gate: %s against %s, policy %s\n\n", plaintext.Escape(v.Candidate), plaintext.Escape(v.Baseline), plaintext.Escape(v.Policy))
	t, quiet, rows := v.table(all, "")
	if rows > 0 {
		page := report.Trimmed(t.Render())
		if width > 0 && report.Width(page) > width {
			page = v.stacked(all)
		}
		b.WriteString(page)
	}
	if quiet > 0 {
		fmt.Fprintf(&b, "%s without any change\n", plural.Of(quiet, "limit")+plural.Verb(quiet, " holds", " hold"))
	}
	v.violations(func(scenario, what, first string) {
		fmt.Fprintf(&b, "\n%s: %s\n", scenario, what)
		if first != "" {
			b.WriteString(indent(first, "  ") + "\n")
		}
	})
	for _, n := range v.notes() {
		fmt.Fprintf(&b, "\nnote: %s\n", n)
	}
	fmt.Fprintf(&b, "\n%s\n", v.Headline())
	return b.String()
}

// Headline is the verdict in one line.
func (v *Verdict) Headline() string {
	unjudged := 0
	for _, j := range v.Scenarios {
		for _, c := range j.Checks {
			if c.Result == NotJudged {
				unjudged++
			}
		}
	}
	text := fmt.Sprintf("verdict: passed in %s", plural.Of(len(v.Scenarios), "scenario"))
	if !v.Passed {
		failed := 0
		for _, j := range v.Scenarios {
			if j.violated() {
				failed++
			}
		}
		text = fmt.Sprintf("verdict: FAILED: %s; %d of %s failed", plural.Of(v.Violations(), "violation"), failed, plural.Of(len(v.Scenarios), "scenario"))
		if slices.ContainsFunc(v.Total, func(c Check) bool { return c.Result == Violated }) {
			text += ", and a total"
		}
	}
	if unjudged > 0 {
		text += fmt.Sprintf("; %s could not be judged", plural.Of(unjudged, "limit"))
	}
	return text
}

// line is what the table has for a check or a problem of a scenario.
type line struct{ scenario, metric, baseline, candidate, change, limit, verdict string }

// table has a line for each check that did not hold unchanged; quiet counts the rest.
func (v *Verdict) table(all bool, fail string) (t table.Writer, quiet, rows int) {
	t = report.NewTable()
	t.AppendHeader(table.Row{"scenario", "metric", "baseline", "candidate", "change", "limit", "verdict"})
	lines, quiet := v.lines(all, fail)
	for _, l := range lines {
		t.AppendRow(table.Row{l.scenario, l.metric, l.baseline, l.candidate, l.change, l.limit, l.verdict})
	}
	return t, quiet, len(lines)
}

// stacked is the table for narrow terminals.
func (v *Verdict) stacked(all bool) string {
	var b strings.Builder
	lines, _ := v.lines(all, "")
	for _, l := range lines {
		fmt.Fprintf(&b, "%s: %s: %s\n", l.verdict, l.scenario, l.metric)
		if l.limit != "" && l.candidate != "" {
			fmt.Fprintf(&b, "  %s -> %s (%s), limit %s\n", l.baseline, l.candidate, cmp.Or(l.change, "-"), l.limit)
		}
	}
	return b.String()
}

// lines are the checks that did not hold unchanged, or all; quiet counts the rest.
func (v *Verdict) lines(all bool, fail string) (out []line, quiet int) {
	add := func(scenario string, c Check) {
		if !all && c.Result == Passed && (c.Change == nil || *c.Change == 0) {
			quiet++
			return
		}
		verdict := string(c.Result)
		if c.Result == Violated {
			verdict = fail + strings.ToUpper(verdict)
		}
		values := beside(c.Unit, c.Baseline, c.Candidate)
		out = append(out, line{scenario, c.Metric, values[0], values[1], c.change(), c.Limit, verdict})
	}
	for _, j := range v.Scenarios {
		if j.Problem != "" {
			verdict := fail + "VIOLATED"
			if j.Allowed {
				verdict = "allowed"
			}
			out = append(out, line{scenario: j.Scenario, metric: j.Problem, verdict: verdict})
		}
		for _, c := range j.Checks {
			add(j.Scenario, c)
		}
		const deterministic, same = "deterministic", "same every time"
		switch {
		case j.Repeat.failed():
			out = append(out, line{scenario: j.Scenario, metric: deterministic, limit: same, verdict: fail + "VIOLATED"})
		case j.Repeat != nil && all:
			out = append(out, line{scenario: j.Scenario, metric: deterministic, limit: same, verdict: string(Passed)})
		case j.Repeat != nil:
			quiet++
		}
	}
	for _, c := range v.Total {
		add("(total)", c)
	}
	return out, quiet
}

// beside prints two numbers that are beside each other, "-" for one that is not known.
func beside(unit string, a, b *float64) [2]string {
	out := [2]string{"-", "-"}
	switch {
	case a != nil && b != nil:
		out = [2]string(metrics.Texts([]float64{*a, *b}, unit))
	case a != nil:
		out[0] = metrics.Text(*a, unit)
	case b != nil:
		out[1] = metrics.Text(*b, unit)
	}
	return out
}

// violations calls each for every scenario that fails, with what is violated and the first decision that differs.
func (v *Verdict) violations(each func(scenario, what, first string)) {
	for _, j := range v.Scenarios {
		if what := j.what(); what != "" {
			each(j.Scenario, what, j.first())
		}
	}
	for _, c := range v.Total {
		if c.Result == Violated {
			each("(total)", c.Why, v.firstIn(c.MostIn))
		}
	}
}

// firstIn names the first decision that differs in a scenario, for a total; empty when the scenario's own violation does.
func (v *Verdict) firstIn(scenario string) string {
	for _, j := range v.Scenarios {
		if j.Scenario == scenario && !j.violated() {
			return "in " + scenario + ", " + j.first()
		}
		if j.Scenario == scenario {
			return "the first decision that differs in " + scenario + " is above"
		}
	}
	return ""
}

// what says what is violated in a scenario; empty when nothing is.
func (j Judgment) what() string {
	var parts []string
	if j.Problem != "" && !j.Allowed {
		parts = append(parts, j.Problem)
	}
	for _, c := range j.Checks {
		if c.Result == Violated {
			parts = append(parts, strings.Join(append([]string{c.Why}, c.Notes...), "; "))
		}
	}
	if j.Repeat.failed() {
		parts = append(parts, j.Repeat.Why)
	}
	return strings.Join(parts, "\n  ")
}

// first says what is behind the violations of a scenario that could be compared: the first decision in which the
// candidate parts from the baseline when a limit is violated, and the first in which it parts from itself.
func (j Judgment) first() string {
	parts := []string{j.Repeat.story()}
	if !j.Repeat.failed() || slices.ContainsFunc(j.Checks, func(c Check) bool { return c.Result == Violated }) {
		parts = []string{j.apart(), j.Repeat.story()}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n")
}

// apart names the first decision in which the candidate parts from the baseline.
func (j Judgment) apart() string {
	switch d := j.FirstDifference; {
	case j.Problem != "":
		return ""
	case d == nil:
		return "every decision is the same: what changed is what was asked for (prices, delays, faults) or what nodes and pods did with it"
	case d.Kind == "reason":
		return fmt.Sprintf("both did the same; the first decision that explains it otherwise, at %s:\n%s", d.At(), indent(d.Text("baseline", "candidate"), "  "))
	default:
		return fmt.Sprintf("first decision that differs, at %s:\n%s", d.At(), indent(d.Text("baseline", "candidate"), "  "))
	}
}

// notes are the verdict's, and those of checks that were not violated.
func (v *Verdict) notes() []string {
	out := append([]string{}, v.Notes...)
	add := func(scenario string, checks []Check) {
		for _, c := range checks {
			if c.Result == NotJudged {
				out = append(out, fmt.Sprintf("%s: %s not judged: %s", scenario, c.Metric, c.Why))
				continue
			}
			for _, n := range c.Notes {
				if c.Result != Violated {
					out = append(out, fmt.Sprintf("%s: %s: %s", scenario, c.Metric, n))
				}
			}
		}
	}
	for _, j := range v.Scenarios {
		add(j.Scenario, j.Checks)
	}
	add("(total)", v.Total)
	return out
}

// Markdown is the verdict as a summary for a pull request.
func (v *Verdict) Markdown() string {
	var b strings.Builder
	word := "✅ passed"
	if !v.Passed {
		word = "❌ failed"
	}
	fmt.Fprintf(&b, "## Autoscaling gate: %s\n\n%s. Candidate `%s`, baseline `%s`, policy `%s`.\n\n", word, strings.TrimPrefix(v.Headline(), "verdict: "),
		plaintext.Escape(v.Candidate), plaintext.Escape(v.Baseline), plaintext.Escape(v.Policy))
	t, quiet, rows := v.table(false, "❌ ")
	if rows > 0 {
		b.WriteString(t.RenderMarkdown() + "\n\n")
	}
	if quiet > 0 {
		fmt.Fprintf(&b, "%s without any change.\n\n", plural.Of(quiet, "limit")+plural.Verb(quiet, " holds", " hold"))
	}
	v.violations(func(scenario, what, first string) {
		fmt.Fprintf(&b, "<details open><summary><b>%s</b></summary>\n\n", html(scenario))
		for line := range strings.SplitSeq(what, "\n") {
			fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(line))
		}
		if first != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", first)
		}
		b.WriteString("\n</details>\n\n")
	})
	for _, n := range v.notes() {
		fmt.Fprintf(&b, "> note: %s\n\n", n)
	}
	return b.String()
}

func html(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// GitHub is the verdict as annotations of a GitHub workflow: one error a violated scenario, at the line of the policy, a
// warning for each note, and the headline.
func (v *Verdict) GitHub() string {
	var b strings.Builder
	for _, j := range v.Scenarios {
		what := j.what()
		if what == "" {
			continue
		}
		line := 0
		for _, c := range j.Checks {
			if c.Result == Violated {
				line = cmp.Or(line, c.Line)
			}
		}
		if j.Repeat.failed() {
			line = cmp.Or(line, v.DeterministicLine)
		}
		v.annotate(&b, "error", line, "gate "+j.Scenario, strings.TrimSpace(what+"\n"+j.first()))
	}
	for _, c := range v.Total {
		if c.Result == Violated {
			v.annotate(&b, "error", c.Line, "gate, all scenarios", strings.TrimSpace(c.Why+"\n"+v.firstIn(c.MostIn)))
		}
	}
	for _, n := range v.notes() {
		v.annotate(&b, "warning", 0, "gate", n)
	}
	fmt.Fprintf(&b, "%s\n", v.Headline())
	return b.String()
}

func (v *Verdict) annotate(b *strings.Builder, level ci.Level, line int, title, message string) {
	fmt.Fprintln(b, ci.Annotation{Level: level, File: v.Policy, Line: line, Title: title, Message: message})
}

func indent(s, by string) string {
	return by + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}
