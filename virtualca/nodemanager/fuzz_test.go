package nodemanager_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// FuzzServer: whatever is asked, it is answered, and nothing breaks down.
func FuzzServer(f *testing.F) {
	for _, path := range []string{"/nodegroup", "/nodegroup/ownership", "/nodegroup/nodeprice", "/nodegroup/podprice", "/nodegroup/options", "/nodegroup/create", "/nodegroup/scaledown"} {
		f.Add("POST", path, "id=a&nodegroupid=a", `{"nodes": [{"name": "a-0"}], "id": "c", "like": "a", "maxSize": 1, "from": "2026-03-02T09:00:00Z", "to": "2026-03-02T10:00:00Z", "node": {"name": "x"}}`)
		f.Add("GET", path, "id=a&count=1&from=x&to=y", "")
	}
	f.Add("POST", "/nodegroup/scaleup", "id=a&count=2", "")
	f.Add("POST", "/nodegroup/decrease", "id=a&count=1", "")
	f.Add("POST", "/nodegroup/destroy", "id=b", "")
	f.Add("POST", "/nodegroup/podprice", "", `{"pod": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}, "from": "2026-03-02T09:00:00Z", "to": "2026-03-02T10:00:00Z"}`)
	s := nodemanager.NewServer(borrowed(f, filepath.Join(f.TempDir(), "state.db")), restapi.Gate{})
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://localhost/", strings.NewReader(body))
		if err != nil {
			return // no client sends it
		}
		r.URL.Path, r.URL.RawQuery, r.Host = "/"+strings.TrimPrefix(path, "/"), query, "localhost"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError {
			t.Errorf("%s %s?%s with %q: %s", method, path, query, body, w.Body)
		}
	})
}
