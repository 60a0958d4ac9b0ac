package elasti

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// vector is an answer of Prometheus with a series for each value.
func vector(values ...string) string {
	var series []string
	for i, v := range values {
		series = append(series, fmt.Sprintf(`{"metric":{"i":"%d"},"value":[1772625600,%q]}`, i, v))
	}
	return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(series, ",") + `]}}`
}

// prometheus answers every query with a status and a body.
func prometheus(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func body(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// trigger is metadata with threshold 1.
func trigger(address string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"serverAddress": %q, "query": "q", "threshold": "1"}`, address))
}

func scaler(t *testing.T, s Servers, metadata json.RawMessage, c clock.PassiveClock) Scaler {
	t.Helper()
	out, err := Registry{PrometheusType: s.Factory(c)}.New(elastiv1alpha1.ScaleTrigger{Type: PrometheusType, Metadata: metadata}, 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAnswers: what becomes of everything a server may say.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		// toZero and fromZero are the answers, reason and message why there are none; %s of the message is the host.
		toZero, fromZero bool
		reason, message  string
	}{
		{"below", body(200, vector("0.999")), true, false, "", ""},
		{"at", body(200, vector("1")), false, true, "", ""},
		{"above", body(200, vector("1e9")), false, true, "", ""},
		{"minus one", body(200, vector("-1")), true, false, "", ""},
		{"a scalar", body(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}`), true, false, "", ""},
		{"empty", body(200, vector()), false, true, ReasonEmpty, `query q has no series: add "or vector(0)" if that means none`},
		{"several", body(200, vector("0", "0")), false, true, ReasonSeveral, "query q has 2 series: aggregate them, with sum() or max()"},
		{"NaN", body(200, vector("NaN")), false, true, ReasonNaN, "query q is NaN: is something divided by zero?"},
		{"infinite", body(200, vector("+Inf")), false, true, ReasonInfinite, "query q is +Inf: is something divided by zero?"},
		{"negative infinity", body(200, vector("-Inf")), false, true, ReasonInfinite, "query q is -Inf: is something divided by zero?"},
		{"matrix", body(200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`), false, true, ReasonFailed, "Prometheus at %s: the query gives a matrix, want an instant vector or a scalar"},
		{"parse error", body(400, `{"status":"error","errorType":"bad_data","error":"1:3: parse error"}`), false, true, ReasonFailed, "Prometheus at %s: 400 Bad Request: bad_data: 1:3: parse error"},
		{"denied", body(401, `no`), false, true, ReasonDenied, "Prometheus at %s: 401 Unauthorized: give headers in the trigger, or " + EnvAuthorization},
		{"no Prometheus", body(200, `<html>`), false, true, ReasonFailed, "Prometheus at %s: its answer is not one of Prometheus (text/html; charset=utf-8): is the address right?"},
		{"not found", body(404, `404 page`), false, true, ReasonFailed, "Prometheus at %s: 404 Not Found"},
		{"gateway", body(503, `upstream`), false, true, ReasonFailed, "Prometheus at %s: 503 Service Unavailable"},
		{"endless", body(200, strings.Repeat(" ", maxAnswer+1)), false, true, ReasonFailed, "Prometheus at %s: its answer has more than 1048576 bytes: the query has too many series"},
		{"broken value", body(200, vector("zero")), false, true, ReasonFailed, ""},
		{"redirect", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, false, true, ReasonUnreachable, "Prometheus at %s: it redirects, which no Prometheus does"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := prometheus(t, c.handler)
			s := scaler(t, Servers{Client: NewClient(true)}, trigger(server.URL), clocktesting.NewFakePassiveClock(noon))
			toZero, err := s.ShouldScaleToZero(t.Context())
			fromZero, err2 := s.ShouldScaleFromZero(t.Context())
			if toZero != c.toZero || fromZero != c.fromZero || (err == nil) != (err2 == nil) {
				t.Errorf("to zero %t (%v), from zero %t (%v); want %t and %t", toZero, err, fromZero, err2, c.toZero, c.fromZero)
			}
			if got := ReasonOf(err, ""); got != c.reason {
				t.Errorf("reason %q, want %q (%v)", got, c.reason, err)
			}
			if want := strings.ReplaceAll(c.message, "%s", strings.TrimPrefix(server.URL, "http://")); want != "" && err.Error() != want {
				t.Errorf("message:\n%s\nwant\n%s", err, want)
			}
		})
	}
}

// TestUnreachable: nobody listens, and nobody answers in time.
func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := "http://user:s3cr3t@" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = scaler(t, Servers{Client: NewClient(true)}, trigger(gone), clocktesting.NewFakePassiveClock(noon)).ShouldScaleToZero(t.Context())
	if ReasonOf(err, "") != ReasonUnreachable || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("nobody listens: %s: %v", ReasonOf(err, ""), err)
	}
	bounded := roundTrip(func(r *http.Request) (*http.Response, error) {
		if _, ok := r.Context().Deadline(); !ok {
			t.Error("a query may take for ever")
		}
		return nil, context.DeadlineExceeded
	})
	_, err = scaler(t, Servers{Client: &http.Client{Transport: bounded}}, trigger("http://p"), clocktesting.NewFakePassiveClock(noon)).ShouldScaleToZero(t.Context())
	if ReasonOf(err, "") != ReasonTimeout {
		t.Errorf("no answer in time: %s: %v", ReasonOf(err, ""), err)
	}
	released := make(chan struct{})
	slow := prometheus(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
		}
	})
	defer close(released)
	impatient := &http.Client{Timeout: 1, Transport: http.DefaultTransport}
	_, err = scaler(t, Servers{Client: impatient}, trigger(slow.URL), clocktesting.NewFakePassiveClock(noon)).ShouldScaleToZero(t.Context())
	if ReasonOf(err, "") != ReasonTimeout || !strings.Contains(err.Error(), "did not answer within 5s") {
		t.Errorf("too slow: %s: %v", ReasonOf(err, ""), err)
	}
}

// TestRequest: what is asked, at which instant of the clock, with which headers; the default's credentials are not for addresses that a trigger
// names, though KubeElasti sends them there.
func TestRequest(t *testing.T) {
	var last atomic.Pointer[http.Request]
	handler := func(w http.ResponseWriter, r *http.Request) {
		last.Store(r.Clone(r.Context()))
		_, _ = io.WriteString(w, vector("1"))
	}
	own, other := prometheus(t, handler), prometheus(t, handler)
	c := clocktesting.NewFakePassiveClock(noon.Add(1500 * time.Millisecond))
	servers := Servers{Default: own.URL, Authorization: "Bearer default", Client: NewClient(true)}
	for _, row := range []struct {
		metadata, path, authorization, tenant string
	}{
		{`{"query": "sum(rate(a[1m])) + b", "threshold": 1}`, "/api/v1/query", "Bearer default", ""},
		{`{"query": "sum(rate(a[1m])) + b", "threshold": 1, "headers": {"authorization": "Basic own", "X-Scope-OrgID": "t"}}`, "/api/v1/query", "Basic own", "t"},
		{`{"query": "sum(rate(a[1m])) + b", "threshold": 1, "serverAddress": "` + other.URL + `/prom/"}`, "/prom/api/v1/query", "", ""},
	} {
		if _, err := scaler(t, servers, json.RawMessage(row.metadata), c).ShouldScaleToZero(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := last.Load()
		got := []string{r.Method, r.URL.Path, r.URL.Query().Get("query"), r.URL.Query().Get("time"), r.Header.Get("Authorization"), r.Header.Get("X-Scope-OrgID")}
		want := []string{"GET", row.path, "sum(rate(a[1m])) + b", "2026-03-04T12:00:01Z", row.authorization, row.tenant}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", row.metadata, diff)
		}
	}
	healthy, err := scaler(t, servers, json.RawMessage(`{"query": "q", "threshold": 1, "uptimeFilter": "job=\"p\""}`), c).IsHealthy(t.Context())
	if want := `min_over_time((max(up{job="p"}) or vector(0))[30s:7s])`; !healthy || err != nil || last.Load().URL.Query().Get("query") != want {
		t.Errorf("healthy %t, %v, asked %s; want %s", healthy, err, last.Load().URL.Query().Get("query"), want)
	}
}

// TestNothingStays: what one trigger says is not in the next, nor in those that are read at the same time. KubeElasti decodes all into one value, in which fields stay that the next one
// leaves out.
func TestNothingStays(t *testing.T) {
	full := `{"query": "a", "threshold": "7", "serverAddress": "http://p", "uptimeFilter": "job=\"p\"", "headers": {"X-Scope-OrgID": "t"}}`
	registry := Registry{PrometheusType: Servers{Default: "http://default"}.Factory(clocktesting.NewFakePassiveClock(noon))}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				list, err := registry.Scalers(t.Context(), []elastiv1alpha1.ScaleTrigger{{Type: PrometheusType, Metadata: json.RawMessage(full)},
					{Type: PrometheusType, Metadata: json.RawMessage(`{"query": "b", "threshold": "1"}`)}}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				one := Number(1)
				if diff := cmp.Diff(PrometheusMetadata{Query: "b", Threshold: &one}, list[1].(*Prometheus).metadata); diff != "" {
					t.Errorf("the second trigger (-want +got):\n%s", diff)
				}
				if first := list[0].(*Prometheus).metadata; first.Query != "a" || *first.Threshold != 7 || first.UptimeFilter != `job="p"` || first.Headers["X-Scope-OrgID"] != "t" {
					t.Errorf("the first trigger: %+v", first)
				}
			}
		})
	}
	group.Wait()
}

// TestMetadata: what is wrong with a trigger is said with its key.
func TestMetadata(t *testing.T) {
	servers := Servers{Allowed: []string{"prometheus.monitoring", "mimir:8080"}}
	registry := Registry{PrometheusType: servers.Factory(clocktesting.NewFakePassiveClock(noon))}
	for metadata, want := range map[string]string{
		`{"query": "q", "threshold": "1"}`:                                                  "metadata: serverAddress is not set, and there is no default (" + EnvServer + ")",
		`{"query": "q", "threshold": "1", "serverAddress": "prometheus.monitoring"}`:        "metadata: serverAddress: want http://HOST or https://HOST",
		`{"query": "q", "threshold": "1", "serverAddress": "http://169.254.169.254"}`:       "metadata: serverAddress: 169.254.169.254 is not among the allowed ones",
		`{"query": "q", "threshold": "1", "serverAddress": "http://mimir:9090"}`:            "metadata: serverAddress: mimir:9090 is not among the allowed ones",
		`{"query": "q", "threshold": "1", "serverAddress": "http://mimir:8080"}`:            "",
		`{"query": "q", "threshold": 0.5, "serverAddress": "http://prometheus.monitoring"}`: "",
		`{"threshold": "1"}`:                  "metadata: query is not set",
		`{"query": "q"}`:                      "metadata: threshold is not set",
		``:                                    "metadata: query is not set",
		`{"query": "q", "threshold": "NaN"}`:  `metadata: threshold: want a number, not "NaN"`,
		`{"query": "q", "threshold": "lots"}`: `metadata: threshold: want a number, not "lots"`,
		`{"query": "q", "treshold": "1"}`:     `metadata: unknown field "treshold"`,
		`{"query": "q", "threshold": "1"} {}`: "metadata: there is more than one value",
	} {
		_, err := registry.New(elastiv1alpha1.ScaleTrigger{Type: PrometheusType, Metadata: json.RawMessage(metadata)}, time.Minute)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "trigger prometheus: ")
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
	_, err := registry.Scalers(t.Context(), []elastiv1alpha1.ScaleTrigger{{Type: "prometeus"}}, time.Minute)
	if want := `triggers[0]: trigger type "prometeus" is not known: there is prometheus; did you mean "prometheus"?`; err == nil || err.Error() != want {
		t.Errorf("an unknown type: %v, want %s", err, want)
	}
	env := map[string]string{EnvServer: "http://p", EnvAuthorization: "Bearer x", EnvAllowed: " a, b:1 ,"}
	want := Servers{Default: "http://p", Authorization: "Bearer x", Allowed: []string{"a", "b:1"}}
	if diff := cmp.Diff(want, ServersFromEnv(func(k string) string { return env[k] })); diff != "" {
		t.Errorf("from the environment (-want +got):\n%s", diff)
	}
}

// TestGuard: triggers lead to no address of this machine or this link, whatever its name is.
func TestGuard(t *testing.T) {
	server := prometheus(t, body(200, vector("0")))
	s := scaler(t, Servers{}, trigger(server.URL), clocktesting.NewFakePassiveClock(noon))
	if _, err := s.ShouldScaleToZero(t.Context()); ReasonOf(err, "") != ReasonUnreachable || !strings.Contains(err.Error(), "to which triggers may not lead") {
		t.Errorf("this machine is asked: %v", err)
	}
	for address, refused := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "169.254.169.254:80": true, "[fe80::1]:80": true, "0.0.0.0:80": true, "[::ffff:127.0.0.1]:80": true, "224.0.0.1:80": true,
		"[::ffff:0.0.0.0]:80": true, "10.0.0.7:9090": false, "192.168.1.1:9090": false, "[fd00::7]:9090": false, "8.8.8.8:443": false,
	} {
		if err := guard("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v, want refused %t", address, err, refused)
		}
	}
}

// TestUptimeQuery: whatever the cooldown, the range has at least one instant of its step, also where ranges leave out their beginning; without a
// cooldown there is no range.
func TestUptimeQuery(t *testing.T) {
	for cooldown, want := range map[time.Duration]string{
		0:                        `max(up{container="prometheus"}) or vector(0)`,
		time.Millisecond:         `min_over_time((max(up{container="prometheus"}) or vector(0))[1s:1s])`,
		30 * time.Second:         `min_over_time((max(up{container="prometheus"}) or vector(0))[30s:7s])`,
		15 * time.Minute:         `min_over_time((max(up{container="prometheus"}) or vector(0))[900s:60s])`,
		7 * 24 * time.Hour:       `min_over_time((max(up{container="prometheus"}) or vector(0))[604800s:60s])`,
		90500 * time.Millisecond: `min_over_time((max(up{container="prometheus"}) or vector(0))[91s:22s])`,
	} {
		if got := UptimeQuery("", cooldown); got != want {
			t.Errorf("%s: %s, want %s", cooldown, got, want)
		}
	}
	for cooldown := 1; cooldown <= 4000; cooldown++ {
		var length, step int
		query := UptimeQuery("", time.Duration(cooldown)*time.Second)
		if _, err := fmt.Sscanf(query[strings.Index(query, "["):], "[%ds:%ds])", &length, &step); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if length != cooldown || step < 1 || step > length {
			t.Fatalf("a cooldown of %ds: %s", cooldown, query)
		}
	}
}

// FuzzMetadata: what is taken has a query and a finite threshold.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"query": "q", "threshold": "0.5"}`))
	f.Add([]byte(`{"query": "q", "threshold": -1, "headers": {"a": "b"}}`))
	f.Add([]byte(`{"threshold": 1e999}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParsePrometheusMetadata(data)
		if err != nil {
			return
		}
		if v := float64(*m.Threshold); m.Query == "" || v-v != 0 {
			t.Errorf("%s is taken: %+v", data, m)
		}
	})
}

// FuzzAnswer: whatever a server says, there is one finite value or a reason.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(vector("1")))
	f.Add(200, []byte(`{"status":"success","data":{"resultType":"scalar","result":[1,"0"]}}`))
	f.Add(422, []byte(`{"status":"error","error":"x"}`))
	f.Fuzz(func(t *testing.T, status int, data []byte) {
		s := Servers{Client: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(data)))}, nil
		})}}
		p := scaler(t, s, trigger("http://p"), clocktesting.NewFakePassiveClock(noon)).(*Prometheus)
		_, err := p.ShouldScaleToZero(t.Context())
		if v := p.Last().Value; (err == nil) != (p.Last().Err == nil) || err == nil && v-v != 0 || err != nil && ReasonOf(err, "") == "" {
			t.Errorf("value %g, %v", v, err)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
