package backtest

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
	"github.com/scalehist/scalehist/recommender/vertical/trial"
)

// maxCharts bounds the charts of a page: each takes some 30 kB.
const maxCharts = 200

// page is what the template shows.
type page struct {
	*Report
	Table   curvepage.Table
	Scatter template.HTML
	Charts  []curvepage.Chart
	Left    int
	Text    string
}

var body = curvepage.Body(`<h1>Backtest of {{.History}}</h1>
<p>{{.From.UTC.Format "2006-01-02 15:04"}} to {{.To.UTC.Format "2006-01-02 15:04"}} UTC, judged from {{.JudgedFrom.UTC.Format "2006-01-02 15:04"}}; recommended every {{.Interval}}, limits: {{.Limits}}.</p>
{{template "table" .Table}}<p>* no other candidate is as good in {{index .Report.Front 0}} and {{index .Report.Front 1}}, and better in one of them.</p>
{{.Scatter}}
{{template "notes" .Notes}}{{template "charts" .Charts}}{{if .Left}}<p>{{.Left}} more charts are left out: choose fewer workloads or candidates.</p>
{{end}}{{template "numbers" .Text}}`)

var head = []string{"candidate", "CPU requested, core-h", "slack", "overrun", "throttled", "memory requested, GiB-h", "slack", "overrun", "OOMs", "evicted", "resized"}

// HTML writes the report as one page for a browser, which needs no script and asks the network for nothing.
func (r *Report) HTML(w io.Writer) error {
	r = plaintext.Values(r)
	p := page{Report: r, Table: curvepage.Table{Head: head}, Scatter: template.HTML(r.scatter()), Text: r.Text(LevelContainer)}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		row := curvepage.Row{Best: c.Front}
		if c.Front {
			row.Mark = "*"
		}
		m := &c.Cluster
		row.Cells = []string{c.Label, number(m.CPU.Requested), percent(m.CPU.RelativeSlack), percent(by(m.CPU.Overrun, m.CPU.Used)), throttled(m), number(m.Memory.Requested),
			percent(m.Memory.RelativeSlack), percent(by(m.Memory.Overrun, m.Memory.Used)), fmt.Sprint(m.OOMs), fmt.Sprint(m.Evictions), fmt.Sprint(m.Resizes)}
		p.Table.Rows = append(p.Table.Rows, row)
	}
	for k := range r.Candidates[0].Workloads {
		for n := range r.Candidates[0].Workloads[k].Containers {
			for i := range r.Candidates {
				c := &r.Candidates[i].Workloads[k].Containers[n]
				if c.curve == nil {
					continue
				}
				if len(p.Charts) >= maxCharts {
					p.Left++
					continue
				}
				title := fmt.Sprintf("%s, container %s: %s", r.Candidates[0].Workloads[k].Workload, c.Container, r.Candidates[i].Label)
				p.Charts = append(p.Charts, curvepage.Chart{Title: title, Open: len(p.Charts) < 2*len(r.Candidates), SVG: template.HTML(r.chart(title, c))})
			}
		}
	}
	return curvepage.Write(w, r.History+" · backtest", body, p)
}

// chart draws usage, request, target and bounds of a container, with its events.
func (r *Report) chart(title string, c *ContainerPart) string {
	out := curveplot.Chart{Title: title, From: r.From, To: r.To}
	for k, name := range []string{"CPU, cores", "Memory"} {
		unit := []float64{1000, 1}[k]
		var usage, most, request, lower, target, upper []curveplot.Point
		for i := range c.curve.Points {
			p := &c.curve.Points[i]
			at := c.curve.From.Add(time.Duration(i) * c.curve.Step)
			add := func(list *[]curveplot.Point, v float64) {
				if p.Seconds == 0 {
					v = math.NaN()
				}
				*list = append(*list, curveplot.Point{At: at, Value: v})
			}
			add(&usage, p.Wanted[k])
			add(&most, p.Most[k])
			add(&request, p.Requested[k])
			for _, one := range []struct {
				list *[]curveplot.Point
				v    int64
			}{
				{&lower, []int64{p.Recommended.Lower.CPUMilli, p.Recommended.Lower.MemoryBytes}[k]},
				{&target, []int64{p.Recommended.Target.CPUMilli, p.Recommended.Target.MemoryBytes}[k]},
				{&upper, []int64{p.Recommended.Upper.CPUMilli, p.Recommended.Upper.MemoryBytes}[k]},
			} {
				v := float64(one.v) / unit
				if one.v < 0 {
					v = math.NaN()
				}
				add(one.list, v)
			}
		}
		// An upper bound of little confidence would be all that the panel shows.
		top := highest(most, request, target) * 1.6
		for i := range upper {
			if upper[i].Value > top {
				upper[i].Value = math.NaN()
			}
		}
		panel := curveplot.Panel{Title: name, Bytes: k == 1, Lines: []curveplot.Line{{Name: "highest usage", Class: "most", Points: most}, {Name: "mean usage", Class: "usage", Points: usage},
			{Name: "bounds", Class: "bound", Points: lower}, {Name: "bounds", Class: "bound", Points: upper}, {Name: "target", Class: "target", Points: target}, {Name: "request", Class: "request", Points: request}}}
		for _, e := range c.Events {
			if k == 0 && e.Kind == trial.EventOOM {
				continue
			}
			panel.Marks = append(panel.Marks, curveplot.Mark{At: e.At, Class: e.Kind, Text: strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.At.UTC().Format(time.RFC3339), e.Kind, e.Pod, e.Why))})
		}
		out.Panels = append(out.Panels, panel)
	}
	return out.SVG(false)
}

func highest(lists ...[]curveplot.Point) float64 {
	top := 0.0
	for _, list := range lists {
		for _, p := range list {
			if p.Value > top { // of NaN this is false
				top = p.Value
			}
		}
	}
	return top
}

// scatter draws the candidates by both axes of the front.
func (r *Report) scatter() string {
	const width, height, margin = 720, 320, 60
	x, y := 0.0, 0.0
	for i := range r.Candidates {
		a, b := r.axes(&r.Candidates[i])
		x, y = math.Max(x, a), math.Max(y, b)
	}
	x, y = math.Max(x, 0.01)*1.1, math.Max(y, 0.001)*1.1
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"><title>Front</title><rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", width, height, width, height)
	fmt.Fprintf(&b, "<path class=\"axis\" d=\"M%d 20V%dH%d\"/><text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s, to %s</text><text x=\"%d\" y=\"14\">%s, to %s</text>\n",
		margin, height-margin, width-20, width/2, height-20, template.HTMLEscapeString(r.Front[0]), percent(x), margin, template.HTMLEscapeString(r.Front[1]), percent(y))
	for i := range r.Candidates {
		c := &r.Candidates[i]
		a, h := r.axes(c)
		px, py := margin+(width-margin-20)*a/x, 20+(height-margin-20)*(1-h/y)
		class := "axis"
		if c.Front {
			class = "request"
		}
		fmt.Fprintf(&b, "<path class=\"%s\" d=\"M%.1f %.1fm-4 0h8m-4 -4v8\"><title>%s</title></path><text x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, px, py, template.HTMLEscapeString(c.Label), px+6, py-5, template.HTMLEscapeString(c.Label))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
