package recorder

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// promSample is a value as promserver takes it.
type promSample struct {
	Labels map[string]string `json:"labels"`
	T      int64             `json:"t"`
	V      float64           `json:"v"`
}

// prometheusServer has the samples and answers queries for a series by its name; it gives its address. It has no more of
// a Prometheus than its query API. In CI, and with SCALEHIST_PROMETHEUS=real, it is one, whose first build takes two minutes.
func prometheusServer(t *testing.T, samples []promSample) string {
	t.Helper()
	if os.Getenv("SCALEHIST_PROMETHEUS") == "real" || os.Getenv("CI") != "" {
		url := realPrometheus(t)
		body := must[[]byte](t)(json.Marshal(samples))
		answer, err := http.Post(url+"/put", "application/json", bytes.NewReader(body)) //nolint:noctx // a test's own server
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("put samples: %v %v", answer, err)
		}
		_ = answer.Body.Close()
		return url
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/query_range", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, err := queryRange(samples, r)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			answer = map[string]any{"status": "error", "errorType": "bad_data", "error": err.Error()}
		}
		_ = json.NewEncoder(w).Encode(answer) //nolint:errchkjson // a client that is gone
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// queryRange answers as https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries says: of each series the
// last value of the five minutes up to each step.
func queryRange(samples []promSample, r *http.Request) (map[string]any, error) {
	var at [3]float64
	for i, name := range []string{"start", "end", "step"} {
		v, err := strconv.ParseFloat(r.FormValue(name), 64)
		if err != nil {
			return nil, fmt.Errorf("invalid parameter %q: %w", name, err)
		}
		at[i] = v
	}
	query := r.FormValue("query")
	if strings.ContainsAny(query, " +") {
		return nil, fmt.Errorf("invalid parameter \"query\": parse error: %q is no name", query)
	}
	series := map[string][]promSample{} // by namespace, ascending
	for _, s := range samples {
		if s.Labels["__name__"] == query {
			series[s.Labels["namespace"]] = append(series[s.Labels["namespace"]], s)
		}
	}
	result := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(series)) {
		list := series[name]
		var values [][2]any
		for ms := int64(at[0] * 1000); ms <= int64(at[1]*1000); ms += int64(at[2] * 1000) {
			n, _ := slices.BinarySearchFunc(list, ms+1, func(s promSample, ms int64) int { return cmp.Compare(s.T, ms) })
			if n > 0 && ms-list[n-1].T < (5*time.Minute).Milliseconds() {
				values = append(values, [2]any{float64(ms) / 1000, fmt.Sprint(int64(list[n-1].V))})
			}
		}
		if len(values) > 0 {
			result = append(result, map[string]any{"metric": list[0].Labels, "values": values})
		}
	}
	return map[string]any{"status": "success", "data": map[string]any{"resultType": "matrix", "result": result}}, nil
}

// realPrometheus builds and starts a real Prometheus (its database, engine and API: testdata/promserver, a module of its
// own) and gives its address.
func realPrometheus(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "promserver")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("usage", "testdata", "promserver")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Prometheus: %v\n%s", err, out)
	}
	cmd := exec.Command(binary) //nolint:gosec // built above
	in := must[io.WriteCloser](t)(cmd.StdinPipe())
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil { // it ends with its input
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return strings.TrimSpace(must[string](t)(bufio.NewReader(out).ReadString('\n')))
}

// TestPrometheus: every step once, across a restart with time in between; a query that fails is a gap of its own.
func TestPrometheus(t *testing.T) {
	t.Parallel() // it waits for samples to settle, and looks at nothing that other tests make
	now := time.Now().UTC()
	var list []promSample
	for at := now.Add(-10 * time.Minute); at.Before(now.Add(time.Hour)); at = at.Add(time.Second) {
		for _, ns := range []string{"a", "b"} {
			list = append(list, promSample{map[string]string{"__name__": "load", "namespace": ns}, at.Truncate(time.Second).UnixMilli(), float64(at.Unix())})
		}
	}
	url := prometheusServer(t, list)
	path := filepath.Join(t.TempDir(), "h.db")
	queries := []usage.Query{{Name: "load", Query: "load", Step: time.Second}, {Name: "broken", Query: "load +", Step: time.Second}}
	o := Options{Path: path, Prometheus: &usage.Prometheus{URL: url, Queries: queries}}
	for range 2 {
		rec := record(t, cluster, o)
		eventually(t, "samples", func() bool { return rec.scraping.samples.Load() >= 4 })
		eventually(t, "the broken query is trouble", func() bool { return strings.Contains(rec.Stats().Trouble, "Query:broken") })
		rec.end()
	}
	db := open(t, path)
	times := map[string][]int64{}
	for s, err := range db.Samples(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Series != "load" {
			continue
		}
		if s.Value != float64(s.At.Unix()) || s.At.Nanosecond() != 0 {
			t.Errorf("value %v at %s, want the instant itself on a whole second", s.Value, s.At)
		}
		key := fmt.Sprint(s.Labels["namespace"])
		times[key] = append(times[key], s.At.Unix())
	}
	for _, ns := range []string{"a", "b"} {
		for i, at := range times[ns] {
			if i > 0 && at != times[ns][i-1]+1 {
				t.Errorf("series %s: %d follows %d: a step was skipped or doubled", ns, at, times[ns][i-1])
			}
		}
	}
	if len(times["a"]) < 4 || len(times["a"]) != len(times["b"]) {
		t.Errorf("%d and %d samples, want the same of both and 4 at least", len(times["a"]), len(times["b"]))
	}
	asked, err := db.QueriesAt(t.Context(), time.Now().Add(time.Hour))
	if err != nil || asked["load"] != (v1alpha1.MetricQuerySpec{Query: "load", StepSeconds: 1}) || asked["broken"].Query != "load +" {
		t.Errorf("queries %v, %v; want what was asked", asked, err)
	}
	gaps, err := db.Gaps(t.Context(), time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(kind string) bool {
		return slices.ContainsFunc(gaps, func(g history.Gap) bool { return slices.Equal(g.Kinds, []string{kind}) })
	}
	if !of("Query:broken") || of("Query:load") {
		t.Errorf("gaps %+v, want one of the broken query only", gaps)
	}
}
