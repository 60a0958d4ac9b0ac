package gate

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// Scenario is a replay report and where it was read.
type Scenario struct {
	Name   string
	Path   string
	Report *scalehist.ReplayReport
}

// reportFile is what a replay's report is called.
const reportFile = "report.json"

// Load reads every report.json in a directory and below, sorted by scenario. Two reports of one scenario are an error, and
// so is a directory without reports.
func Load(dir string) ([]Scenario, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("%s does not exist: write reports there with 'scalehist replay FILE.db --report-dir'", dir)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory: give one that holds the reports of 'scalehist replay --report-dir'", dir)
	}
	var out []Scenario
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != reportFile {
			return err
		}
		r, err := report.Read(path)
		if err != nil {
			return err
		}
		if r.Scenario == "" {
			return fmt.Errorf("%s names no scenario", path)
		}
		out = append(out, Scenario{r.Scenario, path, r})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no %s in it: write reports there with 'scalehist replay FILE.db --report-dir'", dir, reportFile)
	}
	slices.SortStableFunc(out, func(a, b Scenario) int { return cmp.Compare(a.Name, b.Name) })
	var errs []error
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			errs = append(errs, fmt.Errorf("scenario %q has two reports, %s and %s: keep one", out[i].Name, out[i-1].Path, out[i].Path))
		}
	}
	return out, errors.Join(errs...)
}
