package compare_test

import (
	"encoding/json"
	"flag"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/compare"
	"github.com/scalehist/scalehist/report/metrics"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func golden(t *testing.T, path, got string) {
	t.Helper()
	goldentest.Text(t, path, got, *update)
}

// The reports are replays of one recording: with least-waste, with most-pods, and with a group that may not grow.
const (
	leastWaste  = "../gate/testdata/baseline/two-machine-sizes/report.json"
	mostPods    = "../gate/testdata/candidate/two-machine-sizes/report.json"
	leftPending = "testdata/left-pending.json"
	other       = "../gate/testdata/baseline/zonal-spread/report.json"
)

func read(t testing.TB, path string) *scalehist.ReplayReport {
	t.Helper()
	r, err := report.Read(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func three(t *testing.T) *compare.Comparison {
	t.Helper()
	c, err := compare.Reports([]compare.Side{{"least-waste", read(t, leastWaste)}, {"most-pods", read(t, mostPods)}, {"small", read(t, leftPending)}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPages(t *testing.T) {
	c := three(t)
	golden(t, "testdata/three.txt", c.Text())
	golden(t, "testdata/three.md", c.Markdown())
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/three.json", string(b)+"\n")
}

// TestPodsLeftAreNoSaving: who leaves pods pending is not called better for being cheaper.
func TestPodsLeftAreNoSaving(t *testing.T) {
	c := three(t)
	for _, m := range c.Metrics {
		if m.Name != "cost" {
			continue
		}
		small := m.Values[2]
		if *small.Change >= 0 || small.Verdict != "differs" || !small.Noted {
			t.Errorf("cost of the side that leaves pods: change %v, verdict %q, noted %v", *small.Change, small.Verdict, small.Noted)
		}
		const want = "small is cheaper, and leaves 4 pods without a node (least-waste: no pod), its pods waited 8m0s more in all: part of the difference is work not done, so no saving"
		if notes := strings.Join(m.Notes, "\n"); !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
	if text := c.Text(); !strings.Contains(text, "cost.per-pod-hour") || !strings.Contains(text, "see below") {
		t.Error("the page does not say so")
	}
}

// TestDearerForNoScaleDown: where nodes stay, that is why it is dearer, and not the few seconds of work beside it.
func TestDearerForNoScaleDown(t *testing.T) {
	set := func(values map[string]float64) metrics.Set {
		var out metrics.Set
		for _, m := range metrics.All() {
			v := metrics.Value{Name: m.Name, Unit: m.Unit}
			if n, ok := values[m.Name]; ok {
				v.Value = &n
			}
			out = append(out, v)
		}
		return out
	}
	base := map[string]float64{"cost": 10, "pod-hours": 235, "node-hours": 70, "nodes.scaled-up": 7, "nodes.scaled-down": 7, "pending.pod-seconds": 1860}
	for _, tt := range []struct {
		name   string
		change map[string]float64
		want   string
	}{
		{"no scale-down, hardly more work", map[string]float64{"cost": 20.3, "pod-hours": 235.1, "node-hours": 123.5, "nodes.scaled-down": 0, "pending.pod-seconds": 1500},
			"b is dearer, and its pods waited 6m0s less in all; it removes 0 nodes, a 7, which makes 76.43 % more node-hours; read cost.per-pod-hour beside it"},
		{"no scale-down, the same work", map[string]float64{"cost": 20.3, "node-hours": 123.5, "nodes.scaled-down": 0},
			"b is dearer; it removes 0 nodes, a 7, which makes 76.43 % more node-hours; read cost.per-pod-hour beside it"},
		{"more work", map[string]float64{"cost": 11, "pod-hours": 250, "node-hours": 77, "nodes.scaled-up": 8, "pending.pod-seconds": 60},
			"b is dearer, and its pods waited 30m0s less in all: part of the difference is work that a did not do; it adds 8 nodes, a 7, which makes 10 % more node-hours; read cost.per-pod-hour beside it"},
		{"removes more", map[string]float64{"cost": 9, "node-hours": 63, "nodes.scaled-down": 8}, "b is cheaper; it removes 8 nodes, a 7, which makes 10 % fewer node-hours; read cost.per-pod-hour beside it"},
		{"the same", nil, ""},
	} {
		side := maps.Clone(base)
		maps.Copy(side, tt.change)
		if got := compare.CostNote("a", "b", set(base), set(side)); got != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, got, tt.want)
		}
	}
}

// TestNarrow: on a narrow terminal no table is wider than it, in names of any width, and nothing is left out.
func TestNarrow(t *testing.T) {
	for _, labels := range [][]string{{"least-waste", "most-pods", "small"}, {"基準", "候補", "小さい"}, {"a", "b", "c"}} {
		c, err := compare.Reports([]compare.Side{{labels[0], read(t, leastWaste)}, {labels[1], read(t, mostPods)}, {labels[2], read(t, leftPending)}}, compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wide, narrow := c.Text(), c.TextWithin(80)
		_, tables, _ := strings.Cut(narrow, "\nnode groups\n")
		tables, _, _ = strings.Cut(tables, "\nbeside the numbers\n")
		_, over, _ := strings.Cut(narrow, "\nover time\n")
		over, _, _ = strings.Cut(over, "\nfirst differing")
		for line := range strings.SplitSeq(tables+over, "\n") {
			if report.Width(line) > 80 {
				t.Errorf("%d columns: %s", report.Width(line), line)
			}
		}
		for _, field := range strings.Fields(wide) {
			if heading := strings.ToUpper(field) == field; !heading && !strings.ContainsAny(field, "|▁▂▃▄▅▆▇█") && !strings.Contains(narrow, strings.TrimRight(field, ",")) {
				t.Errorf("%q is lost", field)
			}
		}
		if c.TextWithin(1000) != wide {
			t.Error("a wide terminal shows another page than none")
		}
	}
}

// TestZones: node groups of one kind in several zones are told apart, and zones are summed up.
func TestZones(t *testing.T) {
	a, b := read(t, other), read(t, other)
	zone := func(r *scalehist.ReplayReport, name string, up int) {
		for i := range r.NodeGroups {
			if g := &r.NodeGroups[i]; g.Name == name {
				g.ScaledUp, g.Final = up, g.Initial+up
			}
		}
	}
	zone(b, "za", 3)
	zone(b, "zb", 0)
	zone(b, "zc", 0)
	c, err := compare.Reports([]compare.Side{{"a", a}, {"b", b}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := c.Text()
	_, zones, _ := strings.Cut(text, "\nzones\n")
	zones, _, _ = strings.Cut(zones, "\nmetrics\n")
	for _, want := range []string{"za 1->2 (+1 -0) 1->4 (+3 -0) +2", "zb 1->2 (+1 -0) 1->1 (+0 -0) -1", "zc 1->2 (+1 -0) 1->1 (+0 -0) -1"} {
		if !strings.Contains(strings.Join(strings.Fields(zones), " "), want) {
			t.Errorf("lacks %q:\n%s", want, zones)
		}
	}
}

// TestChanged counts what only one side decided, whatever the order.
func TestChanged(t *testing.T) {
	a, b := read(t, leastWaste), read(t, mostPods)
	for name, tc := range map[string]struct {
		a, b              *scalehist.ReplayReport
		decisions, groups float64
	}{
		"itself": {a, read(t, leastWaste), 0, 0}, "another expander": {a, b, 1, 2}, "and back": {b, a, 1, 2},
		"nothing decided": {a, func() *scalehist.ReplayReport { r := read(t, leastWaste); r.Decisions = nil; return r }(), 2, 0},
		"a group more": {a, func() *scalehist.ReplayReport {
			r := read(t, leastWaste)
			r.NodeGroups = append(r.NodeGroups, scalehist.NodeGroupResult{Name: "x"})
			return r
		}(), 0, 1},
	} {
		got := compare.Changed(tc.a, tc.b)
		if d, g := *got.Get("decisions.changed").Value, *got.Get("node-groups.changed").Value; d != tc.decisions || g != tc.groups {
			t.Errorf("%s: %v decisions, %v groups, want %v and %v", name, d, g, tc.decisions, tc.groups)
		}
	}
}

func TestRefused(t *testing.T) {
	a, b, z := read(t, leastWaste), read(t, mostPods), read(t, other)
	later := *b
	later.EndTime = b.EndTime.Add(time.Minute)
	perEvent := *b
	perEvent.Playback = scalehist.PlaybackPerEvent
	for name, tc := range map[string]struct {
		sides []compare.Side
		want  string
	}{
		"one":             {[]compare.Side{{"a", a}}, "give two reports or more"},
		"one name":        {[]compare.Side{{"a", a}, {"a", b}}, `two reports are called "a"`},
		"recordings":      {[]compare.Side{{"a", a}, {"z", z}}, "a and z cannot be compared: they replay different recordings (history is sha256:"},
		"windows":         {[]compare.Side{{"a", a}, {"b", &later}}, "they end at different instants (after 3m0s and 4m0s)"},
		"playbacks":       {[]compare.Side{{"a", a}, {"b", &perEvent}}, "one is a continuous playback, the other per-event"},
		"any of the rest": {[]compare.Side{{"a", a}, {"b", b}, {"z", z}}, "a and z cannot be compared"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := compare.Reports(tc.sides, compare.Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	c, err := compare.Reports([]compare.Side{{"a", a}, {"z", z}}, compare.Options{Force: true})
	if err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "compared by force") || !strings.Contains(c.Text(), "absent") {
		t.Errorf("forced: %v, %+v", err, c)
	}
}

// TestCurrenciesDiffer: amounts of different currencies are not subtracted.
func TestCurrenciesDiffer(t *testing.T) {
	a, b := read(t, leastWaste), read(t, leastWaste)
	b.Cost.Currency = "USD"
	c, err := compare.Reports([]compare.Side{{"a", a}, {"b", b}}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := c.Text(); !strings.Contains(text, "cost, cost.per-pod-hour in b: it is in USD, the baseline in EUR") {
		t.Errorf("not said:\n%s", text)
	}
}

func TestFirstDifference(t *testing.T) {
	a := read(t, leastWaste)
	if d := compare.FirstDifference(a, read(t, leastWaste)); d != nil {
		t.Errorf("of equal reports: %+v", d)
	}
	d := compare.FirstDifference(a, read(t, mostPods))
	if d == nil || d.Kind != "action" || d.Offset.String() != "1m40s" || !strings.Contains(d.Baseline.Summary, "small 1->3") || !strings.Contains(d.Side.Summary, "large 3->4") {
		t.Errorf("got %+v", d)
	}
	late := read(t, leastWaste)
	late.Decisions[2].At = late.Decisions[2].At.Add(10 * time.Second)
	late.Decisions[3].At = late.Decisions[3].At.Add(10 * time.Second)
	if d := compare.FirstDifference(a, late); d == nil || d.Offset.String() != "1m40s" || !d.Baseline.Acted || d.Side.Acted || d.Side.Summary != "nothing new since +20s: ScaleUpNotNeeded" {
		t.Errorf("a late decision: %+v", d)
	}
	missing := read(t, leastWaste)
	missing.Decisions = missing.Decisions[:0]
	if d := compare.FirstDifference(missing, a); d == nil || d.Baseline.Summary != "no decision that mattered by then" || !d.Side.Acted {
		t.Errorf("no decisions: %+v", d)
	}
	reasons := read(t, leastWaste)
	reasons.Decisions[0].Options[0].Reason = "the dice said so"
	if d := compare.FirstDifference(a, reasons); d == nil || d.Kind != "reason" || !strings.Contains(d.Text("x", "y"), "the dice said so") {
		t.Errorf("another reason: %+v", d)
	}
}

// TestItselfIsZero: whatever a report holds, it does not differ from itself.
func TestItselfIsZero(t *testing.T) {
	seeds := []string{leastWaste, mostPods, leftPending, other, at60}
	rapid.Check(t, func(rt *rapid.T) {
		one := read(t, rapid.SampledFrom(seeds).Draw(rt, "report"))
		mutate(rt, one)
		b, err := json.Marshal(one)
		if err != nil {
			rt.Fatal(err)
		}
		var same scalehist.ReplayReport
		if err := json.Unmarshal(b, &same); err != nil {
			rt.Fatal(err)
		}
		c, err := compare.Reports([]compare.Side{{"a", one}, {"b", &same}}, compare.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		if c.Differ() || len(c.Settings) != 0 || len(c.Notes) != 0 {
			rt.Fatalf("a report differs from itself:\n%s", c.Text())
		}
		for _, m := range c.Metrics {
			if v := m.Values[1]; v.Change != nil && *v.Change != 0 || len(m.Notes) > 0 {
				rt.Errorf("%s: %+v, notes %v", m.Name, v, m.Notes)
			}
		}
	})
}

// mutate changes numbers, drops decisions and batches, so that reports are not only the well-formed ones.
func mutate(rt *rapid.T, r *scalehist.ReplayReport) {
	if rapid.Bool().Draw(rt, "no cost") {
		r.Cost = nil
	} else if r.Cost != nil {
		r.Cost.Total = rapid.Float64Range(0, 1e6).Draw(rt, "cost")
	}
	r.Pending.PodSeconds = rapid.Float64Range(0, 1e6).Draw(rt, "pod seconds")
	r.Decisions = r.Decisions[:rapid.IntRange(0, len(r.Decisions)).Draw(rt, "decisions")]
	r.WorkloadDecisions = r.WorkloadDecisions[:rapid.IntRange(0, len(r.WorkloadDecisions)).Draw(rt, "workload decisions")]
	r.Batches = r.Batches[:rapid.IntRange(0, len(r.Batches)).Draw(rt, "batches")]
	for i := range r.NodeGroups {
		for j := range r.NodeGroups[i].Sizes {
			r.NodeGroups[i].Sizes[j].Size = rapid.IntRange(0, 100).Draw(rt, "size")
		}
	}
	if rapid.Bool().Draw(rt, "per event") {
		r.Playback = scalehist.PlaybackPerEvent
	}
	r.EndTime = r.StartTime.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "length")) * time.Second)
}
