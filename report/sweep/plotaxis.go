package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/report/metrics"
)

// axis maps values to pixels: low is at from, high at to.
type axis struct {
	low, high float64
	from, to  float64
	unit      string
	step      float64
}

// niceSeconds are the steps of ticks of an axis of times.
var niceSeconds = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 6 * 3600, 12 * 3600, 24 * 3600}

// newAxis leaves room around the values, makes a range of a single one, and does not go below zero for values that do not.
func newAxis(values []float64, unit string, from, to float64) axis {
	a := axis{low: slices.Min(values), high: slices.Max(values), from: from, to: to, unit: unit}
	by := 0.08 * (a.high - a.low)
	if by == 0 {
		if by = 0.1 * math.Abs(a.high); by == 0 {
			by = 1
		}
	}
	zero := a.low >= 0
	a.low, a.high = a.low-by, a.high+by
	if zero {
		a.low = max(0, a.low)
	}
	a.step = a.niceStep()
	return a
}

// niceStep is the distance of ticks: 1, 2 or 5 times a power of ten, or a time that people say.
func (a axis) niceStep() float64 {
	want := (a.high - a.low) / ticks
	if a.unit == metrics.Seconds && want > 0.5 {
		for _, s := range niceSeconds {
			if s >= want {
				return s
			}
		}
	}
	power := math.Pow(10, math.Floor(math.Log10(want)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= want {
			return m * power
		}
	}
	return 10 * power
}

func (a axis) at(v float64) float64 { return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from) }

// text prints the value of a tick with no more digits than the step has.
func (a axis) text(v float64) string {
	if a.unit == metrics.Seconds && a.step >= 1 {
		d := time.Duration(math.Round(v)) * time.Second
		s := d.String()
		if d >= time.Minute {
			s = strings.TrimSuffix(s, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(s, "m0s")]
		}
		if d >= time.Hour {
			s = strings.TrimSuffix(s, "0m") + map[bool]string{true: "0m"}[strings.HasSuffix(s, "0m") && !strings.HasSuffix(s, "h0m")]
		}
		return s
	}
	digits := max(0, int(math.Ceil(-math.Log10(a.step)-1e-9)))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// draw writes the axis with its ticks and the grid behind the plot.
func (a axis) draw(b *strings.Builder, horizontal bool) {
	for i := math.Ceil(a.low/a.step - 1e-9); i*a.step <= a.high*(1+1e-12); i++ {
		v := i*a.step + 0 // no minus zero
		p := a.at(v)
		if horizontal {
			fmt.Fprintf(b, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", p, top, plotHeight-bottom)
			fmt.Fprintf(b, "<text class=\"muted\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", p, plotHeight-bottom+20, a.text(v))
			continue
		}
		fmt.Fprintf(b, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>\n", left, p, plotWidth-right)
		fmt.Fprintf(b, "<text class=\"muted\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left-8, p+4, a.text(v))
	}
	if horizontal {
		fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %dH%d\"/>\n", left, plotHeight-bottom, plotWidth-right)
		return
	}
	fmt.Fprintf(b, "<path class=\"axis\" d=\"M%d %dV%d\"/>\n", left, top, plotHeight-bottom)
}

// label is a text at a place; x and y are its upper left corner.
type label struct {
	x, y, w, h float64
	text       string
	front      bool
}

// labelGap is what keeps a number from its neighbours.
const labelGap = 3

func (l label) overlaps(o label) bool {
	return l.x < o.x+o.w && o.x < l.x+l.w && l.y < o.y+o.h && o.y < l.y+l.h
}

// placed finds a place beside each mark for its numbers, where it covers no other mark or number: those of the front first.
// What finds none is left out, except of the front, which is put above its mark.
func placed(marks []mark) []label {
	var taken, out []label
	for _, m := range marks {
		taken = append(taken, label{x: m.px - radius, y: m.py - radius, w: 2 * radius, h: 2 * radius})
	}
	for _, front := range []bool{true, false} {
		for _, m := range marks {
			if m.front != front {
				continue
			}
			l := label{text: m.label(), front: front, h: charHeight}
			l.w = charWidth*float64(len(l.text)) + 2*labelGap
			at := slices.IndexFunc(places(m, l), func(p [2]float64) bool {
				l.x, l.y = p[0], p[1]
				inside := l.x >= left && l.x+l.w <= plotWidth && l.y >= top-charHeight && l.y+l.h <= plotHeight-bottom
				return inside && !slices.ContainsFunc(taken, l.overlaps)
			})
			if at < 0 && !front {
				continue
			}
			if at < 0 {
				l.x, l.y = m.px-l.w/2, m.py-radius-2-l.h
			}
			taken, out = append(taken, l), append(out, l)
		}
	}
	return out
}

// places are those beside a mark, the best first.
func places(m mark, l label) [][2]float64 {
	const gap = radius
	r, lft, up, down := m.px+gap, m.px-gap-l.w, m.py-gap-l.h, m.py+gap
	mid, level := m.px-l.w/2, m.py-l.h/2
	return [][2]float64{{r, up}, {mid, up}, {lft, up}, {r, level}, {r, down}, {mid, down}, {lft, down}, {lft, level}, {mid, up - l.h}, {mid, down + l.h}}
}
