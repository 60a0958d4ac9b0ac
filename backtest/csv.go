package backtest

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// column is a number of Measures as CSV has it.
type column struct {
	name string
	of   func(*Measures) float64
}

// columns are all numbers but histograms.
func columns() []column {
	out := []column{
		{"container_hours", func(m *Measures) float64 { return m.ContainerHours }},
		{"throttled_share", func(m *Measures) float64 { return m.Throttled }},
		{"throttled_core_hours", func(m *Measures) float64 { return m.ThrottledCoreHours }},
		{"limited_share", func(m *Measures) float64 { return m.Limited }},
		{"ooms", func(m *Measures) float64 { return float64(m.OOMs) }},
		{"down_hours", func(m *Measures) float64 { return m.DownHours }},
		{"days", func(m *Measures) float64 { return float64(m.Days) }},
		{"oom_days", func(m *Measures) float64 { return float64(m.OOMDays) }},
		{"severe_oom_days", func(m *Measures) float64 { return float64(m.SevereOOMDays) }},
		{"evictions", func(m *Measures) float64 { return float64(m.Evictions) }},
		{"resizes", func(m *Measures) float64 { return float64(m.Resizes) }},
		{"censored_share", func(m *Measures) float64 { return m.Censored }},
	}
	for _, r := range []struct {
		name, hours, unit string
		of                func(*Measures) *Share
	}{
		{"cpu", "core_hours", "cores", func(m *Measures) *Share { return &m.CPU }},
		{"memory", "gib_hours", "gib", func(m *Measures) *Share { return &m.Memory }},
	} {
		bytes := map[string]string{"cores": "cores", "gib": "bytes"}[r.unit]
		for _, c := range []struct {
			name string
			of   func(*Share) float64
		}{
			{"requested_" + r.hours, func(s *Share) float64 { return s.Requested }},
			{"used_" + r.hours, func(s *Share) float64 { return s.Used }},
			{"slack_" + r.hours, func(s *Share) float64 { return s.Slack }},
			{"overrun_" + r.hours, func(s *Share) float64 { return s.Overrun }},
			{"relative_slack", func(s *Share) float64 { return s.RelativeSlack }},
			{"autopilot_relative_slack", func(s *Share) float64 { return s.Autopilot }},
			{"autopilot_absolute_slack_" + r.unit, func(s *Share) float64 { return s.AutopilotAbsolute }},
			{"relative_diff", func(s *Share) float64 { return s.Quality.RelativeDiff }},
			{"over_usage_diff_" + bytes, func(s *Share) float64 { return s.Quality.Over }},
			{"lower_or_equal_usage_diff_" + bytes, func(s *Share) float64 { return s.Quality.Lower }},
			{"missing_recommendations", func(s *Share) float64 { return float64(s.Quality.Missing) }},
			{"changes", func(s *Share) float64 { return float64(s.Quality.Changes) }},
			{"relative_change", func(s *Share) float64 { return s.Quality.Change }},
		} {
			out = append(out, column{r.name + "_" + c.name, func(m *Measures) float64 { return c.of(r.of(m)) }})
		}
	}
	return out
}

// CSV writes a header and a row for the cluster, each workload and each container of each candidate, as plain numbers in the units that
// the header names.
func (r *Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	all := columns()
	head := []string{"candidate", "front", "level", "workload", "container"}
	for _, c := range all {
		head = append(head, c.name)
	}
	_ = out.Write(head) // Error has all errors
	row := func(c *Result, level, workload, container string, m *Measures) {
		cells := []string{c.Label, strconv.FormatBool(c.Front), level, workload, container}
		for _, one := range all {
			cells = append(cells, strconv.FormatFloat(one.of(m), 'g', 9, 64))
		}
		_ = out.Write(cells)
	}
	for i := range r.Candidates {
		c := &r.Candidates[i]
		row(c, "cluster", "", "", &c.Cluster)
		for k := range c.Workloads {
			p := &c.Workloads[k]
			row(c, "workload", p.Workload, "", &p.Measures)
			for n := range p.Containers {
				row(c, "container", p.Workload, p.Containers[n].Container, &p.Containers[n].Measures)
			}
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
