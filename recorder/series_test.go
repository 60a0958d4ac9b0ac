package recorder

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/usage"
)

// TestSeries: every sample of a real Prometheus once, across a restart, at its own instant, and from as long before the recording as a selector looks back.
func TestSeries(t *testing.T) {
	if os.Getenv("SCALEHIST_PROMETHEUS") != "real" && os.Getenv("CI") == "" {
		t.Skip("builds a Prometheus, which takes minutes: SCALEHIST_PROMETHEUS=real")
	}
	t.Parallel() // it waits for samples to settle, and looks at nothing that other tests make
	now := time.Now().UTC().Truncate(time.Second)
	var list []promSample
	for at := now.Add(-10 * time.Minute).Add(137 * time.Millisecond); at.Before(now.Add(time.Hour)); at = at.Add(time.Second) {
		list = append(list, promSample{map[string]string{"__name__": "load"}, at.UnixMilli(), float64(at.Unix())})
	}
	q := usage.SeriesOf(`load`)
	q.Step = time.Second
	path := filepath.Join(t.TempDir(), "h.db")
	for range 2 {
		rec := record(t, cluster, Options{Path: path, Prometheus: &usage.Prometheus{URL: prometheusServer(t, list), Queries: []usage.Query{q}}})
		eventually(t, "samples", func() bool { return rec.scraping.samples.Load() >= 4 })
		rec.end()
	}
	db := open(t, path)
	start, _ := db.Span()
	var times []int64
	for s, err := range db.Samples(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if s.Series != "load" {
			continue
		}
		if s.At.Nanosecond() != int(137*time.Millisecond) || s.Value != float64(s.At.Unix()) {
			t.Errorf("value %v at %s, want the sample as it is", s.Value, s.At)
		}
		if n := len(times); n > 0 && s.At.Unix() != times[n-1]+1 {
			t.Errorf("%d follows %d: a sample was skipped or doubled", s.At.Unix(), times[n-1])
		}
		times = append(times, s.At.Unix())
	}
	if len(times) < 250 || time.Unix(times[0], 0).After(start.Add(-usage.Lookback+3*time.Second)) {
		t.Errorf("%d samples from %v on, want those of five minutes before %s too", len(times), times[:min(1, len(times))], start)
	}
	queries, err := db.QueriesAt(t.Context(), time.Now().Add(time.Hour))
	if err != nil || !queries["load"].Series {
		t.Errorf("queries %+v, %v; want one of series", queries, err)
	}
}
