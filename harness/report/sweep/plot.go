package sweep

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/scalehist/scalehist/harness/report/metrics"
)

// The size of the plot.
const (
	plotWidth  = 8 * vg.Inch
	plotHeight = 5 * vg.Inch
)

var (
	frontColor = color.RGBA{R: 0x1b, G: 0x6e, B: 0xc2, A: 0xff}
	otherColor = color.RGBA{R: 0x88, G: 0x88, B: 0x88, A: 0xff}
)

// ErrNothingToPlot: no row tells both metrics.
var ErrNothingToPlot = errors.New("no replay tells both metrics of the plot")

// SVG is the plot: each row at its X and Y, by its number, and the front as a line of steps. Rows at one place share a
// mark: "1, 4".
func (s *Sweep) SVG() ([]byte, error) {
	type mark struct {
		x, y  float64
		front bool
		label string
	}
	var marks []mark
	for _, r := range s.Rows {
		x, _, okX := s.value(r, s.X)
		y, _, okY := s.value(r, s.Y)
		if !okX || !okY {
			continue
		}
		if at := slices.IndexFunc(marks, func(m mark) bool { return m.x == x && m.y == y }); at >= 0 {
			marks[at].label += fmt.Sprintf(", %d", r.Number)
			continue
		}
		marks = append(marks, mark{x, y, r.Front, fmt.Sprint(r.Number)})
	}
	if len(marks) == 0 {
		return nil, ErrNothingToPlot
	}
	slices.SortStableFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	var front, others plotter.XYs
	labels := plotter.XYLabels{}
	for _, m := range marks {
		at := plotter.XY{X: m.x, Y: m.y}
		labels.XYs, labels.Labels = append(labels.XYs, at), append(labels.Labels, m.label)
		if m.front {
			front = append(front, at)
		} else {
			others = append(others, at)
		}
	}

	p := plot.New()
	p.Title.Text = "Sweep of " + s.Scenario
	p.X.Label.Text, p.Y.Label.Text = s.axisLabel(s.X), s.axisLabel(s.Y)
	p.Add(plotter.NewGrid())
	if err := s.addFront(p, front); err != nil {
		return nil, err
	}
	if len(others) > 0 {
		if err := addPoints(p, others, otherColor, "beaten"); err != nil {
			return nil, err
		}
	}
	names, err := plotter.NewLabels(labels)
	if err != nil {
		return nil, fmt.Errorf("label the plot: %w", err)
	}
	names.Offset = vg.Point{X: 5, Y: 5}
	p.Add(names)
	p.Legend.Top = true
	pad(&p.X, 0.08)
	pad(&p.Y, 0.2) // the legend is in it

	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("write the plot: %w", err)
	}
	return b.Bytes(), nil
}

// addFront draws the front, as steps where less is better: what lies between two of its points is no better than the one
// before.
func (s *Sweep) addFront(p *plot.Plot, front plotter.XYs) error {
	line, err := plotter.NewLine(front)
	if err != nil {
		return fmt.Errorf("draw the front: %w", err)
	}
	if s.lessIsBetter(s.X) && s.lessIsBetter(s.Y) {
		line.StepStyle = plotter.PostStep
	}
	line.Color, line.Width = frontColor, vg.Points(1.5)
	p.Add(line)
	return addPoints(p, front, frontColor, "front")
}

func addPoints(p *plot.Plot, at plotter.XYs, c color.Color, name string) error {
	points, err := plotter.NewScatter(at)
	if err != nil {
		return fmt.Errorf("draw the rows: %w", err)
	}
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
	p.Add(points)
	p.Legend.Add(name, points)
	return nil
}

// pad leaves room around the points, a share of it above, and makes a range of a single value.
func pad(a *plot.Axis, above float64) {
	by := (a.Max - a.Min) * 0.08
	if by == 0 {
		by = max(1e-6, 0.1*max(a.Max, -a.Max))
	}
	a.Min, a.Max = a.Min-by, a.Max+by*above/0.08
}

func (s *Sweep) lessIsBetter(name string) bool {
	return slices.ContainsFunc(s.Metrics, func(m metrics.Metric) bool { return m.Name == name && m.Better == metrics.Less })
}

// axisLabel is a metric with its unit: "cost (EUR)".
func (s *Sweep) axisLabel(name string) string {
	at := slices.IndexFunc(s.Metrics, func(m metrics.Metric) bool { return m.Name == name })
	unit := s.Metrics[at].Unit
	for _, r := range s.Rows {
		if _, u, ok := s.value(r, name); ok {
			unit = u
		}
	}
	if unit == "" {
		return s.Metrics[at].Title
	}
	return fmt.Sprintf("%s (%s)", s.Metrics[at].Title, unit)
}
