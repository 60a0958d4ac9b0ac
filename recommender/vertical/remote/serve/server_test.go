package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/remote"
)

var (
	start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	shop  = vertical.Workload{Namespace: "shop", Name: "web", Containers: []string{"app", "side"}}
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func parsed(t fataler, text string) vertical.Spec {
	t.Helper()
	s, err := vertical.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func made(t fataler, text string, w vertical.Workload) vertical.Recommender {
	t.Helper()
	r, err := parsed(t, text).Maker(w)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// served is the address of a server of a recommender, and how often it was asked.
func served(t *testing.T, o Options) (string, *atomic.Int64) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	asked := &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, asked
}

// drawSample draws what a container of one of some pods used some minutes later; some ran out of memory, some are refused.
func drawSample(t *rapid.T, at time.Time) vertical.Sample {
	s := vertical.Sample{At: at.Add(time.Duration(rapid.IntRange(1, 240).Draw(t, "minutes"))*time.Minute + time.Duration(rapid.IntRange(0, 999).Draw(t, "ms"))*time.Millisecond),
		Pod: fmt.Sprintf("web-%d", rapid.IntRange(0, 2).Draw(t, "pod")), Container: rapid.SampledFrom(shop.Containers).Draw(t, "container"),
		Usage: vertical.Amount{CPUMilli: rapid.Int64Range(-1, 4000).Draw(t, "cpu"), MemoryBytes: rapid.Int64Range(-1, 4<<30).Draw(t, "memory")}}
	if rapid.IntRange(0, 9).Draw(t, "OOM") == 0 {
		s.Usage, s.OOM, s.Requested = vertical.None, true, rapid.Int64Range(0, 2<<30).Draw(t, "requested")
	}
	return s
}

// policies is a VPA with a policy for a container.
func policies(cpu string) *vpav1.VerticalPodAutoscaler {
	return &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: vpav1.VerticalPodAutoscalerSpec{ResourcePolicy: &vpav1.PodResourcePolicy{
		ContainerPolicies: []vpav1.ContainerResourcePolicy{{ContainerName: "app", MaxAllowed: corev1.ResourceList{corev1.ResourceCPU: amount(cpu)}}}}}}
}

// TestSameOverHTTP: on random lives of pods, a recommender behind HTTP recommends what the same one does in this process, through pods that end,
// new policies, what was saved and loaded, and a reset.
//
//scalehist:unraced
func TestSameOverHTTP(t *testing.T) {
	for _, text := range []string{"vpa", "vpa:target-cpu-percentile=0.5", "max-usage", "random", "holt-winters:season=30m,horizon=30m", "smart-kube:confidence=true", "threshold", "boosted", "policy"} {
		t.Run(text, func(t *testing.T) {
			address, _ := served(t, Options{Recommender: parsed(t, text)})
			sameAt(t, text, address)
		})
	}
}

// sameAt holds a recommender at an address against one of this process.
func sameAt(t *testing.T, text, address string) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		w := shop
		if rapid.Bool().Draw(rt, "VPA") {
			w.VPA = policies("2")
		}
		here, there := made(rt, text, w), made(rt, "url:"+address, w)
		defer vertical.Close(there)
		both := []vertical.Recommender{here, there}
		refused := 0
		end := start.Add(time.Duration(rapid.IntRange(1, 48).Draw(rt, "hours")) * time.Hour)
		for at := start; at.Before(end); {
			s := drawSample(rt, at)
			at = s.At
			if here.Observe(s) != nil {
				refused++
			}
			if err := there.Observe(s); err != nil {
				rt.Fatal(err)
			}
			switch rapid.IntRange(0, 9).Draw(rt, "then") {
			case 0:
				for _, r := range both {
					vertical.Forget(r, s.Pod)
				}
			case 1:
				if w.VPA != nil {
					for _, r := range both {
						vertical.Follow(r, policies("1"))
					}
				}
			case 2:
				for i, r := range both {
					var b bytes.Buffer
					if err := r.Save(&b, at); err != nil {
						rt.Fatal(err)
					}
					both[i] = made(rt, []string{text, "url:" + address}[i], w)
					if err := both[i].Load(&b); err != nil {
						rt.Fatal(err)
					}
				}
				number, _ := vertical.Refused(there)
				refused -= number
				here, there = both[0], both[1]
			case 3:
				if rapid.IntRange(0, 3).Draw(rt, "reset") == 0 {
					here.Reset()
					there.Reset()
					refused = 0
				}
			case 4, 5, 6:
				want, err := here.Recommend(t.Context(), at)
				if err != nil {
					rt.Fatal(err)
				}
				got, err := there.Recommend(t.Context(), at)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("at %s (-here +over HTTP):\n%s", at, diff)
				}
				if number, first := vertical.Refused(there); number != refused {
					rt.Fatalf("%d samples were refused over HTTP (%s), %d here", number, first, refused)
				}
				refused = 0
			}
		}
	})
}

// TestPython: on random loads, the example in Python recommends what max-usage does; what is wrong with requests is said.
func TestPython(t *testing.T) {
	address := python(t)
	sameAt(t, "max-usage", address)
	r := made(t, "url:"+address, shop)
	if err := r.Load(strings.NewReader("{\"app\": 1}")); err == nil || !strings.Contains(err.Error(), "this recommender did not save that: send what it saved") {
		t.Errorf("what another one saved: %v", err)
	}
}

// python starts the example and gives its address.
func python(t *testing.T) string {
	t.Helper()
	return realtest.PythonServer(t, filepath.Join("..", "..", "..", "..", "examples", "vertical-recommender-python", "recommender.py"))
}

// TestFewRequests: a hundred thousand samples are not as many requests, and with every= it is not asked each time.
func TestFewRequests(t *testing.T) {
	address, asked := served(t, Options{Recommender: parsed(t, "max-usage")})
	r := made(t, "url:at="+address+",every=1h", shop)
	at := start
	for range 100_000 {
		at = at.Add(time.Second)
		if err := r.Observe(vertical.Sample{At: at, Pod: "web-0", Container: "app", Usage: vertical.Amount{CPUMilli: 100, MemoryBytes: 1 << 20}}); err != nil {
			t.Fatal(err)
		}
	}
	for minute := range 120 {
		list, err := r.Recommend(t.Context(), at.Add(time.Duration(minute)*time.Minute))
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
	}
	if got, want := asked.Load(), int64(1+100_000/remote.MaxObserved-1+2); got != want { // made, samples, the last of them with the first question, a second one
		t.Errorf("%d requests, want %d", got, want)
	}
}

// TestWrongAnswers: what a server does wrong is an error that names it and says what is wrong.
func TestWrongAnswers(t *testing.T) {
	slow := make(chan struct{})
	t.Cleanup(func() { close(slow) })
	answers := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == remote.PathWorkloads {
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte(`{"id":"1"}`))
				return
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		options string
		want    string
	}{
		"slow":            {func(http.ResponseWriter, *http.Request) { <-slow }, ",timeout=50ms", "no answer within 50ms: give it longer with the option timeout"},
		"no JSON":         {answers(200, "<html>"), "", "the answer cannot be read"},
		"NaN":             {answers(200, `{"recommendations":[{"container":"app","target":{"cpuMilli":NaN}}]}`), "", "the answer cannot be read"},
		"half a milli":    {answers(200, `{"recommendations":[{"container":"app","target":{"cpuMilli":12.5}}]}`), "", "number 12.5 where a whole number is due"},
		"negative":        {answers(200, `{"recommendations":[{"container":"app","target":{"cpuMilli":-1}}]}`), "", "recommendations[0].target.cpuMilli -1: want 0 to 10^15"},
		"huge":            {answers(200, `{"recommendations":[{"container":"app","target":{"memoryBytes":1000000000000001}}]}`), "", "memoryBytes 1000000000000001: want 0 to 10^15"},
		"no container":    {answers(200, `{"recommendations":[{"target":{"cpuMilli":1}}]}`), "", "recommendations[0]: container is missing"},
		"unknown":         {answers(200, `{"recommendations":[{"container":"db","target":{"cpuMilli":1}}]}`), "", `container "db" is none of workload shop/web: want app, side`},
		"twice":           {answers(200, `{"recommendations":[{"container":"app","target":{"cpuMilli":1}},{"container":"app","target":{"cpuMilli":1}}]}`), "", "container app is recommended for twice"},
		"no target":       {answers(200, `{"recommendations":[{"container":"app"}]}`), "", "recommendations[0].target: cpuMilli and memoryBytes are missing"},
		"too large":       {answers(200, `{"recommendations":[]`+strings.Repeat(" ", 5<<20)+"}"), "", "the answer is larger than 4194304 bytes"},
		"a problem":       {answers(500, `{"detail":"out of coffee","advice":"brew some"}`), "", "out of coffee: brew some"},
		"another problem": {answers(502, "bad gateway"), "", `Bad Gateway: "bad gateway"`},
		"elsewhere":       {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) }, "", "Found"},
		"no id":           {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }, "", "the answer has no id"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(c.handler)
			t.Cleanup(s.CloseClientConnections)
			r := made(t, "url:"+s.URL+c.options, shop)
			if err := r.Observe(vertical.Sample{At: start, Pod: "web-0", Container: "app", Usage: vertical.Amount{CPUMilli: 1, MemoryBytes: 1}}); err != nil {
				t.Fatal(err)
			}
			_, err := r.Recommend(t.Context(), start)
			if err == nil || !strings.Contains(err.Error(), "recommender at "+s.URL+": ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
	s := httptest.NewServer(nil)
	s.Close()
	if _, err := made(t, "url:"+s.URL, shop).Recommend(t.Context(), start); err == nil || !strings.Contains(err.Error(), "connection refused: start it, or correct the address") {
		t.Errorf("nobody there: %v", err)
	}
}

// TestServerStartsAgain: what a server has forgotten is an error once, and begins again after it.
func TestServerStartsAgain(t *testing.T) {
	var current atomic.Pointer[Server]
	again := func() {
		s, err := New(Options{Recommender: parsed(t, "max-usage:margin=0")})
		if err != nil {
			t.Fatal(err)
		}
		current.Store(s)
	}
	again()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) }))
	defer server.Close()
	r := made(t, "url:"+server.URL, shop)
	use := func(cpu int64) ([]vertical.Recommendation, error) {
		if err := r.Observe(vertical.Sample{At: start, Pod: "web-0", Container: "app", Usage: vertical.Amount{CPUMilli: cpu, MemoryBytes: 1}}); err != nil {
			t.Fatal(err)
		}
		return r.Recommend(t.Context(), start)
	}
	if list, err := use(700); err != nil || list[0].Target.CPUMilli != 700 {
		t.Fatal(list, err)
	}
	again()
	if _, err := use(300); err == nil || !strings.Contains(err.Error(), `workload "1" is not there`) {
		t.Errorf("%v", err)
	}
	if list, err := use(200); err != nil || list[0].Target.CPUMilli != 300 {
		t.Error(list, err)
	}
}

// TestBareAmounts: bounds that are left out are the target.
func TestBareAmounts(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":"1","recommendations":[{"container":"app","target":{"cpuMilli":5},"upper":{"cpuMilli":7}}],"refused":{"number":2,"first":"too old"}}`))
	}))
	defer s.Close()
	r := made(t, "url:"+s.URL, shop)
	got, err := r.Recommend(t.Context(), start)
	if err != nil {
		t.Fatal(err)
	}
	cpu := func(v int64) vertical.Amount { return vertical.Amount{CPUMilli: v, MemoryBytes: vertical.Unset} }
	if diff := cmp.Diff([]vertical.Recommendation{{Container: "app", Lower: cpu(5), Target: cpu(5), Upper: cpu(7)}}, got); diff != "" {
		t.Error(diff)
	}
	if number, first := vertical.Refused(r); number != 2 || first != "too old" {
		t.Errorf("refused: %d, %s", number, first)
	}
}

// TestSpecs: the address may come first; what is wrong with options is said.
func TestSpecs(t *testing.T) {
	if got := parsed(t, "url:https://host:1/base,timeout=5s").String(); got != "url:at=https://host:1/base,timeout=5s" {
		t.Error(got)
	}
	for text, want := range map[string]string{
		"url": `recommender url: address "": want http://host:port`, "url:ftp://x": "want http://host:port", "url:http://x,timeout=0s": "timeout=0s: want a duration from 1ms",
		"url:http://x,at=http://y": "option at is given twice", "url:http://x,evry=1m": `did you mean "every"?`, "url:http://x,token-file=no/such": "token-file: open no/such",
		"url:http://x?a=b": "there is no option http://x?a",
	} {
		if _, err := vertical.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", text, err, want)
		}
	}
}

// TestProblems: requests that are wrong are answered by problems, and the server is well afterwards.
func TestProblems(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(start)
	address, _ := served(t, Options{Recommender: parsed(t, "max-usage"), Workloads: 2, Clock: clock, Gate: restapi.Gate{LocalHosts: true}})
	send := func(method, path, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var b bytes.Buffer
		if _, err := b.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, b.String()
	}
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string
	}{
		{"POST", "/v1/workloads", `{"namespace":"shop","name":"web"}`, 201, `"id": "1"`},
		{"POST", "/v1/workloads", `{"namespace":"shop","name":"web"}`, 201, `"id": "2"`},
		{"POST", "/v1/workloads", `{"namespace":"shop","name":"web"}`, 503, "there are 2 workloads"},
		{"POST", "/v1/workloads", `{"nmespace":"shop"}`, 400, "nmespace"},
		{"POST", "/v1/workloads/7/observe", `{"observed":[]}`, 404, `workload \"7\" is not there`},
		{"POST", "/v1/workloads/1/recommend", `{"observed":[]}`, 400, `"path": "now"`},
		{"POST", "/v1/workloads/1/observe", `{"observed":[{"at":"2026-01-05T00:00:00Z","pod":"a","container":"c","cpuMilli":-5},{"at":"2026-01-05T00:00:00Z","pod":"a"}]}`, 200, `"first": "observed[0]: cpuMilli -5: want 0 to 10^15"`},
		{"POST", "/v1/workloads/1/observe", strings.Repeat(" ", 1<<20+1), 413, "larger than 1048576 bytes"},
		{"GET", "/v1/workloads/1/state", "", 400, "no instant"},
		{"PUT", "/v1/workloads/1/state", `{"state":"eyI="}`, 422, "invalid state"},
		{"GET", "/v1/nothing", "", 404, "see /openapi.json"},
		{"GET", "/healthz", "", 200, "ok"},
		{"DELETE", "/v1/workloads/1", "", 204, ""},
		{"DELETE", "/v1/workloads/1", "", 404, ""},
	} {
		if code, body := send(c.method, c.path, c.body); code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s %s: %d %s; want %d, %q in it", c.method, c.path, code, body, c.code, c.want)
		}
	}
	if code, _ := send("POST", "/v1/workloads", `{"name":"three"}`); code != http.StatusCreated {
		t.Errorf("after one was removed: %d", code)
	}
	clock.SetTime(start.Add(DefaultIdle + time.Second))
	for range 2 {
		if code, body := send("POST", "/v1/workloads", `{"name":"four"}`); code != http.StatusCreated {
			t.Errorf("idle ones make no room: %d %s", code, body)
		}
	}
}
