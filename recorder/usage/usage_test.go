package usage

import (
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseQueries(t *testing.T) {
	got, err := ParseQueries([]byte("queries:\n- {name: a, query: up, step: 15s}\n- {name: b, query: 'rate(x[5m])'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []Query{{Name: "a", Query: "up", Step: 15 * time.Second}, {Name: "b", Query: "rate(x[5m])", Step: DefaultStep}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("queries (-want +got):\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                                 "no queries in it",
		"queries: [{query: up}]":           "query 1: name is missing",
		"queries: [{name: a}]":             "query 1 (a): query is missing",
		"queries: [{name: a, promql: up}]": `queries[0]: unknown key "promql"`,
		"queries: [{name: a, query: x, step: 500ms}]":         "step 500ms: want whole seconds",
		"queries: [{name: a, query: x}, {name: a, query: y}]": "query 2 (a): the name is taken",
	} {
		if _, err := ParseQueries([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestWindowsCoverEveryStep: whenever one asks, windows follow each other without a step missing or twice, and a new start
// after the last instant continues.
func TestWindowsCoverEveryStep(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := time.Duration(rapid.IntRange(1, 300).Draw(t, "step")) * time.Second
		now := time.Unix(int64(rapid.IntRange(1, 2_000_000_000).Draw(t, "start")), int64(rapid.IntRange(0, 999_999_999).Draw(t, "ns")))
		next := First(now, step)
		if next.Before(now) || next.Sub(now) >= step || next.UnixNano()%int64(step) != 0 {
			t.Fatalf("first instant of %s after %s is %s", step, now, next)
		}
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3000*step)).Draw(t, "wait")))
			for {
				w, ok := Next(next, now, step)
				if !ok {
					break
				}
				if !w.First.Equal(next) || w.Last.Before(w.First) || w.Last.After(now.Add(-Settle)) || w.Last.Sub(w.First)%step != 0 || w.Last.Sub(w.First)/step >= maxSteps {
					t.Fatalf("window %s to %s at %s, want one from %s", w.First, w.Last, now, next)
				}
				next = w.Last.Add(step)
				if resumed := First(w.Last.Add(time.Nanosecond), step); !resumed.Equal(next) {
					t.Fatalf("a restart after %s goes on at %s, want %s", w.Last, resumed, next)
				}
			}
			if next.Add(Settle).Before(now.Add(-step)) {
				t.Fatalf("at %s nothing is asked for after %s", now, next)
			}
		}
	})
}

// TestToken: the token is read for every request.
func TestToken(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[60,"1"],[120,"NaN"],[180,"+Inf"]]}]}}`))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	q := Query{Name: "x", Query: "x", Step: time.Minute}
	write := func(s string) {
		if err := os.WriteFile(file, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	c, err := NewClient(Prometheus{URL: server.URL, TokenFile: file, Queries: []Query{q}})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"one", "two"} {
		write(token)
		samples, err := c.Range(t.Context(), q, Window{time.Unix(60, 0), time.Unix(180, 0)})
		if err != nil || len(samples) != 3 || samples[0].Value != 1 || !math.IsNaN(samples[1].Value) || !math.IsInf(samples[2].Value, 1) {
			t.Fatalf("samples %v, error %v; want 1, NaN and +Inf", samples, err)
		}
	}
	if diff := cmp.Diff([]string{"Bearer one", "Bearer two"}, seen); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}

func TestCheck(t *testing.T) {
	q := []Query{{Name: "a", Query: "up", Step: time.Second}}
	for want, p := range map[string]Prometheus{
		"want http://HOST": {URL: "prometheus:9090", Queries: q},
		"no queries":       {URL: "http://p"},
		"give both":        {URL: "http://p", CertFile: "c", Queries: q},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", p, err, want)
		}
	}
}

// TestSelectors: what records series must be a selector, which is known before anything is recorded.
func TestSelectors(t *testing.T) {
	for text, want := range map[string]string{
		"up": "", `http_requests_total{namespace="shop", pod=~"web-.*"}`: "", `{__name__="up"}`: "",
		`up{job=`:         `series up{job=: 1:8: parse error`,
		`up{job="web"} }`: "1:15: parse error",
		"sum(up)":         "an expression (instant vector) is not a selector",
		"up[5m]":          "is not a selector of series",
		"1":               "is not a selector of series",
		"up offset 5m":    "leave out offset and @",
		"up @ 5":          "leave out offset and @",
		"{}":              "at least one non-empty matcher",
	} {
		p := Prometheus{URL: "http://p", Queries: []Query{SeriesOf(text)}}
		if err := p.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseQueries(f *testing.F) {
	f.Add([]byte("queries: [{name: a, query: up, step: 15s}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		queries, err := ParseQueries(data)
		for _, q := range queries {
			if err == nil && (q.Name == "" || q.Query == "" || q.Step < time.Second) {
				t.Errorf("parsed %+v", q)
			}
		}
	})
}

// TestSeriesAreAskedForWholly: the windows of a series meet, whatever its samples' instants are.
func TestSeriesAreAskedForWholly(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.FormValue("query")+" "+r.FormValue("time"))
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"up"},"values":[[61.5,"1"],[76.5,"0"]]}]}}`))
	}))
	defer server.Close()
	q := SeriesOf("up")
	c, err := NewClient(Prometheus{URL: server.URL, Queries: []Query{q}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Range(t.Context(), q, Window{First: time.Unix(90, 0), Last: time.Unix(150, 0)})
	if err != nil || len(got) != 2 || got[0].At.UnixMilli() != 61500 || got[1].Value != 0 {
		t.Errorf("%+v, %v, want the samples as they are", got, err)
	}
	if diff := cmp.Diff([]string{"/api/v1/query up[90s] 150"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}
