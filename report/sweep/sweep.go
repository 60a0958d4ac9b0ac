package sweep

import (
	"fmt"
	"slices"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/metrics"
)

// Outcome is what became of the replay of a point: measured, failed, or, when the sweep was stopped, neither.
type Outcome struct {
	Point Point
	// Set has the metrics, Warnings are the replay's; both nil without a report.
	Set      metrics.Set
	Warnings []string
	Err      error
}

// Played is a point that was replayed. Of the report, which may be large, only the measures are kept.
func Played(p Point, r *scalehist.ReplayReport) Outcome {
	return Outcome{Point: p, Set: metrics.Of(r), Warnings: r.Warnings}
}

// Row is a point with what was measured.
type Row struct {
	// Number is its place in the grid, from 1: what the plot calls it.
	Number int `json:"number"`
	Point
	// Values are those of Sweep.Metrics, in their order; nil when there is no report.
	Values []metrics.Value `json:"values,omitempty"`
	// Front: no other row beats it.
	Front bool `json:"front"`
	// Error says why there is no report; NotRun: the sweep was stopped before.
	Error  string `json:"error,omitempty"`
	NotRun bool   `json:"notRun,omitempty"`
	// Warnings are the replay's.
	Warnings []string `json:"warnings,omitempty"`
}

// Sweep is a grid of replays, measured.
type Sweep struct {
	Scenario string `json:"scenario"`
	// Metrics are the columns. X and Y are those the front is of.
	Metrics []metrics.Metric `json:"metrics"`
	X       string           `json:"x"`
	Y       string           `json:"y"`
	// Rows are in the order of the grid.
	Rows []Row `json:"rows"`
	// Notes say what must be known to read the numbers.
	Notes []string `json:"notes,omitempty"`
}

// Options choose what is measured. Empty fields take the default: X is the cost, or node hours without prices; Y is
// pending.pod-seconds; Metrics are DefaultMetrics.
type Options struct {
	Scenario string
	X, Y     string
	Metrics  []string
}

// DefaultMetrics are the columns of a table: what it costs, who waits, and how restless it is.
var DefaultMetrics = []string{"cost", "node-hours", "nodes.peak", "pending.pod-seconds", "pending.p95", "unschedulable", "churn.steps"}

// Measure makes rows of outcomes, which are in the order of the grid.
func Measure(outcomes []Outcome, o Options) (*Sweep, error) {
	priced := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Set.Get("cost").Value != nil })
	s := &Sweep{Scenario: o.Scenario, X: o.X, Y: o.Y, Rows: []Row{}}
	switch {
	case s.X == "" && priced:
		s.X = "cost"
	case s.X == "":
		s.X = "node-hours"
		s.Notes = append(s.Notes, "no prices: node hours stand for the cost, and a large node counts as much as a small one in them")
	}
	if s.Y == "" {
		s.Y = "pending.pod-seconds"
	}
	if err := s.columns(o.Metrics, priced); err != nil {
		return nil, err
	}
	for i, out := range outcomes {
		row := Row{Number: i + 1, Point: out.Point}
		switch {
		case out.Err != nil:
			row.Error = out.Err.Error()
		case out.Set == nil:
			row.NotRun = true
		default:
			row.Warnings = out.Warnings
			for _, m := range s.Metrics {
				row.Values = append(row.Values, out.Set.Get(m.Name))
			}
		}
		s.Rows = append(s.Rows, row)
	}
	s.markFront()
	s.note()
	return plaintext.Values(s), nil
}

// CheckAxes finds what is wrong with the names of metrics before anything is replayed.
func CheckAxes(o Options) error {
	for _, name := range append([]string{o.X, o.Y}, o.Metrics...) {
		if name == "" {
			continue
		}
		if _, err := metrics.Find(name); err != nil {
			return err
		}
	}
	for _, name := range []string{o.X, o.Y} {
		if name == "" {
			continue
		}
		if m, err := metrics.Find(name); err != nil {
			return err
		} else if m.Better == metrics.Neither {
			return fmt.Errorf("metric %s: neither more nor less of it is better, so there is no front of it", name)
		}
	}
	if o.X != "" && o.X == o.Y {
		return fmt.Errorf("metric %s is on both axes: choose two", o.X)
	}
	return nil
}

// columns are the metrics asked for, with the axes among them.
func (s *Sweep) columns(names []string, priced bool) error {
	if err := CheckAxes(Options{X: s.X, Y: s.Y, Metrics: names}); err != nil {
		return err
	}
	if len(names) == 0 {
		names = slices.Clone(DefaultMetrics)
		if !priced {
			names = slices.DeleteFunc(names, func(n string) bool { return n == "cost" })
		}
	}
	for _, axis := range []string{s.Y, s.X} {
		if !slices.Contains(names, axis) {
			names = append([]string{axis}, names...)
		}
	}
	for _, name := range names {
		m, err := metrics.Find(name)
		if err != nil {
			return err
		}
		s.Metrics = append(s.Metrics, m)
	}
	return nil
}

// value is the number a row has of a metric.
func (s *Sweep) value(r Row, name string) (v float64, unit string, ok bool) {
	at := slices.IndexFunc(r.Values, func(v metrics.Value) bool { return v.Name == name })
	if at < 0 || r.Values[at].Value == nil {
		return 0, "", false
	}
	return *r.Values[at].Value, r.Values[at].Unit, true
}

// axes are a row's place in the plot, turned so that less is better in both.
func (s *Sweep) axes(r Row) (x, y float64, ok bool) {
	x, _, okX := s.value(r, s.X)
	y, _, okY := s.value(r, s.Y)
	for _, m := range s.Metrics {
		if m.Better != metrics.More {
			continue
		}
		if m.Name == s.X {
			x = -x
		}
		if m.Name == s.Y {
			y = -y
		}
	}
	return x, y, okX && okY
}

// markFront marks the rows that no other beats. Equal rows do not beat each other.
func (s *Sweep) markFront() {
	for i := range s.Rows {
		x, y, ok := s.axes(s.Rows[i])
		s.Rows[i].Front = ok && !slices.ContainsFunc(s.Rows, func(o Row) bool {
			ox, oy, known := s.axes(o)
			return known && ox <= x && oy <= y && (ox < x || oy < y)
		})
	}
}

// note says what the table does not.
func (s *Sweep) note() {
	var failed, open, unplaced int
	least, most := -1.0, -1.0
	for _, r := range s.Rows {
		switch {
		case r.Error != "":
			failed++
		case r.NotRun:
			open++
		default:
			if _, _, ok := s.axes(r); !ok {
				unplaced++
			}
			if v, _, ok := s.value(r, "unschedulable"); ok {
				most = max(most, v)
				if least < 0 || v < least {
					least = v
				}
			}
		}
	}
	add := func(format string, args ...any) { s.Notes = append(s.Notes, fmt.Sprintf(format, args...)) }
	if failed > 0 {
		add("%d of %s failed", failed, plural.Of(len(s.Rows), "replay"))
	}
	if open > 0 {
		add("%d of %s %s not run: the sweep was stopped; the front is of those that were", open, plural.Of(len(s.Rows), "replay"), plural.Verb(open, "was", "were"))
	}
	if unplaced > 0 {
		add("%s without %s or %s, not in the front", plural.Of(unplaced, "row"), s.X, s.Y)
	}
	if most > least {
		add("the rows leave from %s to %s pods without a node: pods that have no node cost nothing", metrics.Text(least, "pods"), metrics.Text(most, "pods"))
	}
}
