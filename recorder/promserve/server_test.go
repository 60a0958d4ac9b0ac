package promserve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history"
)

// written is an hour of `up` as scraped, of a rule, of a query that ends half-way, of one with a gap and of one that another text replaces.
func written(t *testing.T) *history.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	w, err := history.Create(t.Context(), path, history.Options{Cluster: "test"})
	must(t, err)
	_, err = w.Begin(t.Context(), epoch, nil)
	must(t, err)
	query := func(at time.Time, name, text string, series bool) {
		o := &v1alpha1.MetricQuery{Spec: v1alpha1.MetricQuerySpec{Query: text, Series: series, StepSeconds: 30}}
		o.Name = name
		must(t, w.Write(t.Context(), []history.Entry{{ObservedAt: at, Change: scalehist.Change{At: at, Op: scalehist.OpUpdate, Object: o}}}))
	}
	query(epoch, "up", `up{job="web"}`, true)
	query(epoch, "load", "sum(rate(requests[5m]))", false)
	query(epoch, "changed", "max(old)", false)
	query(epoch, "gone", "count by (pod) (x)", false)
	query(epoch, "load_now", "load_now", false)
	query(epoch.Add(30*time.Minute), "changed", "max(new)", false)
	must(t, w.Gap(t.Context(), history.Gap{From: epoch.Add(20 * time.Minute), To: epoch.Add(25 * time.Minute), Kinds: []string{"Query:load"}, Why: "Prometheus was away"}))
	for at := epoch.Add(-5 * time.Minute); !at.After(epoch.Add(time.Hour)); at = at.Add(30 * time.Second) {
		v := at.Sub(epoch).Minutes()
		list := []history.Sample{{Series: "up", Labels: map[string]string{"__name__": "up", "job": "web"}, At: at.Add(-7 * time.Second), Value: 1}}
		if !at.Before(epoch) {
			list = append(list, history.Sample{Series: "load", At: at, Value: v}, history.Sample{Series: "changed", At: at, Value: v},
				history.Sample{Series: "load_now", Labels: map[string]string{"__name__": "load_now"}, At: at, Value: v})
			for _, pod := range []string{"a", "b"} {
				if pod == "a" || v < 30 {
					list = append(list, history.Sample{Series: "gone", Labels: map[string]string{"pod": pod}, At: at, Value: v})
				}
			}
		}
		must(t, w.Sample(t.Context(), list))
	}
	must(t, w.End(t.Context(), epoch.Add(time.Hour)))
	must(t, w.Close())
	db, err := history.Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

// TestWhatIsNotRecordedIsAnError: never an empty answer, which a scaler would take for no load.
func TestWhatIsNotRecordedIsAnError(t *testing.T) {
	address := serve(t, written(t), Clock{})
	for name, c := range map[string]struct {
		query string
		at    time.Duration
		want  string
	}{
		"another metric":                 {`requests`, 10 * time.Minute, "requests is not recorded: record it as it is scraped (scalehist record --series 'requests')"},
		"more of a metric":               {`up`, 10 * time.Minute, "up is not recorded"},
		"another job":                    {`up{job="db"}`, 10 * time.Minute, `up{job="db"} is not recorded`},
		"a negation is not covered":      {`up{job!="db"}`, 10 * time.Minute, "is not recorded"},
		"a part of a recorded query":     {`rate(requests[5m])`, 10 * time.Minute, "requests is not recorded"},
		"another window of it":           {`sum(rate(requests[10m]))`, 10 * time.Minute, "requests is not recorded"},
		"a range of values at intervals": {`rate(load_now[5m])`, 10 * time.Minute, "there are values of it at intervals, which are not those of a range"},
		"before the recording":           {`load`, -time.Minute, "load is recorded from 2024-05-28T10:00:00Z to"},
		"after the recording":            {`load`, 62 * time.Minute, "load is recorded from"},
		"a range that begins before":     {`max_over_time(load[20m])`, 10 * time.Minute, "load is recorded from"},
		"in a gap":                       {`load`, 22 * time.Minute, "load is not recorded from 2024-05-28T10:20:00Z to 2024-05-28T10:25:00Z (Prometheus was away)"},
		"a range over a gap":             {`max_over_time(load[20m])`, 35 * time.Minute, "Prometheus was away"},
		"before a text was recorded":     {`max(new)`, 10 * time.Minute, "changed is recorded from 2024-05-28T10:30:00Z"},
		"after it was replaced":          {`max(old)`, 40 * time.Minute, "changed is recorded from"},
	} {
		got := ask(t, address, "/api/v1/query", url.Values{"query": {c.query}, "time": {epoch.Add(c.at).Format(time.RFC3339)}})
		if got.Status != "error" || got.ErrorType != "bad_data" || !strings.Contains(got.Error, c.want) {
			t.Errorf("%s: %s: %+v, want bad_data with %q", name, c.query, got, c.want)
		}
	}
	for _, path := range []string{"/api/v1/series?match[]=requests", "/api/v1/labels?match[]=requests", "/api/v1/label/job/values?match[]=requests", "/api/v1/metadata?metric=requests"} {
		p, form, _ := strings.Cut(path, "?")
		values, err := url.ParseQuery(form)
		must(t, err)
		r, err := http.Get(address + p + "?" + values.Encode()) //nolint:noctx // a test's own server
		must(t, err)
		r.Body.Close()
		if r.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s, want 400", path, r.Status)
		}
	}
}

// TestWhatIsRecordedIsAnswered: by text, by name, by selector; a series that an answer does not have any more is gone at once.
func TestWhatIsRecordedIsAnswered(t *testing.T) {
	address := serve(t, written(t), Clock{})
	for name, c := range map[string]struct {
		query string
		at    time.Duration
		want  string // of count() and sum(), or the value
	}{
		"by text":                       {`sum(rate(requests[5m]))`, 10 * time.Minute, "10"},
		"by text, spaced otherwise":     {`( sum( rate(requests[300s]) ) )`, 10 * time.Minute, "10"},
		"as a part":                     {`2 * sum(rate(requests[5m])) + 1`, 10 * time.Minute, "21"},
		"between instants, the earlier": {`sum(rate(requests[5m]))`, 10*time.Minute + 29*time.Second, "10"},
		"by name":                       {`load`, 10 * time.Minute, "10"},
		"a range by name":               {`max_over_time(load[5m])`, 10 * time.Minute, "10"},
		"the old text":                  {`max(old)`, 10 * time.Minute, "10"},
		"the new text":                  {`max(new)`, 40 * time.Minute, "40"},
		"a name over both":              {`changed`, 40 * time.Minute, "40"},
		"two series":                    {`count(count by (pod) (x))`, 29 * time.Minute, "2"},
		"one is gone":                   {`count(count by (pod) (x))`, 30 * time.Minute, "1"},
		"as scraped":                    {`min_over_time(up{job="web"}[5m])`, time.Minute, "1"},
		"without any series":            {`vector(3)`, 10 * time.Minute, "3"},
		"by its own selector":           {`load_now`, 10 * time.Minute, "10"},
		"a narrower selector":           {`up{job=~"web",pod=""}`, 10 * time.Minute, "1"},
	} {
		got := ask(t, address, "/api/v1/query", url.Values{"query": {"scalar(" + c.query + ")"}, "time": {epoch.Add(c.at).Format(time.RFC3339)}})
		want := numbers([]any{float64(epoch.Add(c.at).Unix()), c.want})
		data, _ := got.Data.(map[string]any)
		if diff := cmp.Diff(want, data["result"]); diff != "" {
			t.Errorf("%s: %s: %s (-want +got):\n%s", name, c.query, got.Error, diff)
		}
	}
	metadata := ask(t, address, "/api/v1/labels", nil)
	if diff := cmp.Diff([]any{"__name__", "job", "pod"}, metadata.Data); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// TestAt: with a clock behind, times in questions and answers are of those who ask.
func TestAt(t *testing.T) {
	db := written(t)
	now := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	address := serve(t, db, Clock{Now: func() time.Time { return now }, Behind: now.Sub(epoch.Add(10 * time.Minute))})
	for _, form := range []url.Values{{"query": {"load"}}, {"query": {"load"}, "time": {now.Format(time.RFC3339)}}, {"query": {"load @ " + "1772438400"}}} {
		got := ask(t, address, "/api/v1/query", form)
		want := map[string]any{"resultType": "vector", "result": []any{map[string]any{"metric": map[string]any{"__name__": "load"}, "value": numbers([]any{float64(now.Unix()), "10"})}}}
		if diff := cmp.Diff(any(want), got.Data); diff != "" {
			t.Errorf("%v: %s (-want +got):\n%s", form, got.Error, diff)
		}
	}
	got := ask(t, address, "/api/v1/query_range", url.Values{"query": {"load"}, "start": {now.Format(time.RFC3339)}, "end": {now.Add(time.Minute).Format(time.RFC3339)}, "step": {"1m"}})
	want := map[string]any{"resultType": "matrix", "result": []any{map[string]any{"metric": map[string]any{"__name__": "load"},
		"values": []any{numbers([]any{float64(now.Unix()), "10"}), numbers([]any{float64(now.Unix() + 60), "11"})}}}}
	if diff := cmp.Diff(any(want), got.Data); diff != "" {
		t.Errorf("range: %s (-want +got):\n%s", got.Error, diff)
	}
}

// TestOnlyThisMachine: a page elsewhere must not read a recording through a name of its own.
func TestOnlyThisMachine(t *testing.T) {
	s, err := New(t.Context(), written(t), Clock{Now: func() time.Time { return epoch }})
	must(t, err)
	for host, want := range map[string]int{"localhost:9090": http.StatusOK, "127.0.0.1": http.StatusOK, "evil.example": http.StatusForbidden} {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/labels", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("host %s: %d, want %d", host, w.Code, want)
		}
	}
}

// FuzzQuery: whatever is asked, an answer or an error comes that is JSON.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"load", `up{job="web"}`, "max_over_time(load[5m:1m] @ end())", "sum(rate(requests[5m])) offset -1h", `{__scalehist__="7"}`, "absent(load)", "((", `"x"`} {
		f.Add(q, "60")
	}
	f.Fuzz(func(t *testing.T, query, step string) {
		s, err := New(t.Context(), written(t), Clock{Now: func() time.Time { return epoch.Add(time.Minute) }})
		must(t, err)
		for path, form := range map[string]url.Values{"/api/v1/query": {"query": {query}}, "/api/v1/series": {"match[]": {query}},
			"/api/v1/query_range": {"query": {query}, "start": {"1716890880"}, "end": {"1716890980"}, "step": {step}}} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, path+"?"+form.Encode(), nil)
			r.Host = "localhost"
			s.Handler().ServeHTTP(w, r)
			if body := strings.TrimSpace(w.Body.String()); w.Code >= 500 || !strings.HasPrefix(body, `{"status":`) {
				t.Errorf("%s %v: %d %s", path, form, w.Code, body)
			}
		}
	})
}
