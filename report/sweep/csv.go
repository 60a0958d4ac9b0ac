package sweep

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// CSV writes the sweep as comma-separated values with a header line, a row a replay: its number, whether it is on the front
// ("true" or "false"), what became of it ("measured", "failed", "not run"), the engine, a column a parameter (empty where the
// engine does not take it), and a column a metric, as plain numbers in the unit that the header names. A metric that is not
// reported is empty.
func (s *Sweep) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	params := s.parameters()
	head := append([]string{"number", "front", "state", "engine"}, params...)
	for i, m := range s.Metrics {
		unit := m.Unit
		for _, r := range s.Rows {
			if i < len(r.Values) && r.Values[i].Value != nil {
				unit = r.Values[i].Unit
			}
		}
		if unit != "" {
			unit = " (" + unit + ")"
		}
		head = append(head, m.Name+unit)
	}
	_ = out.Write(head) // Flush reports all errors
	for _, r := range s.Rows {
		state := "measured"
		switch {
		case r.Error != "":
			state = "failed"
		case r.NotRun:
			state = "not run"
		}
		row := []string{strconv.Itoa(r.Number), strconv.FormatBool(r.Front), state, r.Engine}
		for _, name := range params {
			row = append(row, r.setting(name))
		}
		for i := range s.Metrics {
			cell := ""
			if i < len(r.Values) && r.Values[i].Value != nil {
				cell = strconv.FormatFloat(*r.Values[i].Value, 'f', -1, 64)
			}
			row = append(row, cell)
		}
		_ = out.Write(row)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// setting is the value of a parameter, empty when the engine does not take it.
func (r Row) setting(name string) string {
	for _, p := range r.Settings {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}
