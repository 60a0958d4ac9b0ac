package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

func TestSeries(t *testing.T) {
	s := newSite(t)
	ms := func(minutes ...int) (out []int64) {
		for _, m := range minutes {
			out = append(out, start.Add(time.Duration(m)*time.Minute).UnixMilli())
		}
		return out
	}
	var got Series
	s.json("/api/clusters/past/series", &got)
	if diff := cmp.Diff(ms(0, 2, 5, 6, 9), got.At); diff != "" {
		t.Errorf("instants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]int{{2, 2, 3, 3, 2}, {0, 2, 2, 0, 0}}, [][]int{got.Nodes, got.Pending}); diff != "" {
		t.Errorf("nodes and pending (-want +got):\n%s", diff)
	}
	steps := []scalehist.RecordedStep{{At: start.Add(3 * time.Minute), NodeGroup: "g", From: 2, To: 3}, {At: start.Add(10 * time.Minute), NodeGroup: "g", From: 3, To: 2}}
	if diff := cmp.Diff(steps, got.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	s.json("/api/clusters/past/series?from=2026-01-01T00:04:00Z&to=2026-01-01T00:07:00Z", &got)
	if diff := cmp.Diff([]any{ms(4, 5, 6), []int{2, 3, 3}, []int{2, 2, 0}, 0}, []any{got.At, got.Nodes, got.Pending, len(got.Steps)}); diff != "" {
		t.Errorf("window (-want +got):\n%s", diff)
	}
	s.json("/api/clusters/past/series?last=3m", &got)
	if diff := cmp.Diff([]any{ms(7, 9), []int{3, 2}}, []any{got.At, got.Nodes}); diff != "" {
		t.Errorf("last 3 minutes (-want +got):\n%s", diff)
	}
	s.json("/api/clusters/gone/series", &got)
	if len(got.At) != 0 {
		t.Errorf("series of a cluster without history: %+v", got)
	}
	for _, query := range []string{"from=yesterday", "last=-1h", "last=x", "from=2026-01-01T00:04:00Z&to=2026-01-01T00:03:00Z"} {
		if a := s.get("/api/clusters/past/series?" + query); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d, want 400", query, a.StatusCode)
		}
	}
}

// TestOpenAPI: what the API answers is what its document says.
func TestOpenAPI(t *testing.T) {
	reports := t.TempDir()
	for name, text := range map[string]string{"a.json": `{"version":"scalehist.io/report/v1","scenario":"s","autoscaler":"ca","agreement":{"agreed":true}}`,
		"b.json": `no`, ".hidden.json": `{}`, "c.txt": "text"} {
		if err := os.WriteFile(filepath.Join(reports, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, scenario := range map[string]string{"kept": "k", "a": "shadowed by a.json", "empty": ""} {
		if err := os.Mkdir(filepath.Join(reports, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if scenario == "" {
			continue
		}
		text := fmt.Sprintf(`{"version":"scalehist.io/report/v1","scenario":%q}`, scenario)
		if err := os.WriteFile(filepath.Join(reports, name, "report.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, func(o *Options) { o.Reports = reports })
	data := s.get("/api/openapi.json").body
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	for path, schema := range map[string]string{
		"/api/clusters":             "paths/~1api~1clusters/get/responses/200/content/application~1json/schema",
		"/api/clusters/past":        "components/schemas/Detail",
		"/api/clusters/live":        "components/schemas/Detail",
		"/api/clusters/past/series": "components/schemas/Series",
		"/api/reports":              "paths/~1api~1reports/get/responses/200/content/application~1json/schema",
		"/readyz":                   "components/schemas/Ready",
		"/api/clusters/none":        "components/responses/Error/content/application~1json/schema",
		"/api/reports/none.json":    "components/responses/Error/content/application~1json/schema",
		"/api/none":                 "components/responses/Error/content/application~1json/schema",
	} {
		compiled, err := compiler.Compile("openapi.json#/" + schema)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(s.get(path).body))
		if err == nil {
			err = compiled.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	var list struct{ Reports []Report }
	s.json("/api/reports", &list)
	names := map[string]string{}
	for _, r := range list.Reports {
		names[r.Name] = r.Scenario
	}
	if diff := cmp.Diff(map[string]string{"a.json": "s", "b.json": "", "kept.json": "k"}, names); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if a := s.get("/api/reports/kept.json"); !strings.Contains(string(a.body), `"scenario":"k"`) {
		t.Errorf("report of a folder, as replay --report-dir keeps it: %s", a.body)
	}
	if a := s.get("/api/reports/a.json"); !strings.Contains(string(a.body), `"scenario":"s"`) {
		t.Errorf("report: %s", a.body)
	}
	if a := s.get("/reports/a.json"); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), "<pre") {
		t.Errorf("page of a report: %d", a.StatusCode)
	}
	if a := s.get("/reports/a.json/page"); a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), "not drawn here") {
		t.Errorf("charts of a report without a drawer: %d", a.StatusCode)
	}
	var paths struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(data, &paths); err != nil {
		t.Fatal(err)
	}
	for path, methods := range paths.Paths {
		for method := range methods {
			a := s.ask(strings.ToUpper(method), strings.ReplaceAll(path, "{name}", "A"), nil)
			if a.StatusCode == http.StatusMethodNotAllowed || strings.Contains(string(a.body), "no such page") {
				t.Errorf("%s %s is in the document, but not served: %d", method, path, a.StatusCode)
			}
		}
	}
}

func TestPages(t *testing.T) {
	s := newSite(t)
	s.rec.config.Problem = "line 3: <unknown>"
	for path, wants := range map[string][]string{
		"/":                      {"no route to host", "line 3: &lt;unknown&gt;", "Other histories", "1 recording, 1 failed"},
		"/clusters/past":         {"<h1>past</h1>", "&#43;1", "-1", "stored"},
		"/clusters/past?range=x": {"<h1>past</h1>"},
		"/clusters/live":         {"Nothing is recorded yet"},
		"/reports":               {"No reports directory"},
		"/static/app.js":         {"use strict"},
	} {
		a := s.get(path)
		for _, want := range wants {
			if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), want) {
				t.Errorf("%s: %d, lacks %q", path, a.StatusCode, want)
			}
		}
		for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer"} {
			if a.Header.Get(header) != want {
				t.Errorf("%s: %s is %q", path, header, a.Header.Get(header))
			}
		}
		if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
		// Nothing inline, which the policy would forbid, and nothing from elsewhere.
		if body := string(a.body); strings.Contains(body, " style=") || strings.Contains(body, "onclick=") || strings.Contains(body, `src="http`) {
			t.Errorf("%s has something inline or from elsewhere", path)
		}
	}
	html := func(r *http.Request) { r.Header.Set("Accept", "text/html") }
	if a := s.get("/clusters/none", html); a.StatusCode != http.StatusNotFound || !strings.Contains(string(a.body), "All clusters") {
		t.Errorf("unknown cluster: %d %s", a.StatusCode, a.body)
	}
}

func TestMetrics(t *testing.T) {
	s := newSite(t)
	text := string(s.get("/metrics").body)
	for _, want := range []string{`scalehist_cluster_state{cluster="gone",state="failed"} 1`, `scalehist_cluster_state{cluster="gone",state="recording"} 0`,
		`scalehist_changes_total{cluster="live"} 12`, `scalehist_changes_written_total{cluster="live"} 10`, `scalehist_gaps{cluster="past"} 0`,
		`scalehist_history_bytes{cluster="past"}`, `scalehist_config_last_reload_successful 1`, `scalehist_build_info{commit="abc"`, `version="v1"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	s.rec.config.Problem, s.rec.config.Refused = "wrong", 1
	s.get("/api/clusters/past")
	s.get("/api/clusters/other")
	text = string(s.get("/metrics").body)
	for _, want := range []string{`scalehist_config_last_reload_successful 0`, `scalehist_config_reloads_total{outcome="refused"} 1`,
		`scalehist_http_requests_total{code="200",method="GET",route="GET /api/clusters/{name}"} 1`,
		`scalehist_http_requests_total{code="404",method="GET",route="GET /api/clusters/{name}"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics lack %s:\n%s", want, text)
		}
	}
	problems, err := testutil.GatherAndLint(s.app.metrics.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v %v", problems, err)
	}
	documented, err := os.ReadFile(filepath.Join("..", "..", "docs", "serve.md"))
	if err != nil {
		t.Fatal(err)
	}
	families, err := s.app.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "scalehist_") && !strings.Contains(string(documented), "`"+f.GetName()) {
			t.Errorf("docs/serve.md does not list %s", f.GetName())
		}
	}
}

// TestDownloadWhileRecording: a copy is consistent, holds the window, and leaves nothing behind.
func TestDownloadWhileRecording(t *testing.T) {
	s := newSite(t)
	w, err := history.Create(t.Context(), filepath.Join(s.dir, "live.db"), history.Options{Cluster: "live"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	if a := s.get("/api/clusters/live/db"); a.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("before anything is recorded: %d %s", a.StatusCode, a.body)
	}
	if _, err := w.Begin(t.Context(), start, nil); err != nil {
		t.Fatal(err)
	}
	past, err := history.Open(t.Context(), filepath.Join(s.dir, "past.db"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []history.Entry
	for c, err := range past.Changes(t.Context(), time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, history.Entry{Change: c})
	}
	if err := errors.Join(past.Close(), w.Write(t.Context(), entries)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query, filename string
		from, to        time.Duration
		nodes           int
	}{
		{"", "live.db", 0, 10 * time.Minute, 2},
		{"?from=2026-01-01T00:01:00Z&to=2026-01-01T00:08:00Z", "live-window.db", time.Minute, 8 * time.Minute, 3},
		{"?to=2026-01-01T00:04", "live-window.db", 0, 4 * time.Minute, 2},
	} {
		a := s.get("/api/clusters/live/db" + tt.query)
		if a.StatusCode != http.StatusOK || a.Header.Get("Content-Disposition") != `attachment; filename="`+tt.filename+`"` {
			t.Fatalf("%s: %d, %q %s", tt.query, a.StatusCode, a.Header.Get("Content-Disposition"), a.body)
		}
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, a.body, 0o644); err != nil {
			t.Fatal(err)
		}
		db, err := history.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		from, to := db.Span()
		if from.Sub(start) < tt.from || to.Sub(start) > tt.to {
			t.Errorf("%s: from %s to %s, want it within %s and %s", tt.query, from, to, tt.from, tt.to)
		}
		snapshot, err := db.SnapshotAt(t.Context(), to)
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if len(snapshot.Nodes) != tt.nodes {
			t.Errorf("%s: %d nodes, want %d", tt.query, len(snapshot.Nodes), tt.nodes)
		}
	}
	for query, code := range map[string]int{"?from=2027-01-01T00:00:00Z": http.StatusUnprocessableEntity, "?from=x": http.StatusBadRequest} {
		if a := s.get("/api/clusters/live/db" + query); a.StatusCode != code {
			t.Errorf("%s: %d %s, want %d", query, a.StatusCode, a.body, code)
		}
	}
	for _, name := range s.files() {
		if strings.HasPrefix(name, ".download") {
			t.Errorf("%s is left behind", name)
		}
	}
}

// TestWrongMethod: a path that is served says by which methods, in the server's own words.
func TestWrongMethod(t *testing.T) {
	s := newSite(t)
	for path, allow := range map[string]string{"/": "GET, HEAD", "/api/clusters": "GET, HEAD", "/api/histories/a": "POST, PUT", "/metrics": "GET, HEAD", "/static/app.js": "GET, HEAD"} {
		a := s.ask(http.MethodDelete, path, nil)
		if a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow || !strings.Contains(string(a.body), "is not for DELETE") {
			t.Errorf("DELETE %s: %d, Allow %q: %s", path, a.StatusCode, a.Header.Get("Allow"), a.body)
		}
	}
}
