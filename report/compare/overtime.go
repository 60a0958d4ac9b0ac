package compare

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/scalehist/scalehist/internal/widetable"
	"github.com/scalehist/scalehist/report/metrics"
)

// overTime is a curve of each side, and what it is called.
type overTime struct {
	what string
	of   func(SideInfo) metrics.Curve
}

func (p *page) curves(c *Comparison) {
	p.heading("Over time")
	width := 0
	for _, s := range c.Sides {
		width = max(width, displaywidth.String(s.Label))
	}
	slots := widestSlots
	if p.width > 0 {
		slots = max(fewestSlots, min(slots, p.width-width-10)) // what is around them
	}
	var b strings.Builder
	parts := append([]overTime{
		{"nodes", func(s SideInfo) metrics.Curve { return s.Nodes }}, {"pods without a node", func(s SideInfo) metrics.Curve { return s.Unschedulable }},
	}, replicaCurves(c)...)
	for _, part := range parts {
		top := 0.0
		for _, s := range c.Sides {
			top = max(top, part.of(s).Max())
		}
		fmt.Fprintf(&b, "%s, 0 to %.0f:\n", part.what, top)
		for _, s := range c.Sides {
			fmt.Fprintf(&b, "  %s |%s|\n", widetable.Pad(s.Label, width), spark(part.of(s), time.Duration(s.Length), top, slots))
		}
	}
	p.block(b.String())
}

// How wide a line over time is, at most and at least.
const (
	widestSlots = 60
	fewestSlots = 20
)

// spark draws the largest value of each slot as one of eight heights; a blank is none.
func spark(c metrics.Curve, length time.Duration, top float64, slots int) string {
	heights := []rune("▁▂▃▄▅▆▇█")
	out := make([]rune, slots)
	for i := range out {
		from, to := length*time.Duration(i)/time.Duration(slots), length*time.Duration(i+1)/time.Duration(slots)
		v := c.At(from)
		for _, p := range c {
			if at := time.Duration(p.Offset); at > from && at < to {
				v = max(v, p.Value)
			}
		}
		out[i] = ' '
		if v > 0 && top > 0 {
			out[i] = heights[min(len(heights)-1, int(v/top*float64(len(heights))-1e-9))]
		}
	}
	return string(out)
}
