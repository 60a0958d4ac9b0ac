// Package curveplot draws curves over time as SVG: panels under each other on one time axis, with lines, bands between two lines, and
// marks. The same chart gives the same bytes. It knows nothing of what the curves are of.
package curveplot

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"time"
)

// Chart is panels on one time axis.
type Chart struct {
	Title    string
	From, To time.Time
	// Counts: the axis is not of time but of whole numbers, each a second after the epoch.
	Counts bool
	Panels []Panel
}

// Panel has its own scale, from 0 to what is highest in it.
type Panel struct {
	Title string
	// Bytes shows values in Ki, Mi and Gi.
	Bytes bool
	Lines []Line
	Marks []Mark
}

// Line is a curve. Its Class says how it is drawn: one of Classes.
type Line struct {
	Name, Class string
	Points      []Point
}

// Point is a value from an instant on; NaN is a gap.
type Point struct {
	At    time.Time
	Value float64
}

// Mark is an instant at which something happened, with what is shown when one points at it.
type Mark struct {
	At          time.Time
	Class, Text string
}

// Style is what the classes look like, in light and dark; a page has it once.
const Style = `.chart text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#59636e}.chart .title{font-weight:600;fill:#1f2328}
.chart .page{fill:#fff}.chart .grid{stroke:#d8dee4}.chart .axis{stroke:#818b98}.chart path{fill:none;stroke-width:1.5}
.chart .usage{stroke:#0969da}.chart .most{stroke:#0969da;stroke-opacity:.35}.chart .request{stroke:#cf222e;stroke-width:2}
.chart .target{stroke:#8250df;stroke-dasharray:4 3}.chart .bound{stroke:#8250df;stroke-opacity:.4}
.chart .oom{stroke:#cf222e;stroke-width:1.5}.chart .evict{stroke:#9a6700}.chart .resize{stroke:#1a7f37}
@media (prefers-color-scheme:dark){.chart text{fill:#9198a1}.chart .title{fill:#f0f6fc}.chart .page{fill:#0d1117}.chart .grid{stroke:#262c36}
.chart .axis{stroke:#656c76}.chart .usage,.chart .most{stroke:#4493f8}.chart .request,.chart .oom{stroke:#f85149}.chart .target,.chart .bound{stroke:#ab7df8}
.chart .evict{stroke:#d29922}.chart .resize{stroke:#3fb950}}
`

// Classes are those of lines and marks that Style knows.
var Classes = []string{"usage", "most", "request", "target", "bound", "oom", "evict", "resize"}

// The chart in pixels.
const (
	width, panelHeight, gap  = 960, 170, 46
	left, right, top, bottom = 70, 12, 30, 26
	plot                     = width - left - right
	levels, wantedTicks      = 4, 8
	legendX                  = 150
)

// SVG draws the chart. Standalone, it has its style in it.
func (c *Chart) SVG(standalone bool) string {
	var b strings.Builder
	height := top + len(c.Panels)*(panelHeight+gap) - gap + bottom
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>%s</title>\n", width, height, html.EscapeString(c.Title))
	if standalone {
		fmt.Fprintf(&b, "<style>%s</style>\n", Style)
	}
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height)
	for i := range c.Panels {
		c.panel(&b, &c.Panels[i], float64(top+i*(panelHeight+gap)))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (c *Chart) x(t time.Time) float64 {
	return left + plot*float64(t.Sub(c.From))/float64(max(1, c.To.Sub(c.From)))
}

func (c *Chart) panel(b *strings.Builder, p *Panel, y float64) {
	highest := 0.0
	for _, l := range p.Lines {
		for _, v := range l.Points {
			if v.Value > highest { // of NaN this is false
				highest = v.Value
			}
		}
	}
	unit := scale(highest, p.Bytes)
	full := math.Max(1, math.Ceil(highest/unit-1e-9)) * unit
	at := func(v float64) float64 { return y + panelHeight*(1-v/full) }
	fmt.Fprintf(b, "<text class=\"title\" x=\"%d\" y=\"%.0f\">%s</text>\n", left, y-10, html.EscapeString(p.Title))
	seen := map[string]bool{}
	place := 0
	for _, l := range p.Lines {
		if !seen[l.Name] {
			seen[l.Name] = true
			fmt.Fprintf(b, "<path class=\"%s\" d=\"M%d %.0fh18\"/><text x=\"%d\" y=\"%.0f\">%s</text>\n", l.Class, left+legendX+place, y-14, left+legendX+place+23, y-10, html.EscapeString(l.Name))
			place += 45 + 7*len(l.Name)
		}
	}
	for v := 0.0; v <= full*(1+1e-9); v += unit {
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left, at(v), plot, left-6, at(v)+4, Text(v, p.Bytes))
	}
	step := tick(c.To.Sub(c.From))
	if c.Counts {
		step = time.Duration(max(1, scale(c.To.Sub(c.From).Seconds()/2, false))) * time.Second
	}
	for t := c.From.Truncate(step).Add(step); t.Before(c.To); t = t.Add(step) {
		label := clock(t, step)
		if c.Counts {
			label = strconv.FormatInt(t.Unix(), 10)
		}
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %.1fv%d\"/><text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", c.x(t), y, panelHeight, c.x(t), y+panelHeight+16, label)
	}
	for _, m := range p.Marks {
		fmt.Fprintf(b, "<path class=\"%s\" d=\"M%.1f %.1fv%d\"><title>%s</title></path>\n", m.Class, c.x(m.At), y, panelHeight, html.EscapeString(m.Text))
	}
	for _, l := range p.Lines {
		fmt.Fprintf(b, "<path class=\"%s\" d=\"%s\"/>\n", l.Class, c.path(l.Points, at))
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %.1fv%dh%d\"/>\n", left, y, panelHeight, plot)
}

// path draws steps: a value holds until the next.
func (c *Chart) path(points []Point, at func(float64) float64) string {
	var b strings.Builder
	last, open := math.NaN(), false
	for _, p := range points {
		if open && (math.IsNaN(p.Value) || p.Value != last) {
			fmt.Fprintf(&b, "H%.1f", c.x(p.At))
		}
		switch {
		case math.IsNaN(p.Value):
			open = false
		case !open:
			fmt.Fprintf(&b, "M%.1f %.1f", c.x(p.At), at(p.Value))
			open = true
		case p.Value != last:
			fmt.Fprintf(&b, "V%.1f", at(p.Value))
		}
		last = p.Value
	}
	if open {
		fmt.Fprintf(&b, "H%.1f", c.x(c.To))
	}
	return b.String()
}

// scale is the distance of lines of the grid: 1, 2 or 5 times a power of ten, or a power of two of bytes.
func scale(highest float64, bytes bool) float64 {
	if !(highest > 0) {
		return 1
	}
	want := highest / levels
	if bytes {
		return math.Exp2(math.Ceil(math.Log2(want)))
	}
	power := math.Pow(10, math.Floor(math.Log10(want)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= want*(1-1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// Text is a value as axes and tables have it: "0.25", "512Mi".
func Text(v float64, bytes bool) string {
	unit := ""
	if bytes {
		for _, u := range []string{"Ki", "Mi", "Gi", "Ti"} {
			if math.Abs(v) < 1024 {
				break
			}
			v, unit = v/1024, u
		}
	}
	digits := 3
	if math.Abs(v) >= 1000 {
		digits = -1
		v = math.Round(v)
	}
	return strconv.FormatFloat(v, 'g', digits, 64) + unit
}

var ticks = []time.Duration{time.Second, 10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour}

func tick(length time.Duration) time.Duration {
	for _, t := range ticks {
		if length/t <= wantedTicks {
			return t
		}
	}
	return length / wantedTicks
}

func clock(t time.Time, step time.Duration) string {
	t = t.UTC()
	switch {
	case step >= 24*time.Hour:
		return t.Format("01-02")
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format("01-02")
	case step < time.Minute:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}
