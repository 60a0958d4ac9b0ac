package gate

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/ci"
	"github.com/scalehist/scalehist/report/metrics"
)

var update = flag.Bool("update", false, "rewrite docs/gate.schema.json and the golden files of this package")

func golden(t *testing.T, path, got string) {
	t.Helper()
	goldentest.Text(t, path, got, *update)
}

func load(t testing.TB, dir string) []Scenario {
	t.Helper()
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func policy(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := ParsePolicy([]byte(text), "gate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPages: the candidate has another expander and lacks a scenario.
func TestPages(t *testing.T) {
	p := policy(t, Example())
	v, err := Judge(p, load(t, "testdata/baseline"), load(t, "testdata/candidate"))
	if err != nil {
		t.Fatal(err)
	}
	v.Baseline, v.Candidate = "baseline", "candidate"
	if v.Passed || v.Violations() != 4 {
		t.Errorf("passed %v with %d violations, want 4", v.Passed, v.Violations())
	}
	golden(t, "testdata/verdict.txt", v.Text(false))
	golden(t, "testdata/verdict.md", v.Markdown())
	golden(t, "testdata/verdict.github", v.GitHub())
	junit, err := v.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/verdict.xml", string(junit))
	var suite ci.Suite
	if err := xml.Unmarshal(junit, &suite); err != nil || suite.Failures != 4 || suite.Tests != len(suite.Cases) {
		t.Errorf("JUnit: %v, %d failures of %d tests in %d cases", err, suite.Failures, suite.Tests, len(suite.Cases))
	}
	if all := v.Text(true); strings.Contains(all, "without any change") || !strings.Contains(all, "pending.max") {
		t.Errorf("all checks are not listed:\n%s", all)
	}
	b, err := json.Marshal(v)
	if err != nil || !strings.Contains(string(b), `"result":"violated"`) {
		t.Errorf("JSON: %v", err)
	}
}

// TestNarrow: on a narrow terminal a check is two lines.
func TestNarrow(t *testing.T) {
	v, err := Judge(policy(t, Example()), load(t, "testdata/baseline"), load(t, "testdata/candidate"))
	if err != nil {
		t.Fatal(err)
	}
	narrow := v.TextWithin(false, 80)
	table, _, _ := strings.Cut(narrow, "without any change")
	for line := range strings.SplitSeq(table, "\n") {
		if report.Width(line) > 80 {
			t.Errorf("%d columns: %s", report.Width(line), line)
		}
	}
	if !strings.Contains(narrow, "VIOLATED: two-machine-sizes: cost.per-pod-hour\n  0.") || v.TextWithin(false, 1000) != v.Text(false) {
		t.Errorf("narrow:\n%s", narrow)
	}
}

// TestViolations: each says what, by how much, in which scenario and which decision was the first to differ.
func TestViolations(t *testing.T) {
	for name, tc := range map[string]struct {
		policy string
		change func(*scalehist.ReplayReport)
		want   []string
	}{
		"dearer":                 {"limits: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Cost.Total *= 2 }, []string{"two-machine-sizes: cost went from 0.048333 EUR to 0.096666 EUR (+0.048333 EUR, +100 %), limit +2%", "every decision is the same: what changed is what was asked for"}},
		"a pod without a node":   {"limits: {unschedulable: +0}", func(r *scalehist.ReplayReport) { r.UnschedulableAtEnd = make([]scalehist.UnschedulablePod, 1) }, []string{"unschedulable went from 0 to 1 (+1), limit +0"}},
		"slower":                 {"limits: {pending.p95: +5s}", func(r *scalehist.ReplayReport) { r.Pending.P95 += 6 }, []string{"pending.p95 went from 40s to 46s (+6s, +15 %), limit +5s"}},
		"too slow in itself":     {"limits: {pending.p95: <= 30s}", nil, []string{"pending.p95 stayed 40s, limit <= 30s"}},
		"no cost any more":       {"limits: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Cost = nil }, []string{"the baseline has it, the candidate has not: replayed without prices"}},
		"another currency":       {"limits: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Cost.Currency = "USD" }, []string{"the baseline is in EUR, the candidate in USD"}},
		"another currency total": {"total: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Cost.Currency = "USD" }, []string{"(total): in scenario two-machine-sizes the baseline is in EUR, the candidate in USD"}},
		"no cost in total":       {"total: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Cost = nil }, []string{"(total): in scenario two-machine-sizes the baseline has it"}},
		"a total":                {"total: {pending.pod-seconds: +1%}", func(r *scalehist.ReplayReport) { r.Pending.PodSeconds *= 2 }, []string{"(total): pending.pod-seconds went from 18m15s to 23m15s (+5m0s, +27.4 %), limit +1%; most of it in scenario two-machine-sizes", "in two-machine-sizes, every decision is the same"}},
		"another recording":      {"limits: {cost: +2%}", func(r *scalehist.ReplayReport) { r.Inputs[0].SHA256 = "f00" }, []string{"two-machine-sizes: cannot be compared: they replay different recordings (history is"}},
		"no decision changes":    {"limits: {decisions.changed: +0}", func(r *scalehist.ReplayReport) { r.Decisions[0].At = r.Decisions[0].At.Add(1) }, []string{"decisions.changed went from 0 to 1 (+1), limit +0", "first decision that differs, at +20s:"}},
		"no group changes": {"limits: {node-groups.changed: +0}", func(r *scalehist.ReplayReport) { r.NodeGroups[0].ScaledUp++; r.NodeGroups[0].Final++ },
			[]string{"node-groups.changed went from 0 to 1 (+1), limit +0; large +4 -0 instead of +3 -0"}},
		"a total of decisions": {"total: {decisions.changed: <= 1}", func(r *scalehist.ReplayReport) { r.Decisions = nil }, []string{"(total): decisions.changed went from 0 to 2 (+2), limit <= 1; most of it in scenario two-machine-sizes"}},
		"a share of nothing":   {"limits: {scale-ups.failed: +50%}", func(r *scalehist.ReplayReport) { r.Decisions[0].Failed = make([]scalehist.FailedScaleUp, 1) }, []string{"scale-ups.failed went from 0 to 1 (+1), limit +50%"}},
		"another decision":     {"limits: {churn.steps: +0}", func(r *scalehist.ReplayReport) { r.Decisions = nil; r.NodeGroups[0].Sizes[1].Size++ }, []string{"churn.steps went from 5 to 6", "first decision that differs, at +20s:", "candidate: no decision that mattered by then"}},
		"cheaper for the pods left": {"limits: {cost: +2%, unschedulable: +0}", func(r *scalehist.ReplayReport) {
			r.Cost.Total /= 2
			r.UnschedulableAtEnd = make([]scalehist.UnschedulablePod, 2)
		}, []string{"unschedulable went from 0 to 2", "note: two-machine-sizes: cost: the candidate is cheaper, and leaves 2 pods without a node (the baseline: no pod): part of the difference is work not done, so no saving"}},
	} {
		t.Run(name, func(t *testing.T) {
			base, candidate := load(t, "testdata/baseline"), load(t, "testdata/baseline")
			if tc.change != nil {
				tc.change(find(candidate, "two-machine-sizes").Report)
			}
			v, err := Judge(policy(t, tc.policy), base, candidate)
			if err != nil || v.Passed {
				t.Fatalf("passed %v, %v", v.Passed, err)
			}
			for _, want := range tc.want {
				if text := v.Text(false); !strings.Contains(text, want) {
					t.Errorf("lacks %q:\n%s", want, text)
				}
			}
		})
	}
}

// TestAllowed: what the policy excuses does not fail, and is shown.
func TestAllowed(t *testing.T) {
	base, candidate := load(t, "testdata/baseline"), load(t, "testdata/baseline")
	base, candidate = base[1:], candidate[:len(candidate)-1] // one is new, one is gone, one is on both sides
	v, err := Judge(policy(t, "limits: {unschedulable: +0}"), base, candidate)
	if err != nil || v.Violations() != 2 {
		t.Errorf("%d violations, %v, want 2", v.Violations(), err)
	}
	v, err = Judge(policy(t, "limits: {unschedulable: +0}\nallow: {new: max-*, gone: [zonal-spread]}"), base, candidate)
	if err != nil || !v.Passed || strings.Count(v.Text(false), "allowed") != 2 {
		t.Errorf("passed %v, %v:\n%s", v.Passed, err, v.Text(false))
	}
	candidate[1].Report.Inputs[0].SHA256 = "f00"
	if _, err = Judge(policy(t, "limits: {unschedulable: +0}\nallow: {new: '*', gone: '*', rerecorded: '*'}"), base, candidate); err == nil || !strings.Contains(err.Error(), "nothing to judge") {
		t.Errorf("everything excused: %v", err)
	}
}

// TestTotalsAreOfBothSides: a scenario on one side only is no saving in a total, and fails by itself.
func TestTotalsAreOfBothSides(t *testing.T) {
	base, candidate := load(t, "testdata/baseline"), load(t, "testdata/baseline")
	whole, err := Judge(policy(t, "total: {cost: +0}"), base, candidate)
	if err != nil {
		t.Fatal(err)
	}
	v, err := Judge(policy(t, "total: {cost: +0}"), base, candidate[:1])
	if err != nil || v.Passed || *v.Total[0].Change != 0 || *v.Total[0].Baseline >= *whole.Total[0].Baseline {
		t.Errorf("%v, passed %v, total %+v", err, v.Passed, v.Total)
	}
	if text := v.Text(false); strings.Count(text, "the candidate has no report of it (gone)") != 4 {
		t.Errorf("the scenarios that are gone are not named:\n%s", text)
	}
}

// TestNeverJudged: a limit that no scenario has a value for is no limit that holds.
func TestNeverJudged(t *testing.T) {
	base := load(t, "testdata/baseline")
	for _, s := range base {
		s.Report.Cost = nil
	}
	const text = "limits:\n  unschedulable: +0\n  cost: +2%\ntotal:\n  cost: +1%\n"
	_, err := Judge(policy(t, text), base, base)
	for _, want := range []string{"policy gate.yaml: line 3: cost could be judged in no scenario", "--prices", "line 5: cost could be judged"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	base = load(t, "testdata/baseline")
	base[0].Report.Cost = nil
	v, err := Judge(policy(t, text), base, base)
	if err != nil || !v.Passed || !strings.Contains(v.Headline(), "1 limit could not be judged") || !strings.Contains(v.Text(false), "not reported by 1 of 3 scenarios") {
		t.Errorf("one scenario without a cost: %v, %v\n%s", v.Passed, err, v.Text(false))
	}
	v, err = Judge(policy(t, "limits: {unschedulable: +0}\nscenarios: [{match: zonl-*, limits: {unschedulable: +5}}]"), base, base)
	if err != nil || len(v.Notes) != 1 || v.Notes[0] != "policy line 2: no scenario matches zonl-*" {
		t.Errorf("a mistyped pattern: %v, notes %q", err, v.Notes)
	}
}

// TestRepeats: a candidate must give the same bytes every time, whatever the limits.
func TestRepeats(t *testing.T) {
	const name = "two-machine-sizes"
	p := policy(t, "deterministic: true\nlimits: {unschedulable: +0}")
	base := load(t, "testdata/baseline")
	if _, err := Judge(p, base, base); err == nil || !strings.Contains(err.Error(), "policy gate.yaml: line 1: deterministic: there is only one run of the candidate") {
		t.Errorf("no repeat: %v", err)
	}
	copied := load(t, "testdata/baseline")
	for _, list := range [][]Scenario{base, copied} {
		for _, s := range list {
			s.Report.Run = &scalehist.RunInfo{Machine: "one", StartedAt: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)}
		}
	}
	if v, err := Judge(p, base, base, copied); err != nil || v.Passed || !strings.Contains(v.Text(false), "the repeat is a copy of the candidate's report") {
		t.Errorf("a copy: %v, passed %v:\n%s", err, v.Passed, v.Text(true))
	}
	for _, s := range copied {
		s.Report.Run.StartedAt = s.Report.Run.StartedAt.Add(time.Minute)
	}
	if v, err := Judge(p, base, base, copied, copied); err != nil || !v.Passed || !strings.Contains(v.Text(true), "same every time") {
		t.Errorf("another run: %v, passed %v:\n%s", err, v.Passed, v.Text(true))
	}
	for what, tc := range map[string]struct {
		change func(*scalehist.ReplayReport)
		want   []string
	}{
		"the same":      {func(*scalehist.ReplayReport) {}, nil},
		"decides":       {func(r *scalehist.ReplayReport) { r.Decisions[0].ScaleUps[0].To++ }, []string{"two-machine-sizes: is not deterministic: two runs of the candidate decide otherwise", "first decision that differs between two runs of the candidate, at +20s:", "another:"}},
		"explains":      {func(r *scalehist.ReplayReport) { r.Decisions[0].Options[0].Reason = "the dice" }, []string{"do the same, and explain it otherwise", "the dice"}},
		"places":        {func(r *scalehist.ReplayReport) { r.Batches[0].Scheduled++ }, []string{"decide alike, and their reports differ (pods)"}},
		"flags":         {func(r *scalehist.ReplayReport) { r.Settings.Flags = append(r.Settings.Flags, "--x=1") }, []string{"the repeat was asked for something else"}},
		"a recording":   {func(r *scalehist.ReplayReport) { r.Inputs[0].SHA256 = "f00" }, []string{"the repeat is of something else: they replay different recordings"}},
		"another thing": {func(r *scalehist.ReplayReport) { r.Scenario = "other" }, []string{"two-machine-sizes: was not replayed again"}},
	} {
		t.Run(what, func(t *testing.T) {
			again := load(t, "testdata/baseline")
			for i := range again {
				again[i].Report.Run = nil
			}
			s := find(again, name)
			tc.change(s.Report)
			s.Name = s.Report.Scenario
			v, err := Judge(p, base, base, again)
			if err != nil || v.Passed != (tc.want == nil) {
				t.Fatalf("passed %v, %v:\n%s", v.Passed, err, v.Text(true))
			}
			junit, err := v.JUnit()
			for _, want := range tc.want {
				if text := v.Text(false); err != nil || !strings.Contains(text, want) {
					t.Errorf("%v, lacks %q:\n%s", err, want, text)
				}
			}
			if v.Violations() > 1 || strings.Count(string(junit), `name="deterministic"`) != len(base) || strings.Contains(string(junit), "<failure") != (tc.want != nil) {
				t.Errorf("%d violations\n%s", v.Violations(), junit)
			}
			if tc.want != nil && !strings.Contains(v.GitHub(), "::error file=gate.yaml,line=1,title=gate two-machine-sizes::") {
				t.Errorf("no annotation at the line of the policy:\n%s", v.GitHub())
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	twice := t.TempDir()
	for _, sub := range []string{"a", "b"} {
		if err := report.Save(filepath.Join(twice, sub), load(t, "testdata/baseline")[0].Report); err != nil {
			t.Fatal(err)
		}
	}
	damaged := t.TempDir()
	if err := os.WriteFile(filepath.Join(damaged, "report.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	older := t.TempDir()
	if err := os.WriteFile(filepath.Join(older, "report.json"), []byte(`{"version":"scalehist.io/report/v0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		older:                    `is a report of version "scalehist.io/report/v0", this scalehist reads "scalehist.io/report/v1": replay again with this scalehist`,
		filepath.Join(dir, "no"): "does not exist: write reports there with 'scalehist replay FILE.db --report-dir'",
		file:                     "is no directory",
		dir:                      "has no report.json in it",
		twice:                    `scenario "max-size-reached" has two reports, `,
		damaged:                  "is not a replay report",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestIdenticalPasses: a candidate equal to the baseline is within every policy whose limits do not ask to be better.
func TestIdenticalPasses(t *testing.T) {
	base := load(t, "testdata/baseline")
	measured := map[string]bool{}
	for _, s := range base {
		for _, v := range metrics.Of(s.Report) {
			measured[v.Name] = measured[v.Name] || v.Value != nil
		}
	}
	var able []metrics.Metric
	for _, m := range metrics.All() {
		if measured[m.Name] {
			able = append(able, m)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		limits := func(section, indent string, only func(metrics.Metric) bool) {
			fmt.Fprintf(&b, "%s:\n", section)
			seen := map[string]bool{}
			for range rapid.IntRange(1, 6).Draw(rt, "limits") {
				m := rapid.SampledFrom(able).Draw(rt, "metric")
				if seen[m.Name] || !only(m) {
					continue
				}
				seen[m.Name] = true
				fmt.Fprintf(&b, "%s%s: %s\n", indent, m.Name, drawLimit(rt, m))
			}
		}
		b.WriteString("# a policy\n")
		limits("limits", "  ", func(metrics.Metric) bool { return true })
		limits("total", "  ", func(m metrics.Metric) bool { return m.Total != metrics.NoTotal })
		b.WriteString("scenarios:\n- match: '*-*'\n")
		limits("  limits", "    ", func(metrics.Metric) bool { return true })
		p, err := ParsePolicy([]byte(b.String()), "gate.yaml")
		if err != nil {
			if strings.Contains(err.Error(), "there is no limit in it") {
				rt.Skip("only sections without limits")
			}
			rt.Fatalf("%v\n%s", err, b.String())
		}
		for _, list := range append([][]MetricLimit{p.Limits, p.Total}, overrideLimits(p)...) {
			for _, l := range list {
				if !l.Limit.Lenient(l.Metric.Better) {
					rt.Fatalf("%s %s is not lenient", l.Metric.Name, l.Limit.Text)
				}
			}
		}
		v, err := Judge(p, base, base)
		if err != nil || !v.Passed {
			rt.Fatalf("passed %v, %v, under\n%s\n%s", v != nil && v.Passed, err, b.String(), v.Text(true))
		}
	})
}

// drawLimit is a limit that a candidate equal to the baseline keeps.
func drawLimit(rt *rapid.T, m metrics.Metric) string {
	sign := map[metrics.Better]string{metrics.Less: "+", metrics.More: "-", metrics.Neither: "±"}[m.Better]
	n := rapid.IntRange(0, 1000).Draw(rt, "by")
	unit := map[string]string{metrics.Seconds: "s", metrics.Percent: "pp"}[m.Unit]
	return rapid.SampledFrom([]string{
		fmt.Sprintf("%s%d%%", sign, n), fmt.Sprintf("%s%d%s", sign, n, unit), fmt.Sprintf("%s%d%% or %s%d%s", sign, n, sign, n, unit), fmt.Sprintf("±%d%%", n), sign + "0%", "off",
	}).Draw(rt, "limit")
}
