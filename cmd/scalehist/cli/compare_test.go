package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
)

// replayed replays a fixture in memory with the example's prices, and returns where the report is.
func replayed(t *testing.T, name string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	code, _, stderr := run(t, t.Context(), append([]string{"replay", fixture(name), "--control-plane", "memory", "--prices", filepath.Join("..", "..", "..", "examples", "gate", "prices.yaml"), "--report-dir", dir}, args...)...)
	if code == console.ExitFailed {
		t.Fatal(stderr)
	}
	return dir
}

func TestCompare(t *testing.T) {
	const name = "two-machine-sizes"
	a, b, other := replayed(t, name), replayed(t, name, "--autoscaler-flag=--expander=most-pods"), replayed(t, "zonal-spread")
	code, stdout, stderr := run(t, t.Context(), "compare", a, filepath.Join(b, "report.json"), "--label", "before,after")
	for _, want := range []string{"before (baseline)", "large", "cost.per-pod-hour", "first differing decision of before and after", "* option small: 2 nodes for 3 pods", "* option large: 1 node for 3 pods"} {
		if code != console.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, %s; lacks %q:\n%s", code, stderr, want, stdout)
		}
	}
	code, stdout, _ = run(t, t.Context(), "compare", a, b, "-o", "json", "--exit-code")
	var c struct{ Metrics []struct{ Name string } }
	if err := json.Unmarshal([]byte(stdout), &c); code != console.ExitDiffered || err != nil || len(c.Metrics) == 0 {
		t.Errorf("JSON: exit %d, %v", code, err)
	}
	if code, stdout, _ = run(t, t.Context(), "compare", a, a, "--exit-code", "-o", "markdown"); code != console.ExitOK || !strings.Contains(stdout, "None: every decision is the same") {
		t.Errorf("with itself: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ = run(t, t.Context(), "compare", "--explain-metrics"); code != console.ExitOK || !strings.Contains(stdout, "pending.p95: wait of a pod") {
		t.Errorf("--explain-metrics: exit %d\n%s", code, stdout)
	}
	if code, stdout, _ = run(t, t.Context(), "compare", a, other, "--force"); code != console.ExitOK || !strings.Contains(stdout, "compared by force") {
		t.Errorf("--force: exit %d\n%s", code, stdout)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"give two reports or more, the baseline first", []string{a}},
		{"cannot be compared: they replay different recordings", []string{a, other}},
		{"report no/report does not exist", []string{a, "no/report"}},
		{"--label: 1 label for 2 reports", []string{a, b, "--label", "x"}},
		{`--output "xml": must be text, markdown or json`, []string{a, b, "-o", "xml"}},
		{"--explain-metrics takes no reports", []string{a, "--explain-metrics"}},
	} {
		code, stdout, stderr := run(t, t.Context(), append([]string{"compare"}, tt.args...)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("compare %v: exit %d, error %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
}

func TestLabelsOf(t *testing.T) {
	for _, tc := range []struct{ paths, want []string }{
		{[]string{"gen/a/report.json", "gen/b/"}, []string{"a", "b"}},
		{[]string{"x/s/report.json", "y/s"}, []string{"x", "y"}},
		{[]string{"g/x/s/t", "g/y/s/t", "z/s/t"}, []string{"x", "y", "z"}},
		{[]string{"/s", "y/s"}, []string{"/s", "y/s"}},
		{[]string{"s", "x/s"}, []string{"s", "x/s"}},
		{[]string{"s", "s"}, []string{"s (1)", "s (2)"}},
	} {
		if diff := cmp.Diff(tc.want, replays.LabelsOf(tc.paths)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tc.paths, diff)
		}
	}
}

// TestReplayPrices: which prices of a table are meant, and what is said when that is not clear.
func TestReplayPrices(t *testing.T) {
	regions := written(t, "prices.yaml", []byte(`
currency: USD
lists:
- {provider: x, region: north, machineTypes: {std-2: {onDemand: 0.1, spot: 0.04}, std-8: {onDemand: 0.4, spot: 0.2}}}
- {provider: x, region: south, machineTypes: {std-2: {onDemand: 0.2}, std-8: {onDemand: 0.8}}}
`))
	total := func(args ...string) float64 {
		t.Helper()
		code, stdout, stderr := run(t, t.Context(), append([]string{"replay", fixture("two-machine-sizes"), "--control-plane", "memory", "-o", "json", "--prices", regions}, args...)...)
		var r struct{ Cost struct{ Total float64 } }
		if err := json.Unmarshal([]byte(stdout), &r); code != console.ExitOK || err != nil {
			t.Fatalf("exit %d, %v: %s", code, err, stderr)
		}
		return r.Cost.Total
	}
	north, south, spot, mixed := total("--region", "north"), total("--region", "x/south"), total("--region", "north", "--price-model", "spot"), total("--region", "north", "--price-model-of", "large=spot")
	if south <= north || spot >= mixed || mixed >= north {
		t.Errorf("north %v, south %v, spot %v, large group on spot %v", north, south, spot, mixed)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"it has prices of x/north, x/south: choose a region", []string{"--prices", regions}},
		{`region "nroth" is not in it: choose one of x/north, x/south; did you mean "north"?`, []string{"--prices", regions, "--region", "nroth"}},
		{`machine type "std-8" has no spot price in the price table of x south (only on-demand), and the price model is spot`, []string{"--prices", regions, "--region", "south", "--price-model", "spot"}},
		{`--price-model: price model "lease": want on-demand, spot or reserved`, []string{"--prices", regions, "--price-model", "lease"}},
		{"--price-model-of large: price model", []string{"--prices", regions, "--price-model-of", "large=x"}},
		{`node group "lrge" does not exist`, []string{"--prices", regions, "--region", "north", "--price-model-of", "lrge=spot"}},
		{"--region goes with --prices", []string{"--region", "north"}},
		{"it has prices of aws/us-east-1, azure/eastus, gcp/us-central1", []string{"--prices", "public"}},
		{`machine type "std-8" is not in the price table of aws us-east-1`, []string{"--prices", "public", "--region", "us-east-1"}},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"replay", fixture("two-machine-sizes"), "--control-plane", "memory"}, tt.args...)...)
		if code != console.ExitFailed || !strings.Contains(stderr, tt.want) {
			t.Errorf("replay %v: exit %d, error %q, want %q", tt.args, code, stderr, tt.want)
		}
	}
	if _, stdout, _ := run(t, t.Context(), "__complete", "replay", "--prices", "public", "--region", ""); !strings.Contains(stdout, "azure/eastus\n") {
		t.Errorf("completion of --region: %q", stdout)
	}
}
