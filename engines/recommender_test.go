package engines

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/report"
)

func fixtures(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("..", "fixtures", "*", "recording.db"))
	if err != nil || len(all) == 0 {
		t.Fatal("no fixtures: ", err)
	}
	return all
}

// replayed plays a fixture in memory with an engine.
func replayed(t *testing.T, db, engine string, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	return replayedFor(t, db, engine, (*harness.Replayer).RecordDuration, opts...)
}

func replayedFor(t *testing.T, db, engine string, long func(*harness.Replayer) time.Duration, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	a, err := Named(engine)
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewReplayer(t.Context(), db, append([]harness.Option{harness.WithAutoscaler(a), harness.OnControlPlane(harness.Memory)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	got, err := r.Replay(t.Context(), long(r))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sizesOf are the nodes that came and went by group.
type sizesOf struct {
	Up, Down map[string]int
	Left     int
}

// TestRecommenderOnFixtures replays every fixture but the longest: with consolidation the recommender ends where the cluster
// autoscaler does on the scripted ones, which are small, but for groups that it chooses otherwise; on larger loads it chooses
// otherwise as a rule. Each replay gives the same bytes twice.
func TestRecommenderOnFixtures(t *testing.T) {
	none := map[string]int{}
	otherwise := map[string]map[string]sizesOf{
		// It does not balance between equals: the first in order wins.
		"balance-similar-groups": {"recommender": {map[string]int{"za": 5}, none, 0}, "recommender:optimal": {map[string]int{"za": 5}, none, 0}},
		// Greedy by least-waste takes five small nodes beside two large ones where four do.
		"priority-expander": {"recommender": {map[string]int{"ondemand-std4": 5, "spot-std8": 2}, none, 0}},
	}
	for _, db := range fixtures(t) {
		name := filepath.Base(filepath.Dir(db))
		if name == "openb-100" {
			continue // 1,067 pods, six times, take a minute
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ca := replayed(t, db, "virtualca")
			for _, engine := range []string{"recommender", "recommender:optimal"} {
				r := replayed(t, db, engine, harness.WithFlags("--consolidate"))
				want, special := otherwise[name][engine]
				if !special {
					want = sizesOf{ca.ScaledUpNodeGroups, ca.ScaledDownNodeGroups, len(ca.UnschedulableAtEnd)}
				}
				if diff := cmp.Diff(want, sizesOf{r.ScaledUpNodeGroups, r.ScaledDownNodeGroups, len(r.UnschedulableAtEnd)}); diff != "" && ca.Origin == scalehist.OriginScripted {
					t.Errorf("%s (-want +got):\n%s", engine, diff)
				}
				first, err := report.Canonical(r)
				if err != nil {
					t.Fatal(err)
				}
				second, err := report.Canonical(replayed(t, db, engine, harness.WithFlags("--consolidate")))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(strings.Split(string(first), "\n"), strings.Split(string(second), "\n")); diff != "" {
					t.Errorf("%s: another report at the second time:\n%s", engine, diff)
				}
			}
		})
	}
}

// TestWithoutConsolidation: nodes are removed only when that is asked for.
func TestWithoutConsolidation(t *testing.T) {
	r := replayed(t, filepath.Join("..", "fixtures", "empty-nodes-in-bulk", "recording.db"), "recommender")
	if len(r.ScaledDownNodeGroups) > 0 {
		t.Errorf("%v went", r.ScaledDownNodeGroups)
	}
}

func TestNamed(t *testing.T) {
	if diff := cmp.Diff([]string{"virtualca", "recommender", "recommender:greedy", "recommender:optimal"}, Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"recommender:best", "recommender:", "virtualca:x", ""} {
		if _, err := Named(name); err == nil || !strings.Contains(err.Error(), "choose one of virtualca, recommender, recommender:greedy") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestRecommenderFlags: what the recommender does not know is refused, with what it knows.
func TestRecommenderFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--scoring=least-cost":            "",
		"--weights=cpu=6,memory=1":        "",
		"--consolidate":                   "",
		"--consolidate=false":             "",
		"--ignore-min-size":               "",
		"--ignore-min-size=perhaps":       "want true or false",
		"--max-nodes-total=10":            "",
		"--scale-down-unneeded-time=1m":   "",
		"--expander=price":                "--expander: the recommender has no such flag; its own are --consolidate, --ignore-min-size, --new-pods-wait, --parallelism, --scoring, --weights",
		"--scorring=least-cost":           "--scorring: the recommender has no such flag",
		"--scoring=cheapest":              "choose one of least-cost, least-waste, weighted",
		"--weights=mem=1":                 `"mem" is no resource`,
		"--parallelism=-1":                "want a whole number",
		"--consolidate=maybe":             "want true or false",
		"--scoring":                       "the value is missing",
		"--max-nodes-total=many":          "want a whole number",
		"--scale-down-unneeded-time=soon": "want a duration",
		"scoring=least-cost":              "this is not a flag",
	} {
		err := CheckFlags("recommender:greedy", []string{flag})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", flag, err, want)
		}
	}
	if err := CheckFlags("virtualca", []string{"--scoring=least-cost"}); err == nil {
		t.Error("the cluster autoscaler takes a flag of the recommender")
	}
}

// TestPricesReachTheRecommender: with a price table the engine scores by cost, and says what the nodes cost.
func TestPricesReachTheRecommender(t *testing.T) {
	prices := &prices.Table{Currency: "EUR", MachineTypes: map[string]float64{"std-2": 0.2, "std-8": 0.3}}
	db := filepath.Join("..", "fixtures", "two-machine-sizes", "recording.db")
	// The three small pods of the end: two small nodes score best one by one, and a large one is cheaper.
	for engine, want := range map[string]struct {
		up   map[string]int
		says string
	}{
		"recommender":         {map[string]int{"large": 3, "small": 2}, "new nodes cost 0.4 EUR per hour, 33.3 % above the least there is, 0.3"},
		"recommender:optimal": {map[string]int{"large": 4}, "new nodes cost 0.3 EUR per hour, which is the least there is"},
	} {
		r := replayed(t, db, engine, harness.WithPrices(prices))
		if diff := cmp.Diff(want.up, r.ScaledUpNodeGroups); diff != "" {
			t.Errorf("%s: %s", engine, diff)
		}
		if text := report.Text(r); !strings.Contains(text, want.says) {
			t.Errorf("%s: %s", engine, text)
		}
	}
	prices.MachineTypes = map[string]float64{"std-2": 0.2}
	_, err := harness.NewReplayer(t.Context(), db, harness.WithPrices(prices), harness.OnControlPlane(harness.Memory), harness.WithAutoscaler(Recommender("")))
	if err == nil || !strings.Contains(err.Error(), "std-8") {
		t.Errorf("an unpriced type: %v", err)
	}
}
