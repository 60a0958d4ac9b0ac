package engines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/metrics"
)

// kept is a report with its moments, as it comes out of a file.
func kept(t *testing.T, db, engine string, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	var b bytes.Buffer
	if err := report.JSON(&b, replayed(t, db, engine, append(opts, harness.WithMoments())...)); err != nil {
		t.Fatal(err)
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

func snapshots(t *testing.T, from *scalehist.ReplayReport, engine string, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	a, err := Named(engine)
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.ReplaySnapshots(t.Context(), from, append(opts, harness.WithAutoscaler(a))...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSnapshotsAreWhatWasSeen: the recommender, which remembers nothing but backoff, decides about the snapshots of its own
// report as it did: the snapshots hold all that it saw.
func TestSnapshotsAreWhatWasSeen(t *testing.T) {
	events := 0
	for _, db := range fixtures(t) {
		if filepath.Base(filepath.Dir(db)) == "openb-100" {
			continue // a thousand pods at hundreds of moments take minutes
		}
		from := kept(t, db, "recommender")
		if from.Moments == nil {
			continue // nothing ever waits
		}
		got := snapshots(t, from, "recommender")
		for _, e := range got.Events {
			if len(e.Recorded) > 0 {
				events++
			}
			if diff := cmp.Diff(e.Recorded, e.Replayed); diff != "" || !e.Agreed {
				t.Errorf("%s at %s (-then +again):\n%s", from.Scenario, e.At, diff)
			}
		}
		if !got.Agreement.Agreed || !cmp.Equal(got.ScaledUpNodeGroups, got.Recorded.ScaledUpNodeGroups) {
			t.Errorf("%s: %+v", from.Scenario, got.Agreement)
		}
	}
	if events < 20 {
		t.Errorf("only %d events in which nodes were asked for: this shows little", events)
	}
}

// TestSnapshotsOfTheAutoscaler: what the recommender asks for is held against what the cluster autoscaler asked for, event by
// event, and summed up.
func TestSnapshotsOfTheAutoscaler(t *testing.T) {
	prices := harness.WithPrices(&prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"std-2": 0.2, "std-8": 0.3}})
	db := filepath.Join("..", "fixtures", "two-machine-sizes", "recording.db")
	got := snapshots(t, kept(t, db, "virtualca", prices), "recommender:optimal", prices)
	want := []string{"large +3 / large +3 true", "small +2 / large +1 false"}
	var lines []string
	for _, e := range got.Events {
		lines = append(lines, fmt.Sprintf("%s +%d / %s +%d %v", e.Recorded[0].NodeGroup, e.Recorded[0].To-e.Recorded[0].From,
			e.Replayed[0].NodeGroup, e.Replayed[0].To-e.Replayed[0].From, e.Agreed))
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]scalehist.GroupDifference{{NodeGroup: "large", Replayed: 1}, {NodeGroup: "small", Recorded: 2}}, got.Agreement.Groups); diff != "" || got.Agreement.Agreed {
		t.Errorf("agreed %v: %s", got.Agreement.Agreed, diff)
	}
	if diff := cmp.Diff(map[string]int{"large": 4}, got.ScaledUpNodeGroups); diff != "" {
		t.Error(diff)
	}
	text := report.Text(got)
	for _, want := range []string{"recommender:optimal, snapshots replay", "large +3, small +2  large +4", "1 of 2 agree", "source of the recorded sizes: decisions of virtualca"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if v := metrics.Of(got).Get("events.differing"); v.Value == nil || *v.Value != 1 {
		t.Errorf("events.differing: %+v", v)
	}
	first, err := report.Canonical(got)
	if err != nil {
		t.Fatal(err)
	}
	second, err := report.Canonical(snapshots(t, kept(t, db, "virtualca", prices), "recommender:optimal", prices))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("another report at the second time:\n%s", diff)
	}
}

func TestSnapshotsErrors(t *testing.T) {
	db := filepath.Join("..", "fixtures", "two-machine-sizes", "recording.db")
	without := replayed(t, db, "virtualca")
	_, err := harness.ReplaySnapshots(t.Context(), without, harness.WithAutoscaler(ClusterAutoscaler()))
	if err == nil || !strings.Contains(err.Error(), "make it with 'scalehist replay --full-snapshots'") {
		t.Errorf("without moments: %v", err)
	}
	if err := JudgeScaleUps(t.Context(), without, nil); err == nil || !strings.Contains(err.Error(), "make it with 'scalehist replay --optimal'") {
		t.Errorf("judged without moments: %v", err)
	}
	with := kept(t, db, "virtualca")
	with.Moments.Moments[0].Objects["pods"] = [][2]int{{0, 999}}
	_, err = harness.ReplaySnapshots(t.Context(), with, harness.WithAutoscaler(ClusterAutoscaler()))
	if err == nil || !strings.Contains(err.Error(), "moment 1 of") {
		t.Errorf("damaged: %v", err)
	}
	if _, err = harness.ReplaySnapshots(t.Context(), with); err == nil || !strings.Contains(err.Error(), "no autoscaler") {
		t.Errorf("no autoscaler: %v", err)
	}
}

// TestJudgeScaleUps: the cluster autoscaler knows no prices: three large nodes are the least there is, two small ones are a
// third dearer than one large.
func TestJudgeScaleUps(t *testing.T) {
	prices := &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"std-2": 0.2, "std-8": 0.3}}
	r := kept(t, filepath.Join("..", "fixtures", "two-machine-sizes", "recording.db"), "virtualca", harness.WithPrices(prices))
	if v := metrics.Of(r).Get("optimal.distance"); v.Value != nil || v.Missing != "2 of 2 scale-ups were not judged: replay with --optimal" {
		t.Errorf("before: %+v", v)
	}
	if err := JudgeScaleUps(t.Context(), r, prices); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range r.Decisions {
		if len(d.ScaleUps) > 0 {
			got = append(got, d.Optimality.String())
			if !strings.Contains(strings.Join(d.Notes, "\n"), d.Optimality.String()) {
				t.Errorf("no note says it: %q", d.Notes)
			}
		}
	}
	want := []string{"new nodes cost 0.9 EUR per hour, which is the least there is", "new nodes cost 0.4 EUR per hour, 33.3 % above the least there is, 0.3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if v := metrics.Of(r).Get("optimal.distance"); v.Value == nil || *v.Value < 8.33 || *v.Value > 8.34 {
		t.Errorf("optimal.distance: %+v, want 100 * (1.3/1.2 - 1)", v)
	}
	delete(prices.MachineTypes, "std-8")
	if err := JudgeScaleUps(t.Context(), r, prices); err == nil || !strings.Contains(err.Error(), "std-8") {
		t.Errorf("an unpriced type: %v", err)
	}
}

// TestJudgedAsItSaysItself: what the recommender says of its own plans is what an outsider finds, on every fixture but openb-100: with
// a thousand pods the bound is not exact, and both stop at one of their own. Costs are sums in orders of their own.
func TestJudgedAsItSaysItself(t *testing.T) {
	judged := 0
	for _, db := range fixtures(t) {
		if filepath.Base(filepath.Dir(db)) == "openb-100" {
			continue
		}
		for _, engine := range []string{"recommender", "recommender:optimal"} {
			r := kept(t, db, engine)
			reported := map[int]scalehist.Optimality{}
			for _, d := range r.Decisions {
				if d.Optimality != nil {
					reported[d.Loop] = *d.Optimality
				}
			}
			if err := JudgeScaleUps(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			for _, d := range r.Decisions {
				if len(d.ScaleUps) == 0 {
					continue
				}
				judged++
				if diff := cmp.Diff(reported[d.Loop], *d.Optimality, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
					t.Errorf("%s, %s, loop %d (-told +judged):\n%s", r.Scenario, engine, d.Loop, diff)
				}
			}
		}
	}
	if judged < 20 {
		t.Errorf("only %d scale-ups were judged: this shows little", judged)
	}
}
