package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/report/sweep"
)

// examplePrices is a price table of the fixtures' machines.
var examplePrices = filepath.Join("..", "..", "..", "examples", "gate", "prices.yaml")

// sweepArgs are a sweep of a fixture in memory.
func sweepArgs(args ...string) []string {
	return append([]string{"sweep", fixture("two-machine-sizes"), "--control-plane", "memory"}, args...)
}

func TestSweep(t *testing.T) {
	plot := filepath.Join(t.TempDir(), "sweep.svg")
	code, stdout, stderr := run(t, t.Context(), sweepArgs("--prices", examplePrices, "--engine", "virtualca", "--engine", "recommender",
		"--set", "expander=least-waste,most-pods", "--set", "scale-down-unneeded-time=30s,10m", "--plot", plot, "-o", "json")...)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var got sweep.Sweep
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	type row struct {
		Label string
		Front bool
	}
	var rows []row
	for _, r := range got.Rows {
		rows = append(rows, row{r.Label(), r.Front})
	}
	want := []row{
		{"virtualca expander=least-waste scale-down-unneeded-time=30s", true},
		{"virtualca expander=least-waste scale-down-unneeded-time=10m", true},
		{"virtualca expander=most-pods scale-down-unneeded-time=30s", false},
		{"virtualca expander=most-pods scale-down-unneeded-time=10m", false},
		{"recommender scale-down-unneeded-time=30s", true}, // it has no expander
		{"recommender scale-down-unneeded-time=10m", true},
	}
	if diff := cmp.Diff(want, rows); diff != "" || got.X != "cost" || got.Y != "pending.pod-seconds" || got.Scenario != "two-machine-sizes" {
		t.Errorf("x %s, y %s, scenario %s, rows (-want +got):\n%s", got.X, got.Y, got.Scenario, diff)
	}
	svg, err := os.ReadFile(plot)
	if err != nil || !strings.Contains(string(svg), "Sweep of two-machine-sizes") {
		t.Errorf("plot: %v\n%s", err, svg)
	}
}

// TestSweepObjects: fields of objects are an axis like flags, in sweep and in compare, and what is not there is said before anything is replayed.
//
//scalehist:unraced
func TestSweepObjects(t *testing.T) {
	day := func(command string, args ...string) []string {
		examples := filepath.Join("..", "..", "..", "examples", "horizontal")
		return append([]string{command, fixture("full-day"), "--control-plane", "memory", "--from", "+8h", "--for", "3h", "--horizontal", "hpa",
			"--objects", filepath.Join(examples, "web.yaml"), "--load", filepath.Join(examples, "load.yaml")}, args...)
	}
	const target = "HorizontalPodAutoscaler/web:spec.metrics[0].resource.target.averageUtilization"
	code, stdout, stderr := run(t, t.Context(), day("sweep", "--vary", target+"=50,80", "--set", "expander=least-waste,most-pods", "--metric", "replicas.hours", "-o", "json")...)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var got sweep.Sweep
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	var labels []string
	hours := map[string]float64{}
	for _, r := range got.Rows {
		labels = append(labels, r.Label())
		hours[r.Settings[1].Value] = *r.Values[len(r.Values)-1].Value
		if r.Settings[1].Name != target {
			t.Errorf("a program reads %q, want the whole name", r.Settings[1].Name)
		}
	}
	want := []string{
		"virtualca expander=least-waste web:averageUtilization=50", "virtualca expander=least-waste web:averageUtilization=80",
		"virtualca expander=most-pods web:averageUtilization=50", "virtualca expander=most-pods web:averageUtilization=80",
	}
	if diff := cmp.Diff(want, labels); diff != "" || hours["50"] < 1.2*hours["80"] {
		t.Errorf("replica hours %v, rows (-want +got):\n%s", hours, diff)
	}
	if code, stdout, stderr = run(t, t.Context(), day("compare", "--vary", target+"=50,80")...); code != console.ExitOK || !strings.Contains(stdout, "web:averageUtilization=80") {
		t.Errorf("compare: exit %d, %s\n%s", code, stderr, stdout)
	}
	for vary, want := range map[string]string{
		"HorizontalPodAutoscaler/wep:spec.maxReplicas=1": "there is no such object: there are HorizontalPodAutoscaler/default/web",
		"HorizontalPodAutoscaler/web:spec.maxReplica=1":  `unknown key "maxReplica"; did you mean "maxReplicas" or "minReplicas"?`,
		"HorizontalPodAutoscaler/web:spec.maxReplicas=":  "want a field of an object and its values",
		"expander=most-pods":                             "no field of an object: write KIND/NAME:FIELD",
	} {
		code, stdout, stderr := run(t, t.Context(), day("sweep", "--vary", vary)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("--vary %s: exit %d, %s%s\nwant %q", vary, code, stdout, stderr, want)
		}
	}
	if code, _, stderr := run(t, t.Context(), sweepArgs("--vary", target+"=1,2")...); code != console.ExitFailed || !strings.Contains(stderr, "there are no objects to change: give them with --objects") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestSweepJobs: how many replays run at once changes no byte.
func TestSweepJobs(t *testing.T) {
	for _, format := range []string{"text", "markdown", "json"} {
		var first, firstPlot string
		for _, jobs := range []string{"1", "3", "8"} {
			plot := filepath.Join(t.TempDir(), "p.svg")
			code, stdout, stderr := run(t, t.Context(), sweepArgs("--set", "expander=least-waste,most-pods,least-nodes", "--set", "scan-interval=10s,30s", "--jobs", jobs, "-o", format, "--plot", plot)...)
			svg, err := os.ReadFile(plot)
			if code != console.ExitOK || err != nil {
				t.Fatalf("exit %d: %s, %v", code, stderr, err)
			}
			if first == "" {
				first, firstPlot = stdout, string(svg)
			}
			if diff := cmp.Diff(first, stdout); diff != "" || firstPlot != string(svg) {
				t.Errorf("--jobs %s gives another %s or plot:\n%s", jobs, format, diff)
			}
		}
	}
}

// TestSweepStopped: the second replay asks a recommender that stops the command; the table has the first.
func TestSweepStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		stop()
		http.Error(w, "stopped", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	code, stdout, stderr := run(t, ctx, sweepArgs("--jobs", "1", "--engine", "virtualca", "--engine", server.URL, "--set", "scan-interval=10s")...)
	for _, want := range []string{"1  virtualca", "not run", "1 of 2 replays was not run: the sweep was stopped"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("lacks %q:\n%s", want, stdout)
		}
	}
	if code != console.ExitInterrupted || !strings.Contains(stderr, "interrupted") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// TestSweepFailedReplay: it is a row, and the others are measured.
func TestSweepFailedReplay(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), sweepArgs("--set", "expander=price,least-waste")...)
	if code != console.ExitFailed || !strings.Contains(stderr, "1 of 2 replays failed, the first: virtualca expander=price") ||
		!strings.Contains(stdout, `row 1: `) || !strings.Contains(stdout, `expander "price" needs a price table`) || !strings.Contains(stdout, "*  2") {
		t.Errorf("exit %d: %s\n%s", code, stderr, stdout)
	}
}

func TestSweepRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"missing argument FILE.db":                            {"sweep"},
		"expander is there twice":                             sweepArgs("--set", "expander=price", "--set", "expander=random"),
		`expander "lest-waste" is not supported`:              sweepArgs("--set", "expander=least-waste,lest-waste"),
		"--set: autoscaler flag --scoring":                    sweepArgs("--set", "scoring=least-cost"),
		"the recommender has no such flag":                    sweepArgs("--engine", "recommender", "--set", "scorign=x"),
		`unknown autoscaler "best"`:                           sweepArgs("--engine", "best"),
		"--engine virtualca is there twice":                   sweepArgs("--engine", "virtualca", "--engine", "virtualca"),
		"--jobs must not be negative":                         sweepArgs("--jobs", "-1"),
		"the plot is SVG":                                     sweepArgs("--plot", "out.png"),
		"there is no front of it":                             sweepArgs("--x", "nodes.final"),
		"cots":                                                sweepArgs("--metric", "cots"),
		`--output "xml": must be text, markdown, json or csv`: sweepArgs("-o", "xml"),
		"autoscaler flag --scorign":                           sweepArgs("--autoscaler-flag=--scorign=x"),
		"history nowhere.db does not exist":                   {"sweep", "nowhere.db", "--control-plane", "memory"},
		"the grid has more than 10000 replays":                sweepArgs("--set", "scan-interval="+seconds(101), "--set", "scale-down-unneeded-time="+seconds(100)),
		"--region goes with --prices":                         sweepArgs("--region", "x"),
		`--control-plane "vm": want memory or envtest`:        {"sweep", fixture("two-machine-sizes"), "--control-plane", "vm"},
	} {
		code, stdout, stderr := run(t, t.Context(), args...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, error %q, want %q\n%s", args, code, stderr, want, stdout)
		}
	}
}

// seconds are so many durations, each another.
func seconds(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("%ds", i+1))
	}
	return strings.Join(out, ",")
}

// TestCompareReplaysNow: compare replays what it is asked to, and compares it as if it were saved.
//
//scalehist:unraced
func TestCompareReplaysNow(t *testing.T) {
	h := fixture("two-machine-sizes")
	code, stdout, stderr := run(t, t.Context(), "compare", h, "--control-plane", "memory", "--prices", examplePrices, "--set", "expander=least-waste,most-pods", "--label", "before,after", "--exit-code")
	if code != console.ExitDiffered {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	a, b := replayed(t, "two-machine-sizes", "--autoscaler-flag=--expander=least-waste"), replayed(t, "two-machine-sizes", "--autoscaler-flag=--expander=most-pods")
	_, want, _ := run(t, t.Context(), "compare", a, b, "--label", "before,after", "--exit-code")
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(stdout, "\n")); diff != "" {
		t.Errorf("saved and now (-saved +now):\n%s", diff)
	}
	code, stdout, stderr = run(t, t.Context(), "compare", h, "--control-plane", "memory", "--engine", "virtualca", "--engine", "recommender", "--engine", "recommender:optimal")
	for _, want := range []string{"virtualca (baseline)", "recommender:optimal"} {
		if code != console.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("exit %d, %s; lacks %q:\n%s", code, stderr, want, stdout)
		}
	}
	for want, args := range map[string][]string{
		"there is only one replay to run, virtualca":       {h},
		"give one history to replay, or reports; not both": {h, a},
		"--set says how to replay, and there is nothing":   {a, b, "--set", "expander=price,random"},
		"replays side by side cannot be read":              {h, "--set", "scan-interval=" + seconds(13)},
		"--label: 1 label for 2 replays":                   {h, "--set", "expander=least-waste,most-pods", "--label", "x"},
		`virtualca expander=price: `:                       {h, "--set", "expander=least-waste,price"},
		"history nowhere.db does not exist":                {"nowhere.db", "--set", "expander=least-waste,most-pods"},
	} {
		if strings.HasSuffix(args[0], ".db") {
			args = append(args, "--control-plane", "memory")
		}
		code, stdout, stderr := run(t, t.Context(), append([]string{"compare"}, args...)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("compare %v: exit %d, error %q, want %q", args, code, stderr, want)
		}
	}
}
