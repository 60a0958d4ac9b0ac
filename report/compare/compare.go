package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/report/metrics"
)

// Side is one report to compare. Label names it in tables; labels must differ.
type Side struct {
	Label  string
	Report *scalehist.ReplayReport
}

// Options say how strict a comparison is.
type Options struct {
	// Force compares reports of different recordings, windows and playbacks too, and notes it.
	Force bool
}

// Comparison is what Reports found. All lists with one entry a side are in the order of Sides, the baseline first.
type Comparison struct {
	Sides []SideInfo `json:"sides"`
	// Settings are what was asked for that differs: autoscaler, flags, faults, batch interval.
	Settings []Setting `json:"settings"`
	Inputs   []Input   `json:"inputs"`
	Groups   []Row     `json:"nodeGroups"`
	Zones    []Row     `json:"zones"`
	// Workloads are replicas of the workloads that a controller scaled, or that have load, on any side; sizes are replicas.
	Workloads []Row    `json:"workloads,omitempty"`
	Metrics   []Metric `json:"metrics"`
	// Pairs hold each other side against the baseline.
	Pairs []Pair `json:"pairs"`
	// Notes say what must be known to read the numbers.
	Notes []string `json:"notes"`
}

// SideInfo is a report in short, with what changed in it over time.
type SideInfo struct {
	Label      string             `json:"label"`
	Scenario   string             `json:"scenario"`
	Autoscaler string             `json:"autoscaler"`
	Playback   scalehist.Playback `json:"playback"`
	StartTime  time.Time          `json:"startTime"`
	Length     scalehist.Duration `json:"length"`
	// Nodes is the sum of the target sizes over time, Unschedulable the pods without a node.
	Nodes         metrics.Curve `json:"nodes"`
	Unschedulable metrics.Curve `json:"unschedulable"`
	// Workloads are those of Comparison.Workloads, in the same order.
	Workloads []WorkloadCurve `json:"workloads,omitempty"`
}

// Setting is something that was asked for, and how it was on each side.
type Setting struct {
	What   string   `json:"what"`
	Values []string `json:"values"`
}

// Input is a hash that went into the replays; empty where a side has none of that name.
type Input struct {
	Name    string   `json:"name"`
	SHA256  []string `json:"sha256"`
	Differs bool     `json:"differs"`
}

// Row is a node group, all node groups of a zone, or a workload.
type Row struct {
	Name        string  `json:"name"`
	MachineType string  `json:"machineType,omitempty"`
	Zone        string  `json:"zone,omitempty"`
	Sizes       []Sizes `json:"sizes"`
	Differs     bool    `json:"differs"`
}

// Sizes are target sizes and their changes on one side, in nodes, or replicas. Absent: the side has no such group. Peak is of workloads only.
type Sizes struct {
	Absent     bool `json:"absent,omitempty"`
	Initial    int  `json:"initial"`
	Final      int  `json:"final"`
	ScaledUp   int  `json:"scaledUp"`
	ScaledDown int  `json:"scaledDown"`
	Peak       int  `json:"peak,omitempty"`
}

// Metric is a metric on all sides.
type Metric struct {
	Name   string         `json:"name"`
	Title  string         `json:"title"`
	Unit   string         `json:"unit"`
	Better metrics.Better `json:"better"`
	Values []Value        `json:"values"`
	// Notes warn of reading it alone.
	Notes []string `json:"notes,omitempty"`
}

// Value is a metric on one side, and its change against the baseline.
type Value struct {
	Value   *float64 `json:"value,omitempty"`
	Missing string   `json:"missing,omitempty"`
	// Change is value minus baseline, Relative the same in percent of the baseline (absent when that is 0).
	Change   *float64 `json:"change,omitempty"`
	Relative *float64 `json:"relativePercent,omitempty"`
	// Verdict is "better", "worse", "same" or, where neither way is better, "differs".
	Verdict string `json:"verdict,omitempty"`
	// Noted: a note of the metric is about this value.
	Noted bool `json:"noted,omitempty"`
}

// Pair is one side against the baseline.
type Pair struct {
	Baseline string `json:"baseline"`
	Side     string `json:"side"`
	// FirstDifference is nil when every decision is the same.
	FirstDifference *Difference `json:"firstDifference,omitempty"`
	// Changed are the metrics of two reports: how many decisions and node groups differ.
	Changed metrics.Set `json:"changed"`
}

// Reports compares reports; the first is the baseline. It is an error to compare replays of different recordings unless
// forced. Running replays is for the caller: anyone who has reports can compare them.
func Reports(sides []Side, o Options) (*Comparison, error) {
	sides = plaintext.Values(sides) // what is said of them is text in lines, wherever it is printed
	if len(sides) < 2 {
		return nil, errors.New("there is nothing to compare: give two reports or more")
	}
	seen := map[string]bool{}
	for _, s := range sides {
		if seen[s.Label] {
			return nil, fmt.Errorf("two reports are called %q: give them different labels", s.Label)
		}
		seen[s.Label] = true
	}
	c := &Comparison{Settings: settings(sides), Inputs: inputs(sides), Notes: []string{}}
	for _, s := range sides[1:] {
		why := Comparable(sides[0].Report, s.Report)
		if why == "" {
			continue
		}
		if !o.Force {
			return nil, fmt.Errorf("%s and %s cannot be compared: %s: compare replays of one recording, or --force", sides[0].Label, s.Label, why)
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%s and %s were compared by force: %s", sides[0].Label, s.Label, why))
	}
	c.Workloads = workloads(sides)
	for _, s := range sides {
		c.Sides = append(c.Sides, SideInfo{
			Label: s.Label, Scenario: s.Report.Scenario, Autoscaler: s.Report.Autoscaler, Playback: s.Report.Playback, StartTime: s.Report.StartTime,
			Length: scalehist.Duration(s.Report.EndTime.Sub(s.Report.StartTime)),
			Nodes:  metrics.Nodes(s.Report), Unschedulable: metrics.Unschedulable(s.Report),
			Workloads: workloadCurves(s.Report, c.Workloads),
		})
	}
	c.Groups, c.Zones = groups(sides), zones(sides)
	c.Metrics = compareMetrics(sides)
	for _, s := range sides[1:] {
		c.Pairs = append(c.Pairs, Pair{Baseline: sides[0].Label, Side: s.Label, FirstDifference: FirstDifference(sides[0].Report, s.Report), Changed: Changed(sides[0].Report, s.Report)})
	}
	return c, nil
}

// Differ says whether anything that was measured, or any decision, differs between the sides.
func (c *Comparison) Differ() bool {
	for _, p := range c.Pairs {
		if p.FirstDifference != nil {
			return true
		}
	}
	for _, m := range c.Metrics {
		for _, v := range m.Values[1:] {
			if v.Verdict != "" && v.Verdict != "same" || (v.Value == nil) != (m.Values[0].Value == nil) {
				return true
			}
		}
	}
	return slices.ContainsFunc(slices.Concat(c.Groups, c.Workloads), func(r Row) bool { return r.Differs })
}

func groups(sides []Side) []Row {
	rows := []Row{}
	for i, s := range sides {
		for _, g := range s.Report.NodeGroups {
			at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == g.Name })
			if at < 0 {
				at = len(rows)
				rows = append(rows, Row{Name: g.Name, MachineType: g.MachineType, Zone: g.Zone, Sizes: absent(len(sides))})
			}
			rows[at].Sizes[i] = Sizes{Initial: g.Initial, Final: g.Final, ScaledUp: g.ScaledUp, ScaledDown: g.ScaledDown}
		}
	}
	return finished(rows)
}

func zones(sides []Side) []Row {
	rows := []Row{}
	for i, s := range sides {
		for _, g := range s.Report.NodeGroups {
			at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == g.Zone })
			if at < 0 {
				at = len(rows)
				rows = append(rows, Row{Name: g.Zone, Zone: g.Zone, Sizes: absent(len(sides))})
			}
			z := &rows[at].Sizes[i]
			z.Absent = false
			z.Initial, z.Final = z.Initial+g.Initial, z.Final+g.Final
			z.ScaledUp, z.ScaledDown = z.ScaledUp+g.ScaledUp, z.ScaledDown+g.ScaledDown
		}
	}
	return finished(rows)
}

func absent(n int) []Sizes {
	out := make([]Sizes, n)
	for i := range out {
		out[i].Absent = true
	}
	return out
}

func finished(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.Name, b.Name) })
	for i := range rows {
		for _, s := range rows[i].Sizes[1:] {
			rows[i].Differs = rows[i].Differs || s != rows[i].Sizes[0]
		}
	}
	return rows
}

func compareMetrics(sides []Side) []Metric {
	sets := make([]metrics.Set, 0, len(sides))
	var reports []*scalehist.ReplayReport
	for _, s := range sides {
		sets = append(sets, metrics.Of(s.Report))
		reports = append(reports, s.Report)
	}
	var out []Metric
	defined := metrics.Defined(reports...)
	scaled := len(defined) > len(metrics.All())
	for _, def := range defined {
		if scaled && def.Name == "pod-hours" {
			def.Better = metrics.Neither // how many pods there are is what controllers decide on: fewer for the same work are not worse
		}
		m := Metric{Name: def.Name, Title: def.Title, Unit: sets[0].Get(def.Name).Unit, Better: def.Better}
		for _, set := range slices.Backward(sets) { // the first that has a number
			if v := set.Get(def.Name); v.Value != nil {
				m.Unit = v.Unit
			}
		}
		for n, set := range sets {
			v := set.Get(def.Name)
			value := Value{Value: v.Value, Missing: v.Missing}
			switch base := sets[0].Get(def.Name); {
			case n == 0 || v.Value == nil || base.Value == nil:
			case v.Unit != base.Unit:
				value.Value, value.Missing = nil, fmt.Sprintf("it is in %s, the baseline in %s", v.Unit, base.Unit)
			default:
				value.Change, value.Relative, value.Verdict = Change(*base.Value, *v.Value, def.Better)
			}
			m.Values = append(m.Values, value)
		}
		out = append(out, m)
	}
	addCostNotes(sides, sets, out)
	return out
}

// Change is the absolute change, the relative one in percent of the baseline (nil when that is 0), and whether that is
// "better", "worse", "same" or, where neither way is better, "differs".
func Change(base, v float64, better metrics.Better) (by, relative *float64, verdict string) {
	diff := math.Round((v-base)*1e9) / 1e9
	if math.Abs(diff) < 1.5e-9 {
		diff = 0 // the last digit that metrics keep: rounding; and no minus zero
	}
	by = &diff
	if base != 0 {
		r := math.Round(diff/math.Abs(base)*1e6) / 1e4
		relative = &r
	}
	switch {
	case diff == 0:
		return by, relative, "same"
	case better == metrics.Neither:
		return by, relative, "differs"
	case (diff < 0) == (better == metrics.Less):
		return by, relative, "better"
	}
	return by, relative, "worse"
}
