package cli

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/histories"
)

// TestRecordForEnds: --for ends also where the API server begins to answer and never comes to an end, at the first question and in a list.
func TestRecordForEnds(t *testing.T) {
	was := histories.LeastStart
	histories.LeastStart = 300 * time.Millisecond
	t.Cleanup(func() { histories.LeastStart = was })
	for name, dribbles := range map[string]func(path string) bool{
		"everything": func(string) bool { return true },
		"lists":      func(path string) bool { return strings.HasSuffix(path, "/pods") || strings.HasSuffix(path, "/nodes") },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if !dribbles(r.URL.Path) {
					switch r.URL.Path {
					case "/api":
						_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
					case "/apis":
						_, _ = w.Write([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
					case "/api/v1":
						_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list","watch"]},{"name":"nodes","kind":"Node","verbs":["list","watch"]}]}`))
					default:
						_, _ = w.Write([]byte(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
					}
					return
				}
				_, _ = w.Write([]byte(`{"kind":`))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			defer server.Close()
			config := filepath.Join(t.TempDir(), "kubeconfig")
			text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: "` + server.URL + `"}}]}`
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			code, _, stderr := run(t, ctx, "record", "-o", filepath.Join(t.TempDir(), "x.db"), "--kubeconfig", config, "--for", "10ms")
			if code != console.ExitFailed || !strings.Contains(stderr, "had not listed everything after 300ms") {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}
