package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/backtest/foresight"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/promserve"
)

// randomMetric is two hours of a recorded query, requests, with a value each 30 seconds.
func randomMetric(t *testing.T) (path string, start time.Time) {
	t.Helper()
	path, start = filepath.Join(t.TempDir(), "metrics.db"), time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test"})
	if err == nil {
		_, err = w.Begin(t.Context(), start, nil)
	}
	o := &v1alpha1.MetricQuery{Spec: v1alpha1.MetricQuerySpec{Query: "sum(rate(requests_total[1m]))", StepSeconds: 30}}
	o.Name = "requests"
	if err == nil {
		err = w.Write(t.Context(), []history.Entry{{ObservedAt: start, Change: scalehist.Change{At: start, Op: scalehist.OpAdd, Object: o}}})
	}
	rng := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // a test's
	for at := start; !at.After(start.Add(2*time.Hour)) && err == nil; at = at.Add(30 * time.Second) {
		err = w.Sample(t.Context(), []history.Sample{{Series: "requests", At: at, Value: float64(rng.IntN(1000))}})
	}
	if err == nil {
		err = w.End(t.Context(), start.Add(2*time.Hour))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path, start
}

// TestForecastAsPromQL: at every step the seasonal naive forecast is what Prometheus' own engine says of the same stretch of the season before
// (max_over_time with an offset), the last value the metric, and what came the same with the offset the other way.
func TestForecastAsPromQL(t *testing.T) {
	path, start := randomMetric(t)
	code, stdout, stderr := run(t, t.Context(), "horizontal", "forecast", path, "--query", "requests", "--season", "20m", "--lead", "3m", "--step", "30s", "-o", "csv")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	server, err := promserve.New(t.Context(), db, promserve.Clock{})
	if err != nil {
		t.Fatal(err)
	}
	for column, query := range map[int]string{2: "requests", 3: "max_over_time(requests[3m] offset -3m)", 4: "requests", 5: "max_over_time(requests[3m] offset 17m)"} {
		m, err := server.Range(t.Context(), query, start, start.Add(2*time.Hour), 30*time.Second)
		if err != nil || len(m) != 1 {
			t.Fatalf("%s: %v, %v", query, m, err)
		}
		want := map[string]string{}
		for _, p := range m[0].Floats {
			want[time.UnixMilli(p.T).UTC().Format(time.RFC3339)] = strconv.FormatFloat(p.F, 'g', 9, 64)
		}
		compared := 0
		for _, row := range rows[1:] {
			if row[column] == want[row[1]] {
				compared++
				continue
			}
			if column == 5 && row[1] == "2024-05-28T10:19:30Z" { // its range begins just before the recording, at which there is no value
				continue
			}
			t.Errorf("%s at %s: %q, want %q", rows[0][column], row[1], row[column], want[row[1]])
		}
		if compared < 195 {
			t.Errorf("%s: %d values are compared", rows[0][column], compared)
		}
	}
}

// TestForecast: usage of a history, a load file beside it and alone, in all formats; the same flags print the same.
func TestForecast(t *testing.T) {
	dir := t.TempDir()
	load, page := filepath.Join(dir, "load.yaml"), filepath.Join(dir, "x.html")
	if err := os.WriteFile(load, []byte(`series:
- {workload: Deployment/shop/web, metric: requests, points: [{at: 0s, value: 1}, {at: 30m, value: 9}, {at: 1h, value: 1}, {at: 90m, value: 9}, {at: 2h, value: 1}]}
- {workload: Deployment/shop/db, metric: cpu, points: [{at: 0s, value: 1}, {at: 2h, value: 1}]}
`), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"horizontal", "forecast", "--load", load, "--metric", "requests", "--season", "1h", "--html", page, "-o", "json"}
	code, stdout, stderr := run(t, t.Context(), args...)
	var r foresight.Report
	if err := json.Unmarshal([]byte(stdout), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, stderr)
	}
	if len(r.Series) != 1 || r.Series[0].Series != "Deployment/shop/web requests" || r.Series[0].Forecasts[1].Mean != 0 || r.Series[0].Forecasts[0].Mean == 0 {
		t.Errorf("%s", stdout)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "<svg") || !strings.Contains(string(html), "seasonal-drift") {
		t.Errorf("%v: a page without curves: %.200s", err, html)
	}
	if _, again, _ := run(t, t.Context(), args...); again != stdout {
		t.Error("the same flags print something else")
	}
	code, stdout, stderr = run(t, t.Context(), "horizontal", "forecast", generated(t), "--season", "3h", "--step", "10m", "--metric", "cpu,memory")
	if code != 0 || strings.Count(stdout, "seasonal-naive ") < 2 || !strings.Contains(stdout, "Mi") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	path, _ := randomMetric(t)
	for _, c := range []struct{ args, want string }{
		{path, "there is no usage of --metric cpu"},
		{path + " --query other", "other is not recorded"},
		{path + " --query 1+", "parse error"},
		{path + " --query requests", "nothing can be judged: requests is not judged"},
		{path + " --query requests --season 1m --lead 2m", "no longer than the season"},
		{path + " --query requests --lead 90s", "multiples of 1m0s"},
		{path + " --query requests --method best", "must be last"},
		{path + " --query requests --learn -1s", "not negative"},
		{path + " --query requests --from +2h", "metrics.db: 2024-05-28T12:00:00Z to 2024-05-28T12:00:00Z is no window"},
		{path + " --query requests --html x.txt", "ending"},
		{path + " -o yaml", "must be text"},
		{"--load " + load + " --query requests", "needs the history"},
		{"--load " + load + " --metric other", "no series of --metric other"},
		{"--load " + load + " --workload Deployment/shop/api", "no series of --metric"},
		{"--load " + load + " --step 1s --season 2h --to +3h", "--to"},
		{"--load none.yaml", "none.yaml"},
		{"", "missing argument FILE.db"},
	} {
		code, _, stderr := run(t, t.Context(), append([]string{"horizontal", "forecast"}, strings.Fields(c.args)...)...)
		if code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, want 2 and %q:\n%s", c.args, code, c.want, stderr)
		}
	}
	if err := os.WriteFile(load, []byte(fmt.Sprintf("series: [{workload: Deployment/shop/web, metric: requests, points: [{at: 0s, value: 1}, {at: %dh, value: 1}]}]", 24*365)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(t, t.Context(), "horizontal", "forecast", "--load", load, "--step", "1s"); code != 2 || !strings.Contains(stderr, "want at most 5000000") {
		t.Errorf("a year of seconds: exit %d: %s", code, stderr)
	}
}
