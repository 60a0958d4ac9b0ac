package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDrawnReport: a report has a page of its own, whose policy is in it; what cannot be drawn is an error that names it.
func TestDrawnReport(t *testing.T) {
	reports := t.TempDir()
	for _, name := range []string{"a.json", "bad.json"} {
		if err := os.WriteFile(filepath.Join(reports, name), []byte(`{"version":"scalehist.io/report/v1"}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, func(o *Options) {
		o.Reports = reports
		o.ReportPage = func(w io.Writer, path string) error {
			if filepath.Base(path) == "bad.json" {
				return errors.New("not a replay report")
			}
			_, err := fmt.Fprintf(w, "<!doctype html><title>%s</title>", filepath.Base(path))
			return err
		}
	})
	if a := s.get("/reports/a.json"); !strings.Contains(string(a.body), `href="/reports/a.json/page"`) {
		t.Error("the text of a report does not lead to its page")
	}
	a := s.get("/reports/a.json/page")
	if a.StatusCode != http.StatusOK || string(a.body) != "<!doctype html><title>a.json</title>" || a.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("page: %d %s %s", a.StatusCode, a.Header, a.body)
	}
	if p := a.Header.Get("Content-Security-Policy"); strings.Contains(p, "script-src") || strings.Contains(p, "default-src") || !strings.Contains(p, "frame-ancestors 'none'") {
		t.Errorf("policy %q: that of the page decides what runs, this one who may frame it", p)
	}
	for path, want := range map[string]int{"/reports/bad.json/page": http.StatusUnprocessableEntity, "/reports/none.json/page": http.StatusNotFound, "/reports/..%2fx.json/page": http.StatusNotFound} {
		if a := s.get(path); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, a.StatusCode, want)
		}
	}
}
