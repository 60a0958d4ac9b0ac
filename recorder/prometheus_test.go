package recorder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// prometheusServer builds and starts a real Prometheus (its database, engine and API: testdata/promserver, a module of its
// own) and gives its address.
func prometheusServer(t *testing.T) string {
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
	url := prometheusServer(t)
	type sample struct {
		Labels map[string]string `json:"labels"`
		T      int64             `json:"t"`
		V      float64           `json:"v"`
	}
	now := time.Now().UTC()
	var list []sample
	for at := now.Add(-10 * time.Minute); at.Before(now.Add(10 * time.Minute)); at = at.Add(time.Second) {
		for _, ns := range []string{"a", "b"} {
			list = append(list, sample{map[string]string{"__name__": "load", "namespace": ns}, at.Truncate(time.Second).UnixMilli(), float64(at.Unix())})
		}
	}
	body := must[[]byte](t)(json.Marshal(list))
	answer, err := http.Post(url+"/put", "application/json", bytes.NewReader(body)) //nolint:noctx // a test's own server
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("put samples: %v %v", answer, err)
	}
	_ = answer.Body.Close()

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
