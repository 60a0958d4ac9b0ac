package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
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
	if nullElement(b) {
		// Four bytes of file would each become a decision of hundreds.
		return nil, fmt.Errorf("%s is not a replay report: a list in it has an element null", path)
	}
	var r scalehist.ReplayReport
	if err := decode.JSON(b, &r); err != nil {
		return nil, fmt.Errorf("%s is not a replay report: %w", path, err)
	}
	if r.Version != scalehist.ReportVersion {
		return nil, fmt.Errorf("%s is a report of version %q, this scalehist reads %q: replay again with this scalehist", path, r.Version, scalehist.ReportVersion)
	}
	return &r, nil
}

// nullElement says whether a list in a JSON text has an element null, as no report has: a null that follows a bracket or a comma, since in an
// object it would follow a colon.
func nullElement(text []byte) bool {
	var before byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			before = '"'
		case 'n':
			if before == '[' || before == ',' {
				return true
			}
			before = c
		default:
			before = c
		}
	}
	return false
}
