package web

import (
	"database/sql"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// spoilt is a history after some statements.
func spoilt(t *testing.T, good []byte, statements string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "h.db")
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHostileHistories: what is not a history through and through is refused when it is uploaded, and where it lies among
// the others it is listed with what is wrong, and holds nothing up.
func TestHostileHistories(t *testing.T) {
	for name, tt := range map[string]struct{ sql, want string }{
		"a view without end": {`DROP TABLE gap; CREATE VIEW gap AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
			SELECT i AS id, i AS from_ns, i AS to_ns, '[]' AS kinds, '' AS why FROM n WHERE i < 0`, "view gap is not that of schema version"},
		"a view that fills memory": {`DROP TABLE meta; CREATE VIEW meta AS SELECT 'cluster' AS key, hex(zeroblob(400000000)) AS value`, "view meta is not that of schema version"},
		"a trigger":                {`CREATE TRIGGER t AFTER INSERT ON version BEGIN DELETE FROM object; END`, "trigger t is not part of schema version"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			before := s.files()
			bad := spoilt(t, s.past(), tt.sql)
			a := s.ask(http.MethodPut, "/api/histories/new", reader(bad))
			if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), tt.want) {
				t.Errorf("upload: %d %s, want 422 and %q", a.StatusCode, a.body, tt.want)
			}
			if diff := cmp.Diff(before, s.files()); diff != "" {
				t.Errorf("files (-before +after):\n%s", diff)
			}
			if err := os.WriteFile(filepath.Join(s.dir, "bad.db"), bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s.listedWithProblem("bad", tt.want)
		})
	}
}

// listedWithProblem checks that one history is listed with a problem, and that the others and the metrics are there.
func (s *site) listedWithProblem(name, want string) {
	s.t.Helper()
	var all struct{ Clusters []Cluster }
	s.json("/api/clusters", &all)
	found := map[string]string{}
	for _, c := range all.Clusters {
		if c.History != nil {
			found[c.Name] = c.History.Problem
		}
	}
	if !strings.Contains(found[name], want) || found[name] == "" {
		s.t.Errorf("%s: problem %q, want %q", name, found[name], want)
	}
	if problem, ok := found["past"]; !ok || name != "past" && problem != "" {
		s.t.Errorf("past: listed %t, problem %q", ok, problem)
	}
	if a := s.ask(http.MethodGet, "/metrics", nil); a.StatusCode != http.StatusOK {
		s.t.Errorf("metrics: %d %s", a.StatusCode, a.body)
	}
}

// TestUploadsAreWhole: every page of an upload is looked at, not only those that a list needs.
func TestUploadsAreWhole(t *testing.T) {
	s := newSite(t)
	bad := spoilt(t, s.past(), `PRAGMA writable_schema = 1; UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'gap_time') WHERE name = 'event_reason'`)
	a := s.ask(http.MethodPut, "/api/histories/new", reader(bad))
	if a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), "damaged or cut short") {
		t.Errorf("%d %s, want 422 and what is wrong", a.StatusCode, a.body)
	}
}

// TestSlowHistoriesAreGivenUp: with no time at all, every history is slow. It is said, to all who ask, and not tried again at once.
func TestSlowHistoriesAreGivenUp(t *testing.T) {
	s := newSite(t)
	s.app.library.timeout = time.Nanosecond
	s.listedWithProblem("past", "took too long")
	if b := s.app.library.book("past"); !b.slow {
		t.Error("it would be tried again at once")
	}
	b := s.app.library.book("past")
	b.mu.Lock()
	b.slow, b.summary.Problem, b.summedAt = false, "", s.app.library.clock.Now().Add(time.Hour) // as if it had been fast before
	b.summary.From = start
	b.mu.Unlock()
	for _, path := range []string{"/api/clusters/past", "/api/clusters/past/series"} {
		if a := s.ask(http.MethodGet, path, nil); a.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(a.body), "took too long") || strings.Contains(string(a.body), s.dir) {
			t.Errorf("%s: %d %s, want 422 and what is wrong", path, a.StatusCode, a.body)
		}
	}
	s.app.library.timeout = readTimeout
	var d Detail
	s.json("/api/clusters/past", &d)
	if d.History == nil || d.History.Problem != "" {
		t.Errorf("with time again: %+v", d.History)
	}
}

// TestPagesShowWhatIsThere: what a history, a configuration or a path has in it cannot reorder or hide the text around it on a page.
func TestPagesShowWhatIsThere(t *testing.T) {
	const evil = "x\u202egpj.exe\u2066\u009b\x1b\u2028"
	s := newSite(t)
	log := strings.ReplaceAll(logOf(), `"name":"g"`, `"name":"g`+strings.ReplaceAll(evil, "\x1b", `\u001b`)+`"`)
	if _, err := transfer.Import(t.Context(), strings.NewReader(log), filepath.Join(s.dir, "evil.db"), transfer.ImportOptions{Name: evil, Cluster: evil}); err != nil {
		t.Fatal(err)
	}
	s.rec.clusters[0].Reason, s.rec.config.Problem = evil, evil
	for _, path := range []string{"/", "/clusters/evil", "/clusters/" + url.PathEscape(evil), "/reports", "/reports/" + url.PathEscape(evil)} {
		a := s.get(path, func(r *http.Request) { r.Header.Set("Accept", "text/html") })
		for i, r := range string(a.body) {
			if r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
				t.Errorf("%s has %U in %q", path, r, a.body[max(0, i-40):min(len(a.body), i+40)])
				break
			}
		}
		if shown := path == "/" || path == "/clusters/evil"; shown && !strings.Contains(string(a.body), `\u202egpj`) {
			t.Errorf("%s does not say what was there", path)
		}
	}
}
