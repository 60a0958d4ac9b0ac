package discovery

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/internal/restapi/openapitest"
)

type token string

func (t token) Match(s string) bool { return string(t) == s }

// serve is a server where "in" lets in and "reads" reads kubeconfigs, and its log.
func serve(t *testing.T, r *Registry) (base string, log *bytes.Buffer) {
	t.Helper()
	log = &bytes.Buffer{}
	logger := funcr.New(func(prefix, args string) { log.WriteString(prefix + args + "\n") }, funcr.Options{Verbosity: 10})
	app := NewServer(r, ServerOptions{Gate: restapi.Gate{Tokens: either{"in", "reads"}}, ReaderTokens: token("reads")})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		app.ServeHTTP(w, q.WithContext(klog.NewContext(q.Context(), logger)))
	}))
	t.Cleanup(s.Close)
	return s.URL, log
}

type either [2]string

func (e either) Match(s string) bool { return s == e[0] || s == e[1] }

func client(base, as string) *Client {
	return &Client{API: restapi.Client{HTTP: http.DefaultClient, Base: base, Token: as}}
}

func TestKubeconfigsAreForReaders(t *testing.T) {
	r := newRig(t)
	base, log := serve(t, r.Registry)
	in, reads := client(base, "in"), client(base, "reads")
	if _, err := in.Put(t.Context(), cluster("a")); err != nil {
		t.Fatal(err)
	}
	if text, err := reads.Kubeconfig(t.Context(), "a"); err != nil || text != kubeconfigOf("https://a") {
		t.Errorf("a reader gets %q, %v", text, err)
	}
	if text, err := in.Kubeconfig(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "kubeconfigs are for readers") {
		t.Errorf("somebody else gets %q, %v", text, err)
	}
	get := func(as, path string) (int, string) {
		q, err := in.API.Request(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+as)
		response, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for _, path := range []string{PathClusters, PathClusters + "/a", PathList} {
		if code, body := get("in", path); code != http.StatusOK || strings.Contains(body, canary) || !strings.Contains(body, `"name": "a"`) {
			t.Errorf("%s answers %d, %s", path, code, body)
		}
		if code, _ := get("nobody", path); code != http.StatusUnauthorized {
			t.Errorf("%s answers a wrong token with %d", path, code)
		}
	}
	if _, body := get("reads", PathClusters); strings.Contains(body, canary) {
		t.Error("the list has kubeconfigs, even for readers")
	}
	if _, body := get("reads", PathList); !strings.Contains(body, canary) {
		t.Error("the original's list has no kubeconfigs for a reader")
	}
	// What cannot be answered is logged, without what it was about.
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Put(t.Context(), cluster("b")); err == nil {
		t.Error("nothing can be written, and it is answered")
	}
	if log.Len() == 0 || strings.Contains(log.String(), canary) {
		t.Errorf("the log: %q", log)
	}
}

// TestEmptyListIsAList: the original answers an empty list with the text of an error and status 200.
func TestEmptyListIsAList(t *testing.T) {
	base, _ := serve(t, newRig(t).Registry)
	if list, err := client(base, "in").Clusters(t.Context()); err != nil || list == nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
	q, err := (&restapi.Client{Base: base, Token: "in"}).Request(t.Context(), http.MethodGet, PathList, nil)
	if err != nil {
		t.Fatal(err)
	}
	var list []Registration
	if err := client(base, "in").API.Do(q, &list); err != nil || list == nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestAPI(t *testing.T) {
	r := newRig(t)
	base, _ := serve(t, r.Registry)
	c := client(base, "in")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	watched := make(chan error, 1)
	synced := make(chan struct{})
	go func() {
		watched <- c.Watch(ctx, func(e Event) error {
			if e.Type == Synced {
				close(synced)
				return nil
			}
			seen = append(seen, string(e.Type)+" "+e.Cluster.Name)
			if e.Type == Deleted {
				cancel()
			}
			return nil
		})
	}()
	<-synced
	if _, err := c.Put(t.Context(), cluster("a")); err != nil {
		t.Fatal(err)
	}
	if err := c.Heartbeat(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := c.Remove(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if err := <-watched; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"Added a", "Deleted a"}, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for what, err := range map[string]error{"remove": c.Remove(t.Context(), "a"), "heartbeat": c.Heartbeat(t.Context(), "a")} {
		if !errors.Is(err, ErrUnknown) {
			t.Errorf("%s of a cluster that is not there: %v", what, err)
		}
	}
	bad := cluster("a")
	bad.Resources = nil
	if _, err := c.Put(t.Context(), bad); !errors.Is(err, ErrInvalid) {
		t.Errorf("a cluster that shares nothing: %v", err)
	}
	for body, want := range map[string]string{`{"resorces": {}}`: "resorces", `{"name": "b"}`: "not the name in the path", `{`: "not JSON", strings.Repeat(" ", restapi.MaxBody+1): "larger than"} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPut, base+PathClusters+"/a", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer in")
		response, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode/100 != 4 || response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(data), want) {
			t.Errorf("%.30s is answered with %d, %s", body, response.StatusCode, data)
			continue
		}
		openapitest.Check(t, OpenAPI, "Problem", data)
	}
}

// FuzzServer: whatever is asked, it is answered, and nothing breaks down.
func FuzzServer(f *testing.F) {
	f.Add("PUT", PathClusters+"/a", "", `{"resources": {"cpu": "1"}, "prices": {"cpu": 1}, "labels": {"a": "b"}, "taints": [{"key": "k", "effect": "NoSchedule"}]}`)
	f.Add("POST", PathClusters+"/a/heartbeat", "", "")
	f.Add("GET", PathClusters+"/a/kubeconfig", "", "")
	f.Add("GET", PathList, "", "")
	f.Add("GET", PathClusters, "watch=maybe", "")
	f.Add("DELETE", PathClusters+"/a", "", "")
	store, err := docstore.Open(f.Context(), filepath.Join(f.TempDir(), "state.db"), Kind)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	path := filepath.Join(f.TempDir(), "key")
	if err := os.WriteFile(path, bytes.Repeat([]byte{1}, keySize), 0o600); err != nil {
		f.Fatal(err)
	}
	key, err := ReadKey(path)
	if err != nil {
		f.Fatal(err)
	}
	registry, err := NewRegistry(f.Context(), RegistryOptions{Store: store, Key: key, Clock: clocktesting.NewFakeClock(start)})
	if err != nil {
		f.Fatal(err)
	}
	s := NewServer(registry, ServerOptions{ReaderTokens: token("reads")})
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a watch ends at once
		r, err := http.NewRequestWithContext(ctx, method, "http://localhost/", strings.NewReader(body))
		if err != nil {
			return // no client sends it
		}
		r.URL.Path, r.URL.RawQuery, r.Host = "/"+strings.TrimPrefix(path, "/"), query, "localhost"
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code == http.StatusInternalServerError && !strings.Contains(w.Body.String(), "context canceled") {
			t.Errorf("%s %s?%s with %q: %s", method, path, query, body, w.Body)
		}
	})
}
