package api

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/recommender"
)

func goVersion() string { return runtime.Version() }

// serving answers each request with the next of the handlers, and the last one from then on.
func serving(t *testing.T, handlers ...http.HandlerFunc) (url string, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[min(int(calls.Add(1))-1, len(handlers)-1)](w, r)
	}))
	t.Cleanup(h.Close)
	return h.URL, calls
}

func saying(status int, header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if header != "" {
			w.Header().Set("Retry-After", header)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

const emptyAnswer = `{"apiVersion":"recommender.scalehist.io/v1","recommendation":{}}`

func TestRetries(t *testing.T) {
	for _, c := range []struct {
		name     string
		handlers []http.HandlerFunc
		calls    int32
		want     string
	}{
		{"full, then not", []http.HandlerFunc{saying(429, "", ""), saying(503, "2", ""), saying(200, "", emptyAnswer)}, 3, ""},
		{"always full", []http.HandlerFunc{saying(429, "", `{"detail":"4 are being made","title":"too many requests"}`)}, 5, "429 too many requests: 4 are being made (tried 5 times)"},
		{"broken", []http.HandlerFunc{saying(500, "", `{"detail":"broke down","title":"failed","advice":"report it","requestId":"x1"}`)}, 1, "500 failed: broke down: report it (request x1)"},
		{"refused", []http.HandlerFunc{saying(422, "", `{"detail":"no price of m4","title":"refused","path":"prices"}`)}, 1, "422 refused: prices: no price of m4"},
		{"no API", []http.HandlerFunc{saying(404, "", "<html>nothing here</html>")}, 1, `404 Not Found: "<html>nothing here</html>"`},
		{"a redirect", []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }}, 1, "302 Found"},
		{"no JSON", []http.HandlerFunc{saying(200, "", "fine")}, 1, "the answer does not follow /openapi.json: invalid character"},
		{"other type", []http.HandlerFunc{saying(200, "", `{"recommendation":[]}`)}, 1, "the answer does not follow /openapi.json: array where an object is due"},
		{"other version", []http.HandlerFunc{saying(200, "", `{"apiVersion":"v2","recommendation":{}}`)}, 1, `the answer has apiVersion "v2"`},
		{"cut short", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
		}}, 1, "the answer ended early"},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, calls := serving(t, c.handlers...)
			client := newTestClient(t, url, func(o *ClientOptions) { o.Clock = stepping(t) })
			_, err := client.Recommend(t.Context(), testRequest())
			if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := calls.Load(); got != c.calls {
				t.Errorf("%d requests, want %d", got, c.calls)
			}
		})
	}
}

// stepping is a clock that goes on as soon as anybody waits.
func stepping(t *testing.T) *clocktesting.FakeClock {
	t.Helper()
	c := clocktesting.NewFakeClock(testNow)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if c.HasWaiters() {
				c.Step(time.Minute)
			}
			runtime.Gosched()
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return c
}

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c := newTestClient(t, "http://"+address, func(o *ClientOptions) { o.Clock = stepping(t) })
	_, err = c.Recommend(t.Context(), testRequest())
	if want := "recommender at http://" + address + ": connection refused: is it started, and is this its address? (tried 5 times)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestClientTimeoutAndCancel(t *testing.T) {
	stop := make(chan struct{})
	url, _ := serving(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	t.Cleanup(func() { close(stop) })
	c := newTestClient(t, url, func(o *ClientOptions) { o.Timeout = time.Millisecond })
	if _, err := c.Recommend(t.Context(), testRequest()); err == nil || !strings.Contains(err.Error(), "no answer within 1ms") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newTestClient(t, url).Recommend(ctx, testRequest()); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// TestAnswersAreChecked: an answer that contradicts the request is an error that says where; what it may leave out is filled in.
func TestAnswersAreChecked(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{`{"scaleUps":[{"nodeGroup":"none","count":1}]}`, `recommendation.scaleUps[0].nodeGroup: there is no node group "none"`},
		{`{"scaleUps":[{"nodeGroup":"small","count":0}]}`, "recommendation.scaleUps[0].count: 0"},
		{`{"scaleUps":[{"nodeGroup":"small","count":1},{"nodeGroup":"small","count":1}]}`, "recommendation.scaleUps[1].nodeGroup: node group small grows twice"},
		{`{"scaleUps":[{"nodeGroup":"small","count":1,"from":1,"to":2}]}`, "from 1 to 2 by 1, and the target size of small is 2"},
		{`{"scaleDowns":[{"node":"ghost"}]}`, `recommendation.scaleDowns[0].node: node "ghost"`},
		{`{"scaleUps":[{"nodeGroup":"small","count":2}]}`, ""},
	} {
		url, _ := serving(t, saying(200, "", `{"apiVersion":"recommender.scalehist.io/v1","later":true,"recommendation":`+c.answer+`}`))
		got, err := newTestClient(t, url).Recommend(t.Context(), testRequest())
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %s", c.answer, err, c.want)
			}
		case err != nil:
			t.Error(err)
		default:
			if up := got.ScaleUps[0]; up.From != 2 || up.To != 4 || up.Zone != "a" || up.MachineType != "m2" {
				t.Errorf("not filled in: %+v", up)
			}
		}
	}
}

func TestClientTLSAndToken(t *testing.T) {
	api, err := NewServer(Options{Recommender: recommender.New(), Tokens: matcher("a-long-secret-token")})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewTLSServer(api)
	t.Cleanup(h.Close)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca := write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
	token := write("token", []byte("a-long-secret-token\n"))
	with := func(ca, token string) *Client {
		return newTestClient(t, h.URL, func(o *ClientOptions) { o.CAFile, o.TokenFile = ca, token })
	}
	if _, err := with(ca, token).Recommend(t.Context(), testRequest()); err != nil {
		t.Error(err)
	}
	if _, err := with("", token).Recommend(t.Context(), testRequest()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the CA: %v", err)
	}
	if _, err := with(ca, "").Recommend(t.Context(), testRequest()); err == nil || !strings.Contains(err.Error(), "401 token: the token is missing or wrong") {
		t.Errorf("without a token: %v", err)
	}
	if _, err := with(ca, write("empty", nil)).Recommend(t.Context(), testRequest()); err == nil || !strings.Contains(err.Error(), "holds no token") {
		t.Errorf("with an empty token file: %v", err)
	}
	for _, c := range []struct {
		o    ClientOptions
		want string
	}{
		{ClientOptions{URL: "127.0.0.1:80"}, "want http://host:port"},
		{ClientOptions{URL: "ftp://x"}, "want http://host:port"},
		{ClientOptions{URL: "http://x", CAFile: ca}, "certificates need https"},
		{ClientOptions{URL: "https://x", CertFile: ca}, "give both certificate and key"},
		{ClientOptions{URL: "https://x", CAFile: token}, "no certificate in it"},
		{ClientOptions{URL: "https://x", CAFile: filepath.Join(dir, "none")}, "no such file"},
		{ClientOptions{URL: "https://x", Tries: -1}, "must not be negative"},
	} {
		if _, err := NewClient(c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
}

// TestStrategyOfURL: the fragment of the URL is asked for where a request names no strategy, and a path stays.
func TestStrategyOfURL(t *testing.T) {
	var asked []string
	url, _ := serving(t, func(w http.ResponseWriter, r *http.Request) {
		var q Request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked = append(asked, r.URL.Path+" "+q.Strategy)
		saying(200, "", emptyAnswer)(w, r)
	})
	for _, c := range []struct{ suffix, strategy, want string }{
		{"", "", "/v1/recommend "}, {"#optimal", "", "/v1/recommend optimal"}, {"/base/#optimal", "greedy", "/base/v1/recommend greedy"}, {"/v1/recommend", "", "/v1/recommend "},
	} {
		r := testRequest()
		r.Strategy = c.strategy
		if _, err := newTestClient(t, url+c.suffix).Recommend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if got := asked[len(asked)-1]; got != c.want {
			t.Errorf("%s: asked %q, want %q", c.suffix, got, c.want)
		}
	}
}

// TestServerClosesWithoutAWord: servers close connections that they said they would keep; the client takes new ones.
func TestServerClosesWithoutAWord(t *testing.T) {
	url, calls := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = fmt.Fprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(emptyAnswer), emptyAnswer)
		_ = connection.Close()
	})
	client := newTestClient(t, url)
	for range 20 {
		if _, err := client.Recommend(t.Context(), testRequest()); err != nil {
			t.Fatal(err)
		}
	}
	if got := calls.Load(); got != 20 {
		t.Errorf("%d requests, want 20", got)
	}
}
