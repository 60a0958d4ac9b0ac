package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/service"
)

// pages are the parsed templates by name.
type pages map[string]*template.Template

// shared is what every page shows around its own content.
type shared struct {
	Title, Section, Version string
	Now                     time.Time
}

type indexPage struct {
	shared
	Recorded, Stored []Cluster
	Config           configState
	Overview         string
	MaxUpload        int64
}

type clusterPage struct {
	shared
	Detail
	Ranges []rangeLink
	Last   int64 // seconds the plot shows, 0 for all
}

// rangeLink chooses how much a plot shows.
type rangeLink struct {
	Name, Label string
	Chosen      bool
}

type reportsPage struct {
	shared
	Reports []Report
	Dir     bool
}

type reportPage struct {
	shared
	Name, Text string
	// Drawn: there is a page with charts too.
	Drawn bool
}

type errorPage struct {
	shared
	Code    int
	Message string
}

// configState is the configuration as the API shows it.
type configState struct {
	LoadedAt  time.Time `json:"loadedAt"`
	Clusters  int       `json:"clusters"`
	Problem   string    `json:"problem,omitempty"`
	FailedAt  time.Time `json:"failedAt,omitzero"`
	Unwatched string    `json:"unwatched,omitempty"`
}

func newConfigState(c service.ConfigStatus) configState {
	return configState{LoadedAt: utc(c.LoadedAt), Clusters: c.Clusters, Problem: c.Problem, FailedAt: utc(c.FailedAt), Unwatched: c.Unwatched}
}

func parsePages() (pages, error) {
	out := pages{}
	for _, name := range []string{"index", "cluster", "reports", "report", "error"} {
		t, err := template.New("base.html").Funcs(helpers).ParseFS(assets, "templates/base.html", "templates/parts.html", "templates/"+name+".html")
		if err != nil {
			return nil, err
		}
		out[name] = t
	}
	return out, nil
}

// helpers are the functions of the templates.
var helpers = template.FuncMap{
	"size":     size,
	"instant":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") },
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	"input":    func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") },
	"duration": duration,
	"between":  func(from, to time.Time) string { return duration(to.Sub(from)) },
	"seconds":  func(s float64) string { return duration(time.Duration(s * float64(time.Second))) },
	"thousand": thousand,
	"join":     strings.Join,
	"reverse":  reverse[history.Gap],
	"delta":    func(from, to int) string { return fmt.Sprintf("%+d", to-from) },
	"verdict": func(agreed *bool) string {
		switch {
		case agreed == nil:
			return "not compared"
		case *agreed:
			return "agreed"
		}
		return "differs"
	},
}

func reverse[T any](in []T) []T {
	out := make([]T, 0, len(in))
	for i := len(in) - 1; i >= 0; i-- {
		out = append(out, in[i])
	}
	return out
}

// duration is for people: two units at most.
func duration(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// thousand groups digits: "12,345".
func thousand(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (s *Server) shared(title, section string) shared {
	return shared{Title: title, Section: section, Version: s.o.Version, Now: s.o.Clock.Now().UTC()}
}

func (s *Server) render(w http.ResponseWriter, code int, page string, data any) {
	var b bytes.Buffer
	if err := s.pages[page].Execute(&b, data); err != nil {
		klog.Background().Error(err, "A page could not be made", "page", page)
		writeText(w, http.StatusInternalServerError, "the page could not be made: "+err.Error()+"\n")
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, plaintext.Lines(b.String())) // a browser obeys what reorders text; who asked may have gone
}

func (s *Server) indexPage(w http.ResponseWriter, r *http.Request) {
	page := indexPage{shared: s.shared("Clusters", "clusters"), Config: newConfigState(s.o.Recordings.Config()), MaxUpload: s.o.MaxUpload}
	counts := map[string]int{}
	for _, c := range s.library.list(r.Context()) {
		if c.Recorded {
			page.Recorded = append(page.Recorded, c)
			counts[c.State]++
		} else {
			page.Stored = append(page.Stored, c)
		}
	}
	var parts []string
	for _, state := range service.States() {
		if n := counts[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	page.Overview = strings.Join(parts, ", ")
	s.render(w, http.StatusOK, "index", page)
}

// ranges of a plot, from the end of the history.
var ranges = []struct {
	name, label string
	length      time.Duration
}{
	{"1h", "1 hour", time.Hour}, {"6h", "6 hours", 6 * time.Hour}, {"24h", "1 day", 24 * time.Hour},
	{"7d", "7 days", 7 * 24 * time.Hour}, {"all", "All", 0},
}

func (s *Server) clusterPage(w http.ResponseWriter, r *http.Request) {
	d, err := s.library.detail(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	page := clusterPage{shared: s.shared(d.Name, "clusters"), Detail: d}
	chosen := r.URL.Query().Get("range")
	if chosen == "" {
		chosen = "all"
	}
	for _, option := range ranges {
		link := rangeLink{Name: option.name, Label: option.label, Chosen: option.name == chosen}
		if link.Chosen {
			page.Last = int64(option.length.Seconds())
		}
		page.Ranges = append(page.Ranges, link)
	}
	page.Steps = reverse(page.Steps)
	page.Events = reverse(page.Events)
	page.Recordings = reverse(page.Recordings)
	s.render(w, http.StatusOK, "cluster", page)
}

func (s *Server) reportsPage(w http.ResponseWriter, r *http.Request) {
	reports, err := s.reports()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, http.StatusOK, "reports", reportsPage{shared: s.shared("Reports", "reports"), Reports: reports, Dir: s.o.Reports != ""})
}

func (s *Server) reportPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	text, err := s.reportText(name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, http.StatusOK, "report", reportPage{shared: s.shared(name, "reports"), Name: name, Text: text, Drawn: s.o.ReportPage != nil})
}

// reportDrawn is a report as a page of charts. Its policy is in it, and allows the very bytes of its script: ours would not.
func (s *Server) reportDrawn(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	f, err := s.openReport(name)
	if err == nil && s.o.ReportPage == nil {
		err = errors.Join(withStatus(http.StatusNotFound, "reports are not drawn here"), f.Close())
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer f.Close()
	var page bytes.Buffer
	if err := s.o.ReportPage(&page, filepath.Join(s.o.Reports, name)); err != nil {
		s.fail(w, r, withStatus(http.StatusUnprocessableEntity, "report %s: %w", name, err))
		return
	}
	w.Header().Set("Content-Security-Policy", "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page.Bytes()))
}

// staticFiles serves what does not change while the process runs; browsers ask again with the hash of what they have.
func staticFiles(files fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := fs.ReadFile(files, path.Clean(r.URL.Path))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(data)
		w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, r.URL.Path, time.Time{}, bytes.NewReader(data))
	})
}
