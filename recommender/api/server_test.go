package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recommender"
)

func wireRequest(t *testing.T) []byte {
	t.Helper()
	b, err := json.Marshal(FromRequest(testRequest()))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantProblem checks status and form of an answer and gives its problem.
func wantProblem(t *testing.T, response *http.Response, body []byte, status int, kind string) Problem {
	t.Helper()
	var p Problem
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatalf("%s: %q: %v", response.Status, body, err)
	}
	if response.StatusCode != status || p.Status != status || p.Type != problemTypes+kind || response.Header.Get("Content-Type") != "application/problem+json" ||
		p.RequestID == "" || p.RequestID != response.Header.Get(restapi.RequestIDHeader) || p.Detail == "" {
		t.Errorf("got %s %+v, want %d %s", response.Status, p, status, kind)
	}
	return p
}

func TestProblems(t *testing.T) {
	s := newTestServer(t, Options{MaxBody: 20_000})
	priceless := testRequest()
	delete(priceless.Prices.MachineTypes, "m4")
	unpriced, err := json.Marshal(FromRequest(priceless))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path string
		body       []byte
		change     func(*http.Request)
		status     int
		kind, want string
	}{
		{"path of the error", PathRecommend, []byte(envelope(`"nodeGroups":[{"name":"a","minSzie":1}]`)), nil, 400, kindRequest, "nodeGroups[0].minSzie"},
		{"no price", PathRecommend, unpriced, nil, 422, kindRefused, "m4"},
		{"unknown strategy", PathRecommend, []byte(envelope(`"strategy":"best"`)), nil, 422, kindRefused, `unknown strategy "best"`},
		{"too large", PathRecommend, bytes.Repeat([]byte(" "), 20_001), nil, 413, kindTooLarge, "20000 bytes"},
		{"too large unpacked", PathRecommend, packed(t, bytes.Repeat([]byte(" "), 20_001)), gzipped, 413, kindTooLarge, "20000 bytes"},
		{"no gzip", PathRecommend, []byte("x"), gzipped, 400, kindRequest, "not gzip"},
		{"cut gzip", PathRecommend, packed(t, wireRequest(t))[:200], gzipped, 400, kindRequest, "ended early"},
		{"encoding", PathRecommend, nil, func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }, 415, kindRequest, "br"},
		{"type", PathRecommend, nil, func(r *http.Request) { r.Header.Set("Content-Type", "text/yaml") }, 415, kindRequest, "text/yaml"},
		{"validation", PathRecommend + "?fieldValidation=Warn", nil, nil, 400, kindRequest, "fieldValidation=Warn"},
		{"other path", "/v2/recommend", nil, nil, 404, restapi.KindRoute, "/v2/recommend"},
		{"other method", PathRecommend, nil, func(r *http.Request) { r.Method = http.MethodDelete }, 405, restapi.KindRoute, "DELETE"},
		{"other origin", PathRecommend, nil, func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403, restapi.KindRoute, "another origin"},
	} {
		t.Run(c.name, func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*http.Request) {}
			}
			response, body := post(t, s.URL+c.path, c.body, change)
			p := wantProblem(t, response, body, c.status, c.kind)
			if !strings.Contains(p.Path+" "+p.Detail, c.want) {
				t.Errorf("got %+v, want %s", p, c.want)
			}
		})
	}
}

func gzipped(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGzipAndRequestID(t *testing.T) {
	s := newTestServer(t, Options{})
	response, body := post(t, s.URL+PathRecommend, packed(t, wireRequest(t)), gzipped, func(r *http.Request) {
		r.Header.Set(restapi.RequestIDHeader, "mine-1")
		r.Header.Set("Accept-Encoding", "gzip") // asked for by hand, so it stays packed
	})
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Encoding") != "gzip" || response.Header.Get(restapi.RequestIDHeader) != "mine-1" {
		t.Fatalf("got %s %v", response.Status, response.Header)
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var answer Response
	if err := json.NewDecoder(z).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	if answer.Run == nil || answer.Run.RequestID != "mine-1" || answer.Run.RunTime <= 0 {
		t.Errorf("run: %+v", answer.Run)
	}
	if diff := cmp.Diff(text(t, inProcess(t, testRequest())), text(t, answer.Recommendation)); diff != "" {
		t.Errorf("packed (-in process +packed):\n%s", diff)
	}
	response, _ = post(t, s.URL+PathRecommend, nil, func(r *http.Request) { r.Header.Set(restapi.RequestIDHeader, "not\tsane") })
	if id := response.Header.Get(restapi.RequestIDHeader); len(id) != 16 {
		t.Errorf("an id that is not sane gave %q", id)
	}
}

// TestLimit: what is beyond the limit is refused at once, and let in when a slot is free again.
func TestLimit(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	s := newTestServer(t, Options{MaxConcurrent: 2, Recommender: answering(func(context.Context, *recommender.Request) (*recommender.Recommendation, error) {
		entered <- struct{}{}
		<-release
		return &recommender.Recommendation{}, nil
	})})
	body := wireRequest(t)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if response, _ := post(t, s.URL+PathRecommend, body); response.StatusCode != http.StatusOK {
				t.Errorf("a request within the limit: %s", response.Status)
			}
		})
		<-entered
	}
	response, answer := post(t, s.URL+PathRecommend, body)
	wantProblem(t, response, answer, http.StatusTooManyRequests, kindTooMany)
	if got := response.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After: %q", got)
	}
	if _, metrics := get(t, s.URL+"/metrics"); !strings.Contains(string(metrics), "scalehist_recommender_in_flight 2") ||
		!strings.Contains(string(metrics), `scalehist_recommender_problems_total{kind="too-many-requests"} 1`) {
		t.Errorf("metrics:\n%s", metrics)
	}
	close(release)
	wg.Wait()
	wg.Go(func() { <-entered })
	if response, _ := post(t, s.URL+PathRecommend, body); response.StatusCode != http.StatusOK {
		t.Errorf("after the others: %s", response.Status)
	}
	wg.Wait()
}

func TestTimeout(t *testing.T) {
	s := newTestServer(t, Options{Timeout: time.Millisecond, Recommender: answering(func(ctx context.Context, _ *recommender.Request) (*recommender.Recommendation, error) {
		<-ctx.Done()
		return nil, errors.New("stopped somewhere inside")
	})})
	response, body := post(t, s.URL+PathRecommend, wireRequest(t))
	if p := wantProblem(t, response, body, http.StatusGatewayTimeout, kindTimeout); !strings.Contains(p.Detail, "1ms") {
		t.Errorf("got %+v", p)
	}
}

func TestPanicIsAnswered(t *testing.T) {
	panics := true
	s := newTestServer(t, Options{Recommender: answering(func(ctx context.Context, r *recommender.Request) (*recommender.Recommendation, error) {
		if panics {
			panic("broken on purpose")
		}
		return recommender.New().Recommend(ctx, r)
	})})
	response, body := post(t, s.URL+PathRecommend, wireRequest(t))
	if p := wantProblem(t, response, body, http.StatusInternalServerError, restapi.KindFailed); strings.Contains(p.Detail, "on purpose") {
		t.Errorf("the inside is shown: %+v", p)
	}
	panics = false
	if response, body := post(t, s.URL+PathRecommend, wireRequest(t)); response.StatusCode != http.StatusOK {
		t.Errorf("after a panic: %s %s", response.Status, body)
	}
	if _, metrics := get(t, s.URL+"/metrics"); !strings.Contains(string(metrics), "scalehist_recommender_panics_total 1") {
		t.Errorf("metrics:\n%s", metrics)
	}
}

func TestNoAnswerIsAFailure(t *testing.T) {
	s := newTestServer(t, Options{Recommender: answering(func(context.Context, *recommender.Request) (*recommender.Recommendation, error) { return nil, nil })})
	response, body := post(t, s.URL+PathRecommend, wireRequest(t))
	wantProblem(t, response, body, http.StatusInternalServerError, restapi.KindFailed)
}

func TestProbesAndDrain(t *testing.T) {
	s := newTestServer(t, Options{Tokens: matcher("secret")})
	for _, path := range []string{"/healthz", "/readyz"} {
		if response, body := get(t, s.URL+path); response.StatusCode != http.StatusOK || string(body) != "ok\n" {
			t.Errorf("%s: %s %q", path, response.Status, body)
		}
	}
	response, body := get(t, s.URL+PathStrategies)
	wantProblem(t, response, body, http.StatusUnauthorized, restapi.KindToken)
	bearer := func(r *http.Request) { r.Header.Set("Authorization", "bearer secret") }
	if response, _ := post(t, s.URL+PathRecommend, wireRequest(t), bearer); response.StatusCode != http.StatusOK {
		t.Errorf("with the token: %s", response.Status)
	}
	s.Drain()
	if response, _ := get(t, s.URL+"/readyz"); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("readyz of a server that ends: %s", response.Status)
	}
	if response, _ := get(t, s.URL+"/healthz"); response.StatusCode != http.StatusOK {
		t.Errorf("healthz of a server that ends: %s", response.Status)
	}
	response, body = post(t, s.URL+PathRecommend, wireRequest(t), bearer)
	wantProblem(t, response, body, http.StatusServiceUnavailable, kindDraining)
}

type matcher string

func (m matcher) Match(token string) bool { return token == string(m) }

func TestServerOptions(t *testing.T) {
	for _, o := range []Options{{}, {Recommender: recommender.New(), MaxConcurrent: -1}, {Recommender: recommender.New(), Timeout: -1}} {
		if _, err := NewServer(o); err == nil {
			t.Errorf("%+v: want an error", o)
		}
	}
	s := newTestServer(t, Options{Name: "mine", Strategies: []string{"a"}, Version: "v9", Recommender: recommender.New()})
	_, body := get(t, s.URL+PathStrategies)
	var got StrategyList
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := StrategyList{APIVersion: Version, Name: "mine", Strategies: []string{"a"}, Weights: recommender.DefaultWeights()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("strategies (-want +got):\n%s", diff)
	}
	if _, body := get(t, s.URL+PathOpenAPI); !bytes.Equal(body, OpenAPI) {
		t.Error("openapi.json is not the document")
	}
	if _, body := get(t, s.URL+"/metrics"); !strings.Contains(string(body), fmt.Sprintf(`scalehist_build_info{commit="",goversion=%q,version="v9"} 1`, goVersion())) {
		t.Errorf("metrics:\n%s", body)
	}
}

// idle opens a connection that announces a body and sends none. It returns once the server reads the body.
func idle(t *testing.T, s *running) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", PathRecommend); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(io.LimitReader(conn, int64(len("HTTP/1.1 100 Continue\r\n\r\n")))).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("got %q, %v", line, err)
	}
	return conn
}

// TestIdleRequestsKeepNobodyOut: who sends no body has no slot, and is refused when its time is over.
func TestIdleRequestsKeepNobodyOut(t *testing.T) {
	s := newTestServer(t, Options{MaxConcurrent: 1})
	for range 8 {
		idle(t, s)
	}
	if response, body := post(t, s.URL+PathRecommend, wireRequest(t)); response.StatusCode != http.StatusOK {
		t.Errorf("beside idle requests: %s %s", response.Status, body)
	}
	s = newTestServer(t, Options{ReadTimeout: 10 * time.Millisecond})
	conn := idle(t, s)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if p := wantProblem(t, response, body, http.StatusRequestTimeout, kindTimeout); !strings.Contains(p.Detail, "10ms") {
		t.Errorf("got %+v", p)
	}
}

// TestDrainingEndsIdleRequests: who sends no body does not keep a server from ending.
func TestDrainingEndsIdleRequests(t *testing.T) {
	s := newTestServer(t, Options{})
	conn := idle(t, s)
	s.Drain()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("it is still waited for, up to %s: %v", DefaultReadTimeout, err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, response, body, http.StatusServiceUnavailable, kindDraining)
}

// TestReceivingIsBounded: what all requests hold while they are read is bounded, and given back.
func TestReceivingIsBounded(t *testing.T) {
	s := newTestServer(t, Options{})
	all := s.received.most
	if !s.received.take(all) {
		t.Fatal("not even the first takes anything")
	}
	response, body := post(t, s.URL+PathRecommend, wireRequest(t))
	if p := wantProblem(t, response, body, http.StatusTooManyRequests, kindTooMany); !strings.Contains(p.Detail, "are being received") {
		t.Errorf("got %+v", p)
	}
	s.received.give(all)
	if response, body := post(t, s.URL+PathRecommend, wireRequest(t)); response.StatusCode != http.StatusOK {
		t.Errorf("after it was given back: %s %s", response.Status, body)
	}
	post(t, s.URL+PathRecommend, []byte("x"))
	if got := s.received.now.Load(); got != 0 {
		t.Errorf("%d bytes are still counted", got)
	}
}

// TestHostsAndMethods: names that are not the server's are refused but to probes, and a wrong method says the right one.
func TestHostsAndMethods(t *testing.T) {
	s := newTestServer(t, Options{LocalHosts: true, Hosts: []string{"rec.example"}})
	for host, want := range map[string]int{"localhost": 200, "rec.example:80": 200, "evil.example": 421} {
		for path, want := range map[string]int{PathStrategies: want, "/healthz": 200} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			response, body := do(t, r)
			if response.StatusCode != want {
				t.Errorf("%s as %s: %s, want %d", path, host, response.Status, want)
			}
			if want == http.StatusMisdirectedRequest {
				wantProblem(t, response, body, want, restapi.KindRoute)
			}
		}
	}
	for path, allow := range map[string]string{PathRecommend: "POST", PathStrategies: "GET, HEAD", PathOpenAPI: "GET, HEAD", "/metrics": "GET, HEAD", "/healthz": "GET, HEAD"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, body := do(t, r)
		wantProblem(t, response, body, http.StatusMethodNotAllowed, restapi.KindRoute)
		if got := response.Header.Get("Allow"); got != allow {
			t.Errorf("PUT %s: Allow %q, want %q", path, got, allow)
		}
	}
}
