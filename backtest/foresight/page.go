package foresight

import (
	"html/template"
	"io"
	"math"
	"time"

	"github.com/scalehist/scalehist/internal/curvepage"
	"github.com/scalehist/scalehist/internal/curveplot"
	"github.com/scalehist/scalehist/internal/plaintext"
)

const (
	// maxCharts bounds the series of a page that are drawn, wide how many steps of a curve are drawn.
	maxCharts = 50
	wide      = 900
)

// page is what the template shows.
type page struct {
	*Report
	Charts []curvepage.Chart
	Left   int
	Text   string
}

var body = curvepage.Body(`<h1>Forecasts of {{.Source}}</h1>
<p>{{.From.UTC.Format "2006-01-02 15:04"}} to {{.To.UTC.Format "2006-01-02 15:04"}} UTC, values every {{.Step}}. Predicted is the most within {{.Lead}}, with a season of {{.Season}}; each forecast has seen what came before.</p>
{{template "charts" .Charts}}{{if .Left}}<p>{{.Left}} more series are left out: choose fewer with --workload or --metric.</p>
{{end}}<p>* the smallest mean error.</p>
{{template "notes" .Notes}}{{template "numbers" .Text}}`)

// HTML writes the report as one page for a browser; curves are in it with Options.Curves.
func (r *Report) HTML(w io.Writer) error {
	r = plaintext.Values(r)
	p := page{Report: r, Text: r.Text()}
	for i := range r.Series {
		s := &r.Series[i]
		if len(p.Charts) >= maxCharts {
			p.Left++
			continue
		}
		table := curvepage.Table{Head: head}
		for k := range s.Forecasts {
			table.Rows = append(table.Rows, curvepage.Row{Mark: mark(&s.Forecasts[k]), Best: s.Forecasts[k].Best, Cells: s.cells(&s.Forecasts[k])})
		}
		p.Charts = append(p.Charts, curvepage.Chart{Title: s.Series, Open: i < 3, Table: &table, SVG: template.HTML(r.Chart(i).SVG(false))})
	}
	return curvepage.Write(w, p.Source+" · forecasts", body, p)
}

// Chart draws a series: for each forecast what it predicted over what came, with the moments that it missed most.
func (r *Report) Chart(series int) *curveplot.Chart {
	s := &r.Series[series]
	out := &curveplot.Chart{Title: "Forecasts of " + s.Series, From: r.From, To: r.To}
	came := r.curve(s.came)
	for k := range s.Forecasts {
		f := &s.Forecasts[k]
		panel := curveplot.Panel{Title: f.Method, Bytes: s.bytes, Lines: []curveplot.Line{{Name: "came", Class: "usage", Points: came},
			{Name: "predicted", Class: "request", Points: r.curve(s.predicted[k])}}}
		for _, one := range []struct {
			miss        *Miss
			class, what string
		}{{f.WorstLow, "oom", "worst too low"}, {f.WorstHigh, "evict", "worst too high"}} {
			if one.miss != nil {
				panel.Marks = append(panel.Marks, curveplot.Mark{At: one.miss.At, Class: one.class, Text: one.what + ": " + s.miss(one.miss)})
			}
		}
		out.Panels = append(out.Panels, panel)
	}
	return out
}

// curve has the highest of a number of moments in each stretch that is drawn.
func (r *Report) curve(values []float64) []curveplot.Point {
	stretch := (len(values) + wide - 1) / wide
	var out []curveplot.Point
	for i := 0; i < len(values); i += stretch {
		most := math.NaN()
		for k := i; k < min(i+stretch, len(values)); k++ {
			if v := values[k]; !(v <= most) && !math.IsNaN(v) {
				most = v
			}
		}
		out = append(out, curveplot.Point{At: r.From.Add(time.Duration(i) * r.step), Value: most})
	}
	return out
}
