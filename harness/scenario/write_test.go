package scenario

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/trace"
)

// TestAnyNamesAreWritten: whatever groups, pods, flags and the scenario are called, the file that is written says the same when it is read.
func TestAnyNamesAreWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "recording.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	names := rapid.OneOf(rapid.StringMatching(`[a-z0-9]{1,8}`), rapid.StringN(1, 12, -1), rapid.SampledFrom([]string{"yes", "null", "1", "~", "a, b", "{x}", "a: b", "#", "https://x/y:z", "*a", "&a", "- a", "'"}))
	rapid.Check(t, func(rt *rapid.T) {
		start := time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)
		group, pod := names.Draw(rt, "group"), names.Draw(rt, "pod")
		s := &Scenario{History: "recording.db", Settings: harness.Settings{Name: "a" + names.Draw(rt, "name"), Autoscaler: "virtualca", Flags: []string{"--" + names.Draw(rt, "flag")}, Load: names.Draw(rt, "load")}}
		if group == "*" || strings.ContainsAny(group+pod+s.Name, "\x00\ufffd\ufeff") || strings.ContainsFunc(group+pod+s.Name+s.Flags[0], unprintable) {
			rt.Skip("nothing is called that")
		}
		r := &scalehist.ReplayReport{
			Scenario: s.Name, StartTime: start, EndTime: start.Add(time.Minute), Playback: scalehist.PlaybackContinuous,
			NodeGroups: []scalehist.NodeGroupResult{{Name: group, Final: 3, ScaledUp: 3}}, ScaledUpNodeGroups: map[string]int{group: 3},
			Workloads:          []scalehist.WorkloadResult{{WorkloadRef: scalehist.WorkloadRef{Kind: "Deployment", Namespace: "other", Name: pod}, Controller: "hpa", Final: 4, Peak: 5, ScaledUp: 3, ScaledDown: 1}},
			UnschedulableAtEnd: []scalehist.UnschedulablePod{{Namespace: "other", Name: pod}},
			Decisions:          []scalehist.Decision{{At: start.Add(1500 * time.Microsecond), Loop: 1, ScaleUps: []scalehist.ScaleUp{{NodeGroup: group, To: 3}}}},
		}
		text := s.YAML(r)
		all, err := Parse([]byte(text), filepath.Join(dir, "x.yaml"), someEngines{})
		if err != nil || len(all) != 1 {
			rt.Fatalf("%v\n%s", err, text)
		}
		got := all[0]
		type said struct {
			Name, Flag, Pod, Group string
			Up, Final              int
			Load                   string
			Peak                   int
			At                     Offset
		}
		e := got.Expect
		want := said{s.Name, s.Flags[0], "other/" + pod, group, 3, 3, s.Load, 5, Offset{time.Millisecond, 2 * time.Millisecond, true}}
		if diff := cmp.Diff(want, said{got.Name, got.Flags[0], e.Unschedulable.Pods[0], e.Decisions[0].NodeGroup, e.ScaledUp[group].Min, e.FinalSizes[group].Max, got.Load, e.Workloads["Deployment/other/"+pod].Peak.Max, e.Decisions[0].At}); diff != "" {
			rt.Errorf("%s\n%s", diff, text)
		}
		s.Load = "" // the Go form refuses it
		if _, err := s.Go(r, "specs"); err != nil {
			rt.Error(err)
		}
	})
}

// TestSettingsAreReadAsTheyAreWritten: a scaffold leaves no setting out.
func TestSettingsAreReadAsTheyAreWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "recording.db"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "faults.yaml"), []byte("faults: [{kind: quota}]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		want := drawSettings(rt)
		text := (&Scenario{History: "recording.db", Settings: want}).YAML(&scalehist.ReplayReport{Decisions: []scalehist.Decision{}})
		all, err := Parse([]byte(text), filepath.Join(dir, "x.yaml"), someEngines{})
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(want, all[0].Settings, cmp.Comparer(func(a, b harness.Moment) bool { return a.String() == b.String() })); diff != "" {
			rt.Errorf("settings (-written +read):\n%s\n%s", diff, text)
		}
	})
}

// drawSettings sets any of the settings.
func drawSettings(rt *rapid.T) harness.Settings {
	s := harness.Settings{Name: "x", Faults: []trace.Fault{}}
	yes := func(name string) bool { return rapid.Bool().Draw(rt, name) }
	span := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 90).Draw(rt, name)) * time.Second
	}
	given := map[string]func(){
		"window": func() { s.Window = harness.Between(time.Unix(1e9, 0), time.Time{}) },
		"end":    func() { s.Window.To = harness.Between(time.Unix(2e9, 0), time.Time{}).From },
		"for":    func() { s.For = span("for") }, "autoscaler": func() { s.Autoscaler = "virtualca" }, "flags": func() { s.Flags = []string{"--a=b, c", "--d"} },
		"noScaleDown": func() { s.NoScaleDown = true }, "seed": func() { s.Seed = int64(span("seed")) }, "ties": func() { s.Ties = harness.TiesByCreation },
		"scheduler": func() { s.Scheduler = profile.ScoringBinPacking }, "plane": func() { s.ControlPlane = harness.EnvTest },
		"batch": func() { s.BatchInterval = span("batch") }, "delay": func() { s.ProvisionDelay = new(span("delay")) },
		"deletion": func() { s.DeletionDelay = new(span("deletion")) }, "termination": func() { s.Termination = new(time.Duration(0)) },
		"gpu": func() { s.GPULabel = "example.com/gpu" }, "signs": func() { s.Signs = true }, "skip": func() { s.SkipUnsupported = true },
		"full": func() { s.FullSnapshots = true }, "optimal": func() { s.Optimal = true }, "recorded": func() { s.RecordedFaults = new(false) },
		"bounds": func() { s.SetBounds("a: b", 1, 2) }, "delayOf": func() { s.SetProvisionDelay("std", span("delayOf")) }, "file": func() { s.FaultFile = "faults.yaml" },
		"fault": func() {
			s.Faults = append(s.Faults, trace.Fault{Kind: trace.FaultQuota, NodeGroup: "std", From: trace.Offset(time.Minute)})
		},
		"horizontal": func() { s.Horizontal = "hpa" }, "objects": func() { s.Objects = "a: b.yaml" }, "load": func() { s.Load = "load.yaml" },
		"prices": func() {
			s.Prices = &harness.Prices{Table: "public", Region: "aws/us-east-1", Model: "spot"}
			s.SetGroup("std", func(g *harness.GroupSettings) { g.PriceModel = "reserved" })
		},
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if yes(name) {
			given[name]()
		}
	}
	if len(s.Faults) == 0 {
		s.Faults = nil
	}
	return s
}

func unprintable(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0xd800 && r < 0xe000 || r >= 0xfff0 || r == 0x2028 || r == 0x2029
}

func TestSlug(t *testing.T) {
	for name, want := range map[string]string{"From zero: 100%, too": "from-zero-100-too", "a.b_c-d": "a.b_c-d", "..": "", "-x-": "x", "ÄÖ": ""} {
		if got := Slug(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
