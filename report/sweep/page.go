package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// Text is the sweep as a page for a terminal.
func (s *Sweep) Text() string { return s.page(false, 0) }

// TextWithin is Text for a terminal so many columns wide: where the table is wider, names of columns are on several
// lines. 0 is no limit.
func (s *Sweep) TextWithin(width int) string { return s.page(false, width) }

// Markdown is the sweep as a page for a pull request.
func (s *Sweep) Markdown() string { return s.page(true, 0) }

func (s *Sweep) page(markdown bool, width int) string {
	var b strings.Builder
	if markdown {
		fmt.Fprintf(&b, "### Sweep of %s: %s\n\n", s.Scenario, plural.Of(len(s.Rows), "replay"))
	} else {
		fmt.Fprintf(&b, "sweep of %s: %s\n\n", s.Scenario, plural.Of(len(s.Rows), "replay"))
	}
	t := s.table(false)
	if markdown {
		fmt.Fprintf(&b, "%s\n", t.RenderMarkdown())
	} else {
		page := report.Trimmed(t.Render())
		if width > 0 && report.Width(page) > width {
			page = report.Trimmed(s.table(true).Render())
		}
		b.WriteString(page)
	}
	bullet := "  "
	if markdown {
		bullet = "- "
	}
	fmt.Fprintf(&b, "\n* no other row is as good in %s and %s and better in one of them\n", s.X, s.Y)
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s\n", title)
		if markdown {
			fmt.Fprintln(&b)
		}
		for _, l := range lines {
			fmt.Fprintf(&b, "%s%s\n", bullet, l)
		}
	}
	section("notes", s.Notes)
	section("failed", s.failures())
	section("warnings of the replays", s.warnings())
	out := b.String()
	if markdown {
		out = strings.Replace(out, "\n* no other", "\n\\* no other", 1)
	}
	return out
}

// parameters are the names of all settings, in the order they first appear.
func (s *Sweep) parameters() []string {
	var out []string
	for _, r := range s.Rows {
		for _, p := range r.Settings {
			if !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

// folded is a name of a column on several lines: it is cut at its dots and dashes.
var folded = strings.NewReplacer("-", "-\n", ".", ".\n")

func (s *Sweep) table(fold bool) table.Writer {
	name := func(n string) string { return n }
	if fold {
		name = folded.Replace
	}
	t := report.NewTable()
	params := s.parameters()
	head := table.Row{"", "#", "engine"}
	for _, p := range params {
		head = append(head, name(short(p, params)))
	}
	for _, m := range s.Metrics {
		head = append(head, name(m.Name))
	}
	t.AppendHeader(head)
	for _, r := range s.Rows {
		mark := ""
		if r.Front {
			mark = "*"
		}
		row := table.Row{mark, r.Number, r.Engine}
		for _, name := range params {
			row = append(row, cmp.Or(r.setting(name), "-"))
		}
		for i := range s.Metrics {
			row = append(row, r.cell(i))
		}
		t.AppendRow(row)
	}
	return t
}

func (r Row) cell(i int) string {
	switch {
	case r.Error != "":
		return "failed"
	case r.NotRun:
		return "not run"
	case r.Values[i].Value == nil:
		return "-"
	}
	return metrics.Text(*r.Values[i].Value, r.Values[i].Unit)
}

func (s *Sweep) failures() []string {
	return s.grouped(func(r Row) []string {
		if r.Error == "" {
			return nil
		}
		return []string{r.Error}
	})
}

func (s *Sweep) warnings() []string { return s.grouped(func(r Row) []string { return r.Warnings }) }

// grouped lists texts once, with the rows they are of: "rows 1, 3: text", or the text alone when all rows have it.
func (s *Sweep) grouped(of func(Row) []string) []string {
	var texts []string
	rows := map[string][]string{}
	for _, r := range s.Rows {
		for _, text := range of(r) {
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			rows[text] = append(rows[text], fmt.Sprint(r.Number))
		}
	}
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		switch n := len(rows[text]); {
		case n == len(s.Rows):
			out = append(out, text)
		case n == 1:
			out = append(out, "row "+rows[text][0]+": "+text)
		default:
			out = append(out, "rows "+strings.Join(rows[text], ", ")+": "+text)
		}
	}
	return out
}
