package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/scalehist/scalehist"
)

// JSON writes the whole report, indented, with sorted map keys.
func JSON(w io.Writer, r *scalehist.ReplayReport) error {
	b, err := marshal(r)
	if err != nil {
		return err
	}
	_, err = w.Write(b)
	return err
}

// Canonical is the part of a report that is the same on every machine: everything but Run.
func Canonical(r *scalehist.ReplayReport) ([]byte, error) {
	c := *r
	c.Run = nil
	return marshal(&c)
}

func marshal(r *scalehist.ReplayReport) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode report of %s: %w", r.Scenario, err)
	}
	return append(b, '\n'), nil
}

// Read reads a report written by JSON. A newer format version is refused.
func Read(path string) (*scalehist.ReplayReport, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r scalehist.ReplayReport
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is not a replay report: %w", path, err)
	}
	if r.Version != scalehist.ReportVersion {
		return nil, fmt.Errorf("%s is a report of version %q, this scalehist reads %q: replay again with this scalehist", path, r.Version, scalehist.ReportVersion)
	}
	return &r, nil
}
