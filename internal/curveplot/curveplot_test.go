package curveplot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// TestPath: a value holds until the next, and a gap parts the curve.
func TestPath(t *testing.T) {
	c := Chart{From: start, To: start.Add(10 * time.Minute), Panels: []Panel{{Lines: []Line{{Name: "a <b>", Class: "usage", Points: []Point{
		{start, 1}, {start.Add(time.Minute), 1}, {start.Add(2 * time.Minute), 4}, {start.Add(3 * time.Minute), math.NaN()}, {start.Add(5 * time.Minute), 2}}}}}}}
	svg := c.SVG(true)
	want := `d="M70.0 157.5H245.6V30.0H333.4M509.0 115.0H948.0"`
	if !strings.Contains(svg, want) {
		t.Errorf("want %s in\n%s", want, svg)
	}
	if !strings.Contains(svg, "a &lt;b&gt;") || !strings.Contains(svg, ".chart .usage") {
		t.Error("names are not escaped, or there is no style")
	}
}

// TestWellFormed: whatever the values, the chart is XML without numbers that are none.
func TestWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []Point
		at := start
		for range rapid.IntRange(0, 20).Draw(t, "points") {
			at = at.Add(time.Duration(rapid.Int64Range(1, 1e13).Draw(t, "after")))
			points = append(points, Point{at, rapid.SampledFrom([]float64{0, 1e-9, 0.3, 5, 1e15, math.NaN()}).Draw(t, "value")})
		}
		c := Chart{From: start, To: at, Panels: []Panel{{Bytes: rapid.Bool().Draw(t, "bytes"), Lines: []Line{{"x", "usage", points}}, Marks: []Mark{{start, "oom", "<&>"}}}}}
		svg := c.SVG(rapid.Bool().Draw(t, "standalone"))
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v in\n%s", err, svg)
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Fatal(svg)
		}
	})
}

// TestText: values as people write them.
func TestText(t *testing.T) {
	for _, c := range []struct {
		v     float64
		bytes bool
		want  string
	}{{0.25, false, "0.25"}, {512 << 20, true, "512Mi"}, {1 << 30, true, "1Gi"}, {0, true, "0"}, {1000, true, "1000"}} {
		if got := Text(c.v, c.bytes); got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}
