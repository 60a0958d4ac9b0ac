package recorder

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// gate is a proxy before the API server that can refuse what the server would not.
type gate struct {
	*httptest.Server
	// token is the only one it lets through; watches that resume get the answer that their version has expired while expired
	// is set; everything is refused as by a server that shuts down while away is set.
	token         atomic.Value
	expired, away atomic.Bool
	asked         atomic.Int64 // how many requests came
}

func newGate(t *testing.T) *gate {
	t.Helper()
	transport, err := rest.TransportFor(cluster)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(cluster.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Del("Authorization") // the transport has that of the tests
	}}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	g := &gate{}
	g.token.Store("one")
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.asked.Add(1)
		q := r.URL.Query()
		switch {
		case g.away.Load():
			refuse(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable)
		case r.Header.Get("Authorization") != "Bearer "+g.token.Load().(string):
			refuse(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
		case g.expired.Load() && q.Get("watch") != "" && q.Get("sendInitialEvents") == "" && q.Get("resourceVersion") != "":
			refuse(w, http.StatusGone, metav1.StatusReasonExpired)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		g.away.Store(true)
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

func refuse(w http.ResponseWriter, code int, why metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, //nolint:errchkjson // a client that is gone
		Status: metav1.StatusFailure, Code: int32(code), Reason: why, Message: "the test's gate: " + string(why)})
}

// config goes through the gate with a token.
func (g *gate) config(token string) *rest.Config {
	return &rest.Config{Host: g.URL, BearerToken: token}
}
