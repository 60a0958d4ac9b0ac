package web

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recorder/history"
)

func TestUpload(t *testing.T) {
	s := newSite(t, func(o *Options) { o.MaxUpload = 1 << 20 })
	good := s.past()
	before := s.files()
	damaged := bytes.Clone(good)
	for i := 4096; i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	for _, tt := range []struct {
		name, path string
		body       io.Reader
		code       int
		want       string
	}{
		{"garbage", "new", strings.NewReader("garbage"), 422, "new.db is not a scalehist history but a file of another format"},
		{"nothing", "new", strings.NewReader(""), 422, "new.db is empty"},
		{"cut short", "new", reader(good[:len(good)/2]), 422, "damaged or cut short"},
		{"damaged", "new", reader(damaged), 422, "new.db"},
		{"too large", "new", reader(make([]byte, 1<<20+1)), 413, "larger than 1.0 MiB"},
		{"too large, unannounced", "new", io.MultiReader(reader(make([]byte, 1<<20)), reader(good)), 413, "larger than 1.0 MiB"},
		{"there is one", "past", reader(good), 409, "there is a history past already"},
		{"recorded here", "live", reader(good), 409, "recorded here"},
		{"recorded here, overwriting", "live?overwrite=true", reader(good), 409, "recorded here"},
		{"garbage over another", "past?overwrite=true", strings.NewReader("garbage"), 422, "refused"},
		{"no name", "A.b", reader(good), 400, "no DNS label"},
		{"path", "..%2fx", reader(good), 400, "no DNS label"},
		{"hidden", ".upload-x", reader(good), 400, "no DNS label"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.ask(http.MethodPut, "/api/histories/"+tt.path, tt.body)
			if a.StatusCode != tt.code || !strings.Contains(string(a.body), tt.want) || strings.Contains(string(a.body), s.dir) {
				t.Errorf("%d %s, want %d and %q", a.StatusCode, a.body, tt.code, tt.want)
			}
			if diff := cmp.Diff(before, s.files()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			if !bytes.Equal(good, s.past()) {
				t.Error("the history that was there is another")
			}
		})
	}
	held, err := history.Create(t.Context(), filepath.Join(s.dir, "held.db"), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.ask(http.MethodPut, "/api/histories/held?overwrite=true", reader(good)); a.StatusCode != 409 || !strings.Contains(string(a.body), "being written") {
		t.Errorf("over a history that is being written: %d %s", a.StatusCode, a.body)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if a := s.ask(http.MethodPut, "/api/histories/held?overwrite=true", reader(good)); a.StatusCode != 200 {
		t.Errorf("after that: %d %s", a.StatusCode, a.body)
	}
	if err := os.Remove(filepath.Join(s.dir, "held.db")); err != nil {
		t.Fatal(err)
	}
	if a := s.ask(http.MethodPost, "/api/histories/new", reader(good)); a.StatusCode != http.StatusCreated || a.Header.Get("Location") != "/api/clusters/new" {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
	if a := s.ask(http.MethodPut, "/api/histories/new?overwrite=true", reader(good)); a.StatusCode != http.StatusOK {
		t.Errorf("overwrite: %d %s", a.StatusCode, a.body)
	}
	var d Detail
	s.json("/api/clusters/new", &d)
	if d.State != stateStored || d.History.Cluster != "test" {
		t.Errorf("uploaded: %+v", d.Cluster)
	}
	if diff := cmp.Diff(append([]string{"new.db"}, before...), s.files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestUploadForm(t *testing.T) {
	s := newSite(t)
	form := func(name string, content []byte) (io.Reader, func(*http.Request)) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		if err := w.WriteField("name", name); err != nil {
			t.Fatal(err)
		}
		part, err := w.CreateFormFile("file", "../../x.db")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return &b, func(r *http.Request) {
			r.Header.Set("Content-Type", w.FormDataContentType())
			r.Header.Set("Accept", "text/html")
		}
	}
	body, set := form("mine", s.past())
	if a := s.ask(http.MethodPost, "/histories", body, set); a.StatusCode != http.StatusOK || a.Request.URL.Path != "/clusters/mine" {
		t.Errorf("%d at %s", a.StatusCode, a.Request.URL.Path)
	}
	body, set = form("other", []byte("x"))
	if a := s.ask(http.MethodPost, "/histories", body, set); a.StatusCode != 422 || !strings.Contains(string(a.body), `role="alert"`) {
		t.Errorf("garbage: %d %s", a.StatusCode, a.body)
	}
	// A page elsewhere may not upload in the name of the browser's user.
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		body, set = form("csrf", s.past())
		a := s.ask(http.MethodPost, "/histories", body, set, func(r *http.Request) { r.Header.Set(header, value) })
		if a.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d, want 403", header, value, a.StatusCode)
		}
	}
	if diff := cmp.Diff([]string{"mine.db", "past.db"}, s.files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestPathTraversal: no name leads out of the directories.
func TestPathTraversal(t *testing.T) {
	reports := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`"the secret"`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(reports, "link.json")); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(o *Options) { o.Reports = reports })
	if err := os.Symlink(filepath.Join(s.dir, "past.db"), filepath.Join(s.dir, "linked.db")); err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(reports, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/api/reports/link.json", "/reports/link.json", "/api/reports/" + strings.ReplaceAll(rel, "/", "%2f"), "/api/reports/..%2f..%2fetc%2fpasswd",
		"/api/reports/%2fetc%2fpasswd", "/api/reports/a%00.json", "/api/reports/.", "/api/reports/..", "/api/reports/..%5cx.json",
		"/api/clusters/linked", "/api/clusters/linked/db", "/api/clusters/linked/series", "/api/clusters/..%2fpast/db", "/api/clusters/%2e%2e/db",
		"/api/clusters/past.db/db", "/api/clusters/past%00/db", "/clusters/..%2f..", "/static/..%2fserver.go", "/static/../openapi.json", "/static/%2e%2e/templates/base.html",
		"/static/", "//etc/passwd",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.URL.Opaque = "//" + r.URL.Host + path // as it is written here
		got, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode < 300 || strings.Contains(string(body), "secret\"") || strings.Contains(string(body), "root:") {
			t.Errorf("%s: %d %.80s", path, got.StatusCode, body)
		}
	}
}

// TestLeftovers: what a killed process left is removed at the start.
func TestLeftovers(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{".upload-1.db", ".download-1/copy.db"} {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := New(s.app.o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"past.db"}, s.files()); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
