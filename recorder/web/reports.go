package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
)

// Report is a replay report of the reports directory.
type Report struct {
	Name     string    `json:"name"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	// Scenario, Autoscaler, Start and End are the report's own; Agreed is absent when nothing was compared.
	Scenario   string    `json:"scenario,omitempty"`
	Autoscaler string    `json:"autoscaler,omitempty"`
	Start      time.Time `json:"start,omitzero"`
	End        time.Time `json:"end,omitzero"`
	Agreed     *bool     `json:"agreed,omitempty"`
	// Problem says why the file is no report.
	Problem string `json:"problem,omitempty"`
}

// reportName is a plain file name that ends in .json and does not begin with a dot.
var reportName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,122}\.json$`)

// maxReport bounds a report that is read, in bytes.
const maxReport = 256 << 20

// reportFile is what 'scalehist replay --report-dir' calls a report: DIR/NAME/report.json is shown as NAME.json, unless there is such a file.
const reportFile = "report.json"

// openReport opens a report. The root refuses links that lead out of the directory.
func (s *Server) openReport(name string) (*os.File, error) {
	unknown := withStatus(http.StatusNotFound, "there is no report %q", name)
	if s.o.Reports == "" || !reportName.MatchString(name) {
		return nil, unknown
	}
	root, err := os.OpenRoot(s.o.Reports)
	if err != nil {
		return nil, unknown
	}
	defer root.Close()
	f, err := openNow(root, name)
	if errors.Is(err, fs.ErrNotExist) {
		f, err = openNow(root, filepath.Join(strings.TrimSuffix(name, ".json"), reportFile))
	}
	if err != nil {
		return nil, unknown
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxReport {
		return nil, errors.Join(unknown, f.Close())
	}
	return f, nil
}

// openNow opens a file to read without waiting: a pipe would wait for who writes to it.
func openNow(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// reports lists them, the newest first.
func (s *Server) reports() ([]Report, error) {
	out := []Report{}
	if s.o.Reports == "" {
		return out, nil
	}
	entries, err := os.ReadDir(s.o.Reports)
	if errors.Is(err, os.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reports: %w", err)
	}
	listed := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".json") {
			name += ".json" // a directory; of other files there is no report of that name
		}
		if listed[name] {
			continue
		}
		f, err := s.openReport(name)
		if err != nil {
			continue
		}
		listed[name] = true
		r, err := readReport(name, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("report %s: %w", name, err)
		}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b Report) int { return b.Modified.Compare(a.Modified) })
	return out, nil
}

func readReport(name string, f *os.File) (Report, error) {
	info, err := f.Stat()
	if err != nil {
		return Report{}, err
	}
	r := Report{Name: name, Bytes: info.Size(), Modified: info.ModTime().UTC()}
	var head struct {
		Version    string               `json:"version"`
		Scenario   string               `json:"scenario"`
		Autoscaler string               `json:"autoscaler"`
		StartTime  time.Time            `json:"startTime"`
		EndTime    time.Time            `json:"endTime"`
		Agreement  *scalehist.Agreement `json:"agreement"`
	}
	switch err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&head); {
	case err != nil:
		r.Problem = "not a report: " + decode.Plain(err)
	case !strings.HasPrefix(head.Version, "scalehist.io/report/"):
		r.Problem = "not a report: it has no version"
	default:
		r.Scenario, r.Autoscaler, r.Start, r.End = head.Scenario, head.Autoscaler, head.StartTime, head.EndTime
		if head.Agreement != nil {
			r.Agreed = &head.Agreement.Agreed
		}
	}
	return r, nil
}

func (s *Server) apiReports(w http.ResponseWriter, r *http.Request) {
	reports, err := s.reports()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"reports": reports})
}

func (s *Server) apiReport(w http.ResponseWriter, r *http.Request) {
	f, err := s.openReport(r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Disposition", `inline; filename="`+filepath.Base(r.PathValue("name"))+`"`)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// reportText is a report as people read it.
func (s *Server) reportText(name string) (string, error) {
	f, err := s.openReport(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if s.o.ReportText != nil {
		text, err := s.o.ReportText(filepath.Join(s.o.Reports, name))
		if err != nil {
			return "", withStatus(http.StatusUnprocessableEntity, "report %s: %w", name, err)
		}
		return text, nil
	}
	data, err := io.ReadAll(f)
	return string(data), err
}
