package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist/recorder/history/transfer"
	"github.com/scalehist/scalehist/recorder/service"
)

// recordings are what a service would say.
type recordings struct {
	dir      string
	clusters []service.Status
	config   service.ConfigStatus
	waiting  []string
}

func (r *recordings) Clusters() []service.Status     { return r.clusters }
func (r *recordings) Config() service.ConfigStatus   { return r.config }
func (r *recordings) Ready() (bool, []string)        { return len(r.waiting) == 0, r.waiting }
func (r *recordings) Dir() string                    { return r.dir }
func (r *recordings) HistoryPath(name string) string { return filepath.Join(r.dir, name+".db") }

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// logOf is an object log: two nodes, a third after 5 minutes; two pods pending from 2 to 6 minutes; and a group.
func logOf() string {
	var b strings.Builder
	line := func(minute int, op, object string) {
		fmt.Fprintf(&b, `{"at":%q,"op":%q,"object":%s}`+"\n", start.Add(time.Duration(minute)*time.Minute).Format(time.RFC3339), op, object)
	}
	node := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Node","metadata":{"name":%q,"uid":%q}}`, name, "u-"+name)
	}
	pod := func(name, node string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"default","uid":%q},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Pending"}}`,
			name, "u-"+name, node)
	}
	group := func(size int) string {
		return fmt.Sprintf(`{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":5,"targetSize":%d}}`, size)
	}
	line(0, "add", group(2))
	line(0, "add", node("n1"))
	line(0, "add", node("n2"))
	line(2, "add", pod("p1", ""))
	line(2, "add", pod("p2", ""))
	line(3, "update", group(3))
	line(5, "add", node("n3"))
	line(6, "update", pod("p1", "n3"))
	line(6, "update", pod("p2", "n3"))
	line(9, "delete", node("n1"))
	line(10, "update", group(2))
	return b.String()
}

// importInto makes a history.
func importInto(t testing.TB, path string) {
	t.Helper()
	if _, err := transfer.Import(t.Context(), strings.NewReader(logOf()), path, transfer.ImportOptions{Name: "test", Cluster: "test"}); err != nil {
		t.Fatal(err)
	}
}

// site is a web app with a history "past", a cluster "live" that records and one "gone" that failed.
type site struct {
	*httptest.Server
	t   *testing.T
	app *Server
	dir string
	rec *recordings
}

func newSite(t *testing.T, change ...func(*Options)) *site {
	t.Helper()
	dir := t.TempDir()
	importInto(t, filepath.Join(dir, "past.db"))
	rec := &recordings{dir: dir, clusters: []service.Status{
		{Name: "gone", State: service.StateFailed, Reason: "no route to host", Attempts: 3, Failures: 3, NextTry: start},
		{Name: "live", State: service.StateRecording, Changes: 12, Written: 10, Attempts: 1, Starts: 1}},
		config: service.ConfigStatus{Path: "clusters.yaml", LoadedAt: start, Clusters: 2}}
	o := Options{Recordings: rec, LocalHosts: true, Version: "v1", Commit: "abc"}
	for _, f := range change {
		f(&o)
	}
	app, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Server: httptest.NewServer(app), t: t, app: app, dir: dir, rec: rec}
	t.Cleanup(s.Close)
	return s
}

// answer is what came back.
type answer struct {
	*http.Response
	body []byte
}

// ask sends a request; set adds to it.
func (s *site) ask(method, path string, body io.Reader, set ...func(*http.Request)) answer {
	s.t.Helper()
	return send(s.t, s.Client(), method, s.URL+path, body, set...)
}

func send(t *testing.T, client *http.Client, method, url string, body io.Reader, set ...func(*http.Request)) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range set {
		f(r)
	}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(got.Body)
	if err = errors.Join(err, got.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer{got, data}
}

func (s *site) get(path string, set ...func(*http.Request)) answer {
	s.t.Helper()
	return s.ask(http.MethodGet, path, nil, set...)
}

func (s *site) json(path string, into any) {
	s.t.Helper()
	a := s.get(path)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d\n%s", path, a.StatusCode, a.body)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		s.t.Fatalf("%s: %v\n%s", path, err, a.body)
	}
}

// files are the names in the directory of histories.
func (s *site) files() []string {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	slices.Sort(out)
	return out
}

func (s *site) past() []byte {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "past.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func reader(b []byte) io.Reader { return bytes.NewReader(b) }
