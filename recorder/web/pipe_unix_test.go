//go:build unix

package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipesAmongReports: what is no file among the reports is no report, and nobody waits for who would write to it.
func TestPipesAmongReports(t *testing.T) {
	dir := t.TempDir()
	s := newSite(t, func(o *Options) { o.Reports = dir })
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	pipes := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b", "report.json")}
	for _, path := range pipes {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int{"/reports": http.StatusOK, "/api/reports": http.StatusOK, "/api/reports/a.json": http.StatusNotFound, "/reports/b.json": http.StatusNotFound} {
		answers := make(chan answer, 1)
		go func() { answers <- s.get(path) }()
		select {
		case a := <-answers:
			if a.StatusCode != want || strings.Contains(string(a.body), "a.json\"") && want == http.StatusOK {
				t.Errorf("%s: %d %s, want %d", path, a.StatusCode, a.body, want)
			}
		case <-time.After(2 * time.Minute): // no machine is that slow, so it waits
			for _, pipe := range pipes { // so that who waits does not for ever
				if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
					_, _ = os.Remove(pipe), f.Close()
				}
			}
			t.Fatalf("%s waits for who writes to a pipe", path)
		}
	}
}
