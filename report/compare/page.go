package compare

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
)

// page writes a comparison in one of two dialects.
type page struct {
	b        strings.Builder
	markdown bool
	width    int // of the terminal; 0 is no limit
}

// Text is the comparison as a page for a terminal.
func (c *Comparison) Text() string { return c.page(&page{}) }

// TextWithin is Text for a terminal so many columns wide: a table that is wider has a line a side in place of columns.
func (c *Comparison) TextWithin(width int) string { return c.page(&page{width: width}) }

// Markdown is the comparison as a page for a pull request.
func (c *Comparison) Markdown() string { return c.page(&page{markdown: true}) }

func (c *Comparison) page(p *page) string {
	p.sides(c)
	p.settings(c)
	p.list("Notes", c.Notes)
	p.heading("Node groups")
	p.table(c.rows("node group", c.Groups, true))
	if len(c.Zones) > 1 {
		p.heading("Zones")
		p.table(c.rows("zone", c.Zones, false))
	}
	if len(c.Workloads) > 0 {
		p.heading("Workloads")
		p.table(c.rows("workload", c.Workloads, false))
	}
	p.heading("Metrics")
	p.table(c.metricTable())
	p.missing(c)
	if !c.Sides[0].Playback.SingleMoments() {
		p.curves(c)
	}
	for _, pair := range c.Pairs {
		p.pair(pair)
	}
	p.inputs(c)
	return p.b.String()
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

func (p *page) heading(text string) {
	if p.markdown {
		p.printf("\n### %s\n\n", text)
		return
	}
	p.printf("\n%s\n", strings.ToLower(text))
}

func (p *page) table(s sheet) {
	if p.markdown {
		p.printf("%s\n", s.table().RenderMarkdown())
		return
	}
	width := p.width
	if width > 0 {
		width -= len(p.indent())
	}
	for line := range strings.Lines(s.render(width)) {
		p.printf("  %s", line)
	}
}

func (p *page) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	p.heading(title)
	for _, l := range lines {
		if p.markdown {
			p.printf("- %s\n", l)
		} else {
			p.printf("  %s\n", l)
		}
	}
}

// block is preformatted text.
func (p *page) block(text string) {
	if p.markdown {
		p.printf("```\n%s\n```\n", strings.TrimRight(text, "\n"))
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.printf("    %s\n", line)
	}
}

func (p *page) sides(c *Comparison) {
	if p.markdown {
		p.printf("## Comparison of %s\n\n", plural.Of(len(c.Sides), "replay"))
	} else {
		p.printf("comparison of %s\n", plural.Of(len(c.Sides), "replay"))
	}
	t := sheet{head: []string{"report", "scenario", "autoscaler", "playback", "from", "length"}}
	for i, s := range c.Sides {
		label := s.Label
		if i == 0 {
			label += " (baseline)"
		}
		t.rows = append(t.rows, sheetRow{own: []string{label, s.Scenario, s.Autoscaler, string(s.Playback), stamp(s.StartTime), s.Length.String()}})
	}
	p.table(t)
}

func (p *page) settings(c *Comparison) {
	if len(c.Settings) == 0 {
		return
	}
	p.heading("Asked for differently")
	t := c.sheet(nil, "what")
	for _, s := range c.Settings {
		row := sheetRow{own: []string{s.What}}
		for _, v := range s.Values {
			row.sides = append(row.sides, []string{strings.ReplaceAll(v, "\n", " ")})
		}
		t.rows = append(t.rows, row)
	}
	p.table(t)
}

// missing gives notes of metrics, and why numbers are not there; metrics with the same reason together.
func (p *page) missing(c *Comparison) {
	var notes []string
	for _, m := range c.Metrics {
		for _, n := range m.Notes {
			notes = append(notes, m.Name+": "+n)
		}
	}
	p.list("Beside the numbers", notes)
	type reason struct {
		why   string
		sides []string
		names []string
	}
	var reasons []*reason
	for _, m := range c.Metrics {
		bySide := map[string][]string{}
		var order []string
		for i, v := range m.Values {
			if v.Missing == "" {
				continue
			}
			if bySide[v.Missing] == nil {
				order = append(order, v.Missing)
			}
			bySide[v.Missing] = append(bySide[v.Missing], c.Sides[i].Label)
		}
		for _, why := range order {
			var found *reason
			for _, r := range reasons {
				if r.why == why && strings.Join(r.sides, "\x00") == strings.Join(bySide[why], "\x00") {
					found = r
				}
			}
			if found == nil {
				found = &reason{why: why, sides: bySide[why]}
				reasons = append(reasons, found)
			}
			found.names = append(found.names, m.Name)
		}
	}
	var lines []string
	for _, r := range reasons {
		where := ""
		if len(r.sides) < len(c.Sides) {
			where = " in " + strings.Join(r.sides, ", ")
		}
		lines = append(lines, fmt.Sprintf("%s%s: %s", report.Some(r.names, 8), where, r.why))
	}
	p.list("Not in the reports", lines)
}

func (p *page) pair(pair Pair) {
	p.heading(fmt.Sprintf("First differing decision of %s and %s", pair.Baseline, pair.Side))
	d := pair.FirstDifference
	if d == nil {
		p.printf("%sNone: every decision is the same.\n", p.indent())
		return
	}
	what := "they did the same, and explain it differently"
	if d.Controller != "" {
		what += fmt.Sprintf(" (%s)", d.Controller)
	}
	if d.Kind == "action" {
		what = ""
		if d.Controller != "" {
			what = fmt.Sprintf("a decision of %s; ", d.Controller)
		}
		what += fmt.Sprintf("%s: %g, %s: %g", "decisions.changed", *pair.Changed.Get("decisions.changed").Value, "node-groups.changed", *pair.Changed.Get("node-groups.changed").Value)
	}
	p.printf("%sAt %s; %s.\n", p.indent(), d.At(), what)
	p.block(pair.Text())
}

func (p *page) indent() string {
	if p.markdown {
		return ""
	}
	return "  "
}

// Text is what both sides decided at the first difference, for a message; empty without one.
func (pair Pair) Text() string {
	if pair.FirstDifference == nil {
		return ""
	}
	return pair.FirstDifference.Text(pair.Baseline, pair.Side)
}

// Text is what both sides decided, under the names given.
func (d *Difference) Text(baseline, side string) string {
	var b strings.Builder
	for _, s := range []struct {
		name string
		d    Decided
	}{{baseline, d.Baseline}, {side, d.Side}} {
		if s.d.Acted {
			fmt.Fprintf(&b, "%s:\n", s.name) // the explanation begins with the summary
		} else {
			fmt.Fprintf(&b, "%s: %s\n", s.name, s.d.Summary)
		}
		for line := range strings.SplitSeq(s.d.Explain, "\n") {
			if line != "" {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

func (p *page) inputs(c *Comparison) {
	p.heading("Inputs")
	t := c.sheet(nil, "input")
	for _, in := range c.Inputs {
		row := sheetRow{own: []string{in.Name}}
		for i, h := range in.SHA256 {
			text := short(h)
			if i > 0 && h == in.SHA256[0] {
				text = "="
			}
			row.sides = append(row.sides, []string{text})
		}
		t.rows = append(t.rows, row)
	}
	p.table(t)
}
