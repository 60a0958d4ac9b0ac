package promserve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/usage"
)

// sample is a value as testdata/promserver takes it.
type sample struct {
	Labels map[string]string `json:"labels"`
	T      int64             `json:"t"`
	V      float64           `json:"v"`
}

var epoch = time.Date(2024, 5, 28, 10, 0, 0, 0, time.UTC)

// scraped are two hours of a counter, a gauge and up, of three pods, at instants that are no round ones, with a pod that is away for twenty minutes.
func scraped(seed uint64) []sample {
	rng := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test's
	var out []sample
	for pod := range 3 {
		total := 0.0
		for at := epoch.Add(-10*time.Minute + time.Duration(pod)*1234*time.Millisecond); at.Before(epoch.Add(2 * time.Hour)); at = at.Add(15 * time.Second) {
			total += float64(rng.IntN(40))
			if rng.IntN(200) == 0 {
				total = 0 // a restart
			}
			if away := at.Sub(epoch); pod == 1 && away > 40*time.Minute && away < time.Hour || rng.IntN(50) == 0 {
				continue
			}
			l := func(name string) map[string]string {
				return map[string]string{"__name__": name, "job": "web", "pod": "web-" + strconv.Itoa(pod), "container": []string{"app", "app", "proxy"}[pod]}
			}
			out = append(out, sample{l("http_requests_total"), at.UnixMilli(), total}, sample{l("queue_length"), at.UnixMilli(), float64(rng.IntN(100))},
				sample{l("up"), at.UnixMilli(), float64(min(rng.IntN(20), 1))})
		}
	}
	return out
}

// selectors are recorded as scraped, rules at intervals.
var (
	selectors = []string{"http_requests_total", `up{job="web"}`, `queue_length{pod=~"web-[01]"}`}
	rules     = []usage.Query{
		{Name: "requests:rate", Query: `sum by (pod) (rate(http_requests_total[5m]))`, Step: 30 * time.Second},
		{Name: "ratio", Query: `sum(rate(http_requests_total[2m])) / sum(queue_length)`, Step: time.Minute},
		{Name: "seldom", Query: `max(queue_length)`, Step: 10 * time.Minute},
	}
)

// recordFrom writes a history of what a Prometheus answers, with the queries of the recorder.
func recordFrom(t *testing.T, address string) *history.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test"})
	must(t, err)
	_, err = w.Begin(t.Context(), epoch, nil)
	must(t, err)
	queries := rules
	for _, s := range selectors {
		queries = append(queries[:len(queries):len(queries)], usage.SeriesOf(s))
	}
	client, err := usage.NewClient(usage.Prometheus{URL: address, Queries: queries})
	must(t, err)
	for _, q := range queries {
		o := &v1alpha1.MetricQuery{Spec: v1alpha1.MetricQuerySpec{Query: q.Query, Series: q.Series, StepSeconds: int32(q.Step / time.Second)}}
		o.Name = q.Name
		must(t, w.Write(t.Context(), []history.Entry{{ObservedAt: epoch, Change: scalehist.Change{At: epoch, Op: scalehist.OpAdd, Object: o}}}))
		next := epoch
		if q.Series {
			next = next.Add(-Lookback)
		}
		for now := epoch.Add(7 * time.Minute); now.Before(epoch.Add(2 * time.Hour)); now = now.Add(7 * time.Minute) {
			window, ok := usage.Next(next, now, q.Step)
			if !ok {
				continue
			}
			list, err := client.Range(t.Context(), q, window)
			must(t, err)
			must(t, w.Sample(t.Context(), list))
			next = window.Last.Add(q.Step)
		}
	}
	must(t, w.End(t.Context(), epoch.Add(2*time.Hour)))
	must(t, w.Close())
	db, err := history.Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reference is a real Prometheus, built from its module, with the samples.
func reference(t *testing.T, samples []sample) string {
	t.Helper()
	if os.Getenv("SCALEHIST_PROMETHEUS") != "real" && os.Getenv("CI") == "" {
		t.Skip("builds a Prometheus, which takes minutes: SCALEHIST_PROMETHEUS=real")
	}
	binary := filepath.Join(t.TempDir(), "promserver")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir, build.Env = filepath.Join("..", "usage", "testdata", "promserver"), append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build Prometheus: %v\n%s", err, out)
	}
	cmd := exec.Command(binary) //nolint:gosec // built above
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	cmd.Stderr = os.Stderr
	must(t, cmd.Start())
	t.Cleanup(func() {
		must(t, in.Close()) // it ends with its input
		must(t, cmd.Wait())
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	address = strings.TrimSpace(address)
	body, err := json.Marshal(samples)
	must(t, err)
	r, err := http.Post(address+"/put", "application/json", bytes.NewReader(body)) //nolint:noctx // a test's own server
	must(t, err)
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(r.Body)
		t.Fatalf("put samples: %s %s", r.Status, text)
	}
	return address
}

func serve(t *testing.T, db *history.DB, c Clock) string {
	t.Helper()
	if c.Now == nil {
		_, end := db.Span()
		c.Now = func() time.Time { return end }
	}
	s, err := New(t.Context(), db, c)
	must(t, err)
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server.URL
}

// reply is an answer, with numbers as numbers: 1e+22 and 10000000000000000000000 are the same one.
type reply struct {
	Status, ErrorType, Error string
	Data                     any
	Warnings                 []string
}

func ask(t *testing.T, address, path string, form url.Values) reply {
	t.Helper()
	r, err := http.PostForm(address+path, form) //nolint:noctx // a test's own server
	must(t, err)
	defer r.Body.Close()
	var out reply
	must(t, json.NewDecoder(r.Body).Decode(&out))
	out.Data = numbers(out.Data)
	return out
}

func numbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		if len(v) == 2 {
			if text, ok := v[1].(string); ok {
				if f, err := strconv.ParseFloat(text, 64); err == nil {
					v[1] = math.Float64bits(f) // NaN is itself
					return v
				}
			}
		}
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}

// expressions of what is recorded: of series as scraped, and of queries by text, at instants at which they were.
func expression(rng *rand.Rand) string {
	of := func(list ...string) string { return list[rng.IntN(len(list))] }
	selector := of("http_requests_total", `http_requests_total{pod="web-1"}`, `up{job="web"}`, `up{job="web",pod!="web-0"}`, `queue_length{pod="web-1"}`,
		`queue_length{pod=~"web-0|web-1"}`, `{__name__="up",job="web"}`)
	window := of("30s", "1m", "5m", "7m13s")
	vector := of(selector, selector+" offset 3m", of("rate", "increase", "max_over_time", "count_over_time", "deriv", "last_over_time")+"("+selector+"["+window+"])",
		rules[0].Query, rules[1].Query, "("+rules[0].Query+") > 2", "absent("+selector+")", "clamp_max("+selector+", 3)",
		"min_over_time((max("+`up{job="web"}`+") or vector(0))["+window+":"+of("10s", "30s", "1m")+"])", "scalar("+rules[1].Query+") + "+selector,
		selector+" @ "+strconv.FormatInt(epoch.Add(50*time.Minute).Unix(), 10), "time() - "+selector)
	return of(vector, of("sum", "max", "count", "avg by (pod)", "quantile(0.7,")+"("+vector+")", vector+" or on() vector(0)", vector+" * 2", "-("+vector+")")
}

// TestAnswersAsPrometheusDoes compares answers to random queries with those of the Prometheus that was recorded.
//
//scalehist:unraced
func TestAnswersAsPrometheusDoes(t *testing.T) {
	fed := feed()
	real := reference(t, append(scraped(1), fed.samples...))
	t.Run("imports", func(t *testing.T) { importsWhatWasFed(t, real, fed) }) // here for the one Prometheus
	ours := serve(t, recordFrom(t, real), Clock{})
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test's
	answered, empty := 0, 0
	const queries = 1500
	for range queries {
		query := expression(rng)
		if strings.Count(query, "(") > strings.Count(query, ")") {
			query += ")"
		}
		at := epoch.Add(time.Duration(1+rng.IntN(100)) * time.Minute)
		path, form := "/api/v1/query", url.Values{"query": {query}, "time": {at.Format(time.RFC3339)}}
		if rng.IntN(2) == 0 {
			path = "/api/v1/query_range"
			form = url.Values{"query": {query}, "start": {fmt.Sprint(at.Unix())}, "end": {fmt.Sprint(at.Add(9 * time.Minute).Unix())}, "step": {[]string{"60", "2m", "180"}[rng.IntN(3)]}}
		}
		want, got := ask(t, real, path, form), ask(t, ours, path, form)
		if got.ErrorType == "bad_data" && want.Status == "success" && !strings.Contains(got.Error, "is recorded from") {
			t.Fatalf("%s of what is recorded: %s", form, got.Error)
		}
		if got.ErrorType == "bad_data" && want.Status == "success" {
			continue // a time that is not recorded
		}
		got.Warnings, want.Warnings = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s differs (-Prometheus +recording):\n%s", path, form, diff)
		}
		answered++
		if data, _ := got.Data.(map[string]any); data != nil {
			if list, _ := data["result"].([]any); len(list) == 0 {
				empty++
			}
		}
	}
	if answered < queries*8/10 || empty > queries/2 {
		t.Errorf("%d of %d queries answered, %d of them empty: the comparison compares too little", answered, queries, empty)
	}
	for path, form := range map[string]url.Values{
		"/api/v1/series":           {"match[]": {"http_requests_total", `up{job="web",container="app"}`}},
		"/api/v1/labels":           {"match[]": {"http_requests_total"}},
		"/api/v1/query":            {"query": {"rate("}},
		"/api/v1/query?x=1":        {"query": {"up"}, "time": {"soon"}},
		"/api/v1/query_range":      {"query": {`up{job="web"}`}, "start": {"5"}, "end": {"4"}, "step": {"1"}},
		"/api/v1/query_range?kind": {"query": {`up{job="web"}[5m]`}, "start": {"5"}, "end": {"6"}, "step": {"1"}},
	} {
		want, got := ask(t, real, path, form), ask(t, ours, path, form)
		want.Error, got.Error = "", "" // the words may differ
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s differs (-Prometheus +recording):\n%s", path, form, diff)
		}
	}
}
