package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/scalehist/scalehist/report/metrics"
)

// The plot in pixels: the whole, without the list of the front under it, and the margins around the axes.
const (
	plotWidth, plotHeight        = 860, 480
	left, right, top, bottom     = 92, 24, 64, 60
	radius                       = 5
	charWidth, charHeight        = 7.2, 13 // of a digit in the font of labels, which is an estimate
	lineHeight                   = 20
	maxListed, maxNumbers, ticks = 12, 4, 6
)

// style holds for light and for dark pages; who looks at the file as an image gets that of their own setting.
const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-size:16px;font-weight:600}.muted{fill:#59636e}.number{font-size:12px}.front .number{font-weight:600}
.page{fill:#fff}.grid{stroke:#d8dee4}.axis{stroke:#818b98}.line{fill:none;stroke:#0969da;stroke-width:1.5}
.front circle{fill:#0969da;stroke:#fff}.beaten circle{fill:#afb8c1;stroke:#fff}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.muted{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#262c36}.axis{stroke:#656c76}
.line{stroke:#4493f8}.front circle{fill:#4493f8;stroke:#0d1117}.beaten circle{fill:#656c76;stroke:#0d1117}}
</style>
`

// ErrNothingToPlot: no row has both metrics.
var ErrNothingToPlot = errors.New("no replay has both metrics of the plot")

// mark is a place in the plot, with the rows that are there.
type mark struct {
	x, y  float64 // values
	px    float64 // pixels
	py    float64
	front bool
	rows  []Row
}

// label are the numbers of the rows: "1, 4".
func (m mark) label() string {
	var numbers []string
	for _, r := range m.rows {
		numbers = append(numbers, fmt.Sprint(r.Number))
	}
	if more := len(numbers) - maxNumbers; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(numbers[:maxNumbers], ", "), more)
	}
	return strings.Join(numbers, ", ")
}

// marks are the places of all rows that have both metrics, by x and y.
func (s *Sweep) marks() []mark {
	var out []mark
	for _, r := range s.Rows {
		x, _, okX := s.value(r, s.X)
		y, _, okY := s.value(r, s.Y)
		if !okX || !okY {
			continue
		}
		if at := slices.IndexFunc(out, func(m mark) bool { return m.x == x && m.y == y }); at >= 0 {
			out[at].rows = append(out[at].rows, r)
			continue
		}
		out = append(out, mark{x: x, y: y, front: r.Front, rows: []Row{r}})
	}
	slices.SortStableFunc(out, func(a, b mark) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	return out
}

// SVG is the plot: each row at its X and Y by its number, the front as a line of steps, and under it what the rows on the
// front were played with. Rows at one place share a mark. A row that is beaten has no number where there is no room for it.
func (s *Sweep) SVG() ([]byte, error) {
	marks := s.marks()
	if len(marks) == 0 {
		return nil, ErrNothingToPlot
	}
	unitX, unitY := s.unit(s.X), s.unit(s.Y)
	var xs, ys []float64
	for _, m := range marks {
		xs, ys = append(xs, m.x), append(ys, m.y)
	}
	ax := newAxis(xs, unitX, left, plotWidth-right)
	ay := newAxis(ys, unitY, plotHeight-bottom, top)
	for i := range marks {
		marks[i].px, marks[i].py = ax.at(marks[i].x), ay.at(marks[i].y)
	}
	list := s.frontList()
	height := plotHeight + lineHeight*(len(list)+1)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n", plotWidth, height, plotWidth, height)
	fmt.Fprintf(&b, "<title>%s</title>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", escape(s.title()), style, plotWidth, height)
	write(&b, "title", left, 28, "start", s.title())
	s.legend(&b)
	ax.draw(&b, true)
	ay.draw(&b, false)
	write(&b, "", (left+plotWidth-right)/2, plotHeight-12, "middle", s.axisLabel(s.X, unitX))
	fmt.Fprintf(&b, "<text transform=\"translate(18 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", (top+plotHeight-bottom)/2, escape(s.axisLabel(s.Y, unitY)))
	s.drawFront(&b, marks)
	for _, front := range []bool{false, true} { // the front is above
		for _, m := range marks {
			if m.front == front {
				fmt.Fprintf(&b, "<g class=\"%s\"><circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"><title>%s</title></circle></g>\n", class(front), m.px, m.py, radius, escape(m.tooltip()))
			}
		}
	}
	for _, l := range placed(marks) {
		fmt.Fprintf(&b, "<g class=\"%s\"><text class=\"number\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", class(l.front), l.x+labelGap, l.y+charHeight-3, escape(l.text))
	}
	for i, line := range list {
		write(&b, "muted", left, plotHeight+16+lineHeight*i, "start", line)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String()), nil
}

func (s *Sweep) title() string { return "Sweep of " + s.Scenario }

func class(front bool) string {
	if front {
		return "front"
	}
	return "beaten"
}

func escape(text string) string { return html.EscapeString(text) }

func write(b *strings.Builder, class string, x, y int, anchor, text string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", class, x, y, anchor, escape(text))
}

// legend says what the colours mean.
func (s *Sweep) legend(b *strings.Builder) {
	const y = 48
	fmt.Fprintf(b, "<g class=\"front\"><circle cx=\"%d\" cy=\"%d\" r=\"%d\"/></g>\n", left+radius, y-4, radius)
	write(b, "muted", left+16, y, "start", "front: no other row beats it")
	fmt.Fprintf(b, "<g class=\"beaten\"><circle cx=\"%d\" cy=\"%d\" r=\"%d\"/></g>\n", left+225, y-4, radius)
	write(b, "muted", left+236, y, "start", "beaten")
}

// drawFront draws a line along the front, as steps where less is better: what lies between two of its points is no better
// than the one before.
func (s *Sweep) drawFront(b *strings.Builder, marks []mark) {
	steps := s.lessIsBetter(s.X) && s.lessIsBetter(s.Y)
	var path strings.Builder
	for _, m := range marks {
		switch {
		case !m.front:
		case path.Len() == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", m.px, m.py)
		case steps:
			fmt.Fprintf(&path, "H%.1fV%.1f", m.px, m.py)
		default:
			fmt.Fprintf(&path, "L%.1f %.1f", m.px, m.py)
		}
	}
	fmt.Fprintf(b, "<path class=\"line\" d=\"%s\"/>\n", path.String())
}

// tooltip says what the rows of a mark were played with.
func (m mark) tooltip() string {
	var lines []string
	for _, r := range m.rows {
		lines = append(lines, fmt.Sprintf("%d: %s", r.Number, r.Label()))
	}
	return strings.Join(lines, "\n")
}

// frontList are the rows on the front, with what they were played with, as lines that fit under the plot.
func (s *Sweep) frontList() []string {
	var out []string
	for _, r := range s.Rows {
		if r.Front {
			line := fmt.Sprintf("%d  %s", r.Number, r.Label())
			if most := (plotWidth - left - right) / 7; text.StringWidth(line) > most {
				line = text.Trim(line, most-1) + "…"
			}
			out = append(out, line)
		}
	}
	if more := len(out) - maxListed; more > 1 {
		out = append(out[:maxListed], fmt.Sprintf("and %d more", more))
	}
	return out
}

func (s *Sweep) lessIsBetter(name string) bool {
	return slices.ContainsFunc(s.Metrics, func(m metrics.Metric) bool { return m.Name == name && m.Better == metrics.Less })
}

// unit is that of a metric in the rows: costs have the price table's currency.
func (s *Sweep) unit(name string) string {
	for _, r := range s.Rows {
		if _, unit, ok := s.value(r, name); ok {
			return unit
		}
	}
	return ""
}

// axisLabel is a metric with its unit: "cost (EUR)". The ticks of times have theirs.
func (s *Sweep) axisLabel(name, unit string) string {
	at := slices.IndexFunc(s.Metrics, func(m metrics.Metric) bool { return m.Name == name })
	if unit == "" || unit == metrics.Seconds || strings.Contains(s.Metrics[at].Title, strings.TrimSuffix(unit, "-hours")) {
		return s.Metrics[at].Title
	}
	return fmt.Sprintf("%s (%s)", s.Metrics[at].Title, unit)
}
