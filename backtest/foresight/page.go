package foresight

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
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
	Head   []string
	Series []pageSeries
	Left   int
	Text   string
}

type pageSeries struct {
	Title string
	Rows  []pageRow
	Open  bool
	SVG   template.HTML
}

type pageRow struct {
	Mark  string
	Best  bool
	Cells []string
}

// The texts of reports are escaped by html/template, and the SVG by curveplot.
var pageTemplate = template.Must(template.New("page").Parse(`<h1>Forecasts of {{.Source}}</h1>
<p>{{.From.UTC.Format "2006-01-02 15:04"}} to {{.To.UTC.Format "2006-01-02 15:04"}} UTC, values every {{.Step}}. Predicted is the most within {{.Lead}}, with a season of {{.Season}}; each forecast has seen what came before.</p>
{{range .Series}}<details{{if .Open}} open{{end}}><summary>{{.Title}}</summary>
<div class="scroll"><table><tr><th></th>{{range $.Head}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr{{if .Best}} class="front"{{end}}><td>{{.Mark}}</td>{{range .Cells}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></div>
{{.SVG}}</details>
{{end}}{{if .Left}}<p>{{.Left}} more series are left out: choose fewer with --workload or --metric.</p>
{{end}}<p>* the smallest mean error.</p>
{{range .Notes}}<p>{{.}}</p>
{{end}}<details><summary>All numbers</summary><pre>{{.Text}}</pre></details>
`))

// HTML writes the report as one page for a browser; curves are in it with Options.Curves.
func (r *Report) HTML(w io.Writer) error {
	r = plaintext.Values(r)
	p := page{Report: r, Head: head, Text: r.Text()}
	for i := range r.Series {
		s := &r.Series[i]
		if len(p.Series) >= maxCharts {
			p.Left++
			continue
		}
		one := pageSeries{Title: s.Series, Open: i < 3, SVG: template.HTML(r.Chart(i).SVG(false))}
		for k := range s.Forecasts {
			one.Rows = append(one.Rows, pageRow{mark(&s.Forecasts[k]), s.Forecasts[k].Best, s.cells(&s.Forecasts[k])})
		}
		p.Series = append(p.Series, one)
	}
	var body strings.Builder
	if err := pageTemplate.Execute(&body, p); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return curvepage.Write(w, p.Source+" · forecasts", body.String())
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
