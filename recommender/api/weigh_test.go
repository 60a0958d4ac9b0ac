package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// zipped packs a body that is too large to make in a test: before, count times one, after.
func zipped(t *testing.T, before, one, after string, count int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	chunk := strings.Repeat(one, 10_000)
	for _, part := range []string{before, strings.Repeat(chunk, count/10_000), after} {
		if _, err := z.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// allocated is what f allocates, in bytes.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestSmallBodiesStaySmall: some 46 kB of gzip, which were 6.8 GB once, are refused for less than a request may take.
//
//scalehist:unraced
func TestSmallBodiesStaySmall(t *testing.T) {
	const many = 2_000_000
	s, err := NewServer(Options{MaxBody: 8 << 20, Recommender: answering(nil)})
	if err != nil {
		t.Fatal(err)
	}
	const bound = 8 << 20 * memoryPerByte
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":`
	for _, c := range []struct{ name, path, before, one, after string }{
		{"node groups", PathRecommend, envelopeOpen + `"nodeGroups":[{}`, ",{}", "]}"},
		{"objects", PathRecommend, envelopeOpen + `"objects":[{}`, ",{}", "]}"},
		{"items of a List", PathRecommend, envelopeOpen + `"objects":[{"apiVersion":"v1","kind":"List","items":[{}`, ",{}", "]}]}"},
		{"containers", PathRecommend, envelopeOpen + `"objects":[` + pod + `{"containers":[{}`, ",{}", "]}}]}"},
		{"template pods", PathRecommend, envelopeOpen + `"nodeGroups":[{"name":"a","templatePods":[{}`, ",{}", "]}]}"},
		{"numbers", PathRecommend, envelopeOpen + `"x":[1`, ",1", "]}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := zipped(t, c.before, c.one, c.after, many)
			if len(body) > 46_000 {
				t.Fatalf("the body has %d bytes", len(body))
			}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.path, bytes.NewReader(body))
			r.Header.Set("Content-Encoding", "gzip")
			took := allocated(func() { s.ServeHTTP(w, r) })
			if w.Code != http.StatusRequestEntityTooLarge || took > bound {
				t.Errorf("got %d and %d bytes allocated, want 413 and at most %d: %s", w.Code, took, bound, w.Body)
			}
			if w.Body.Len() > 2000 {
				t.Errorf("the answer has %d bytes", w.Body.Len())
			}
		})
	}
}

const envelopeOpen = `{"apiVersion":"recommender.scalehist.io/v1","now":"2026-03-01T10:00:00Z",`

// TestWeightIsWhatDecodingTakes: the count is near what the decoder allocates, for shapes that take much for few bytes.
func TestWeightIsWhatDecodingTakes(t *testing.T) {
	list := func(one string) string {
		return `{"spec":{"containers":[` + strings.Repeat(one+",", 8_000) + one + `]}}`
	}
	for _, c := range []struct {
		name, body string
	}{
		{"empty containers", list(`{}`)},
		{"requests", list(`{"resources":{"requests":{"cpu":"1"}}}`)},
		{"probes", list(`{"livenessProbe":{"httpGet":{}},"readinessProbe":{},"lifecycle":{}}`)},
		{"ports", list(`{"ports":[{}],"env":[{},{}]}`)},
		{"volumes", `{"spec":{"volumes":[` + strings.Repeat(`{"nfs":{},"secret":{},"configMap":{}},`, 8_000) + `{}]}}`},
		{"labels", `{"metadata":{"labels":{` + manyKeys(50_000) + `}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAllowance(1<<40, int64(len(c.body)))
			if err := a.weigh([]byte(c.body), reflect.TypeFor[corev1.Pod](), "", false); err != nil {
				t.Fatal(err)
			}
			var pod corev1.Pod
			took := allocated(func() {
				if err := decodeStrict([]byte(c.body), &pod, "", DecodeOptions{}); err != nil {
					t.Fatal(err)
				}
			})
			if ratio := float64(took) / float64(a.memory); ratio > 1.6 || ratio < 0.3 {
				t.Errorf("decoding took %d bytes, the count says %d", took, a.memory)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":"v"`, i)
	}
	return b.String()
}

// TestHonestBodiesPass: what fits into the largest body as it is from a cluster is not too much.
//
//scalehist:unraced
func TestHonestBodiesPass(t *testing.T) {
	one, err := json.Marshal(Object{Value: testPod("web-0", "1", "1Gi", "small-0")})
	if err != nil {
		t.Fatal(err)
	}
	body := envelopeOpen + `"objects":[` + strings.Repeat(string(one)+",", (8<<20)/len(one)-2) + string(one) + "]}"
	a := newAllowance(8<<20, int64(len(body)))
	if err := a.weigh([]byte(body), reflect.TypeFor[Request](), "", false); err != nil {
		t.Error(err)
	}
	for range (8 << 20) / len(one) {
		if err := a.weigh(one, reflect.TypeFor[*corev1.Pod](), "", true); err != nil {
			t.Fatalf("%d bytes a pod: %v", len(one), err)
		}
	}
	t.Logf("%d of %d values, %d of %d bytes of memory", a.elements, a.maxElements, a.memory, a.maxMemory)
}

// TestErrorsQuoteLittle: an error has a short excerpt of what was sent, wherever it is from.
//
//scalehist:unraced
func TestErrorsQuoteLittle(t *testing.T) {
	s := newTestServer(t, Options{})
	long := strings.Repeat("x", 1<<20)
	for name, body := range map[string]string{
		"version":  `{"apiVersion":"` + long + `"}`,
		"key":      envelopeOpen + `"` + long + `":1}`,
		"time":     `{"apiVersion":"recommender.scalehist.io/v1","now":"` + long + `"}`,
		"kind":     envelopeOpen + `"objects":[{"apiVersion":"v1","kind":"` + long + `"}]}`,
		"name":     envelopeOpen + `"objects":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + long + `"}}]}`,
		"group":    envelopeOpen + `"nodeGroups":[{"name":"` + long + `","maxSize":1},{"name":"` + long + `","maxSize":1}]}`,
		"price":    envelopeOpen + `"prices":{"currency":"EUR","machineTypes":{"` + long + `":-1}}}`,
		"strategy": envelopeOpen + `"strategy":"` + long + `"}`,
	} {
		response, answer := post(t, s.URL+PathRecommend, []byte(body))
		if response.StatusCode < 400 || response.StatusCode >= 500 || len(answer) > 3000 {
			t.Errorf("%s: %s with %d bytes", name, response.Status, len(answer))
		}
		if _, err := DecodeRequest([]byte(body), DecodeOptions{}); err != nil && len(err.Error()) > 3000 {
			t.Errorf("%s: an error of %d bytes", name, len(err.Error()))
		}
	}
}

// TestNesting: as deep as objects are is taken, deeper is not.
func TestNesting(t *testing.T) {
	deep := func(n int) error {
		return newAllowance(0, 1).weigh([]byte(strings.Repeat("[", n)+strings.Repeat("]", n)), reflect.TypeFor[[]any](), "", false)
	}
	if err := deep(maxDepth); err != nil {
		t.Error(err)
	}
	if err := deep(maxDepth + 1); err == nil || !strings.Contains(err.Error(), "nested deeper than 100 levels") {
		t.Errorf("got %v", err)
	}
}
