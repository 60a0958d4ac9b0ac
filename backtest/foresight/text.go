package foresight

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist/internal/curveplot"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report"
)

// maxSeasons bounds the table of seasons: those that were missed most.
const maxSeasons = 10

// head are the columns of the table of forecasts.
var head = []string{"forecast", "mean error", "of last value", "bias", "mean % error", "too low", "by", "worst too low", "worst too high"}

// Text is the report as a page for a terminal.
func (r *Report) Text() string {
	r = plaintext.Values(r)
	var b strings.Builder
	fmt.Fprintf(&b, "forecasts of %s: the most within %s, a season of %s, values every %s\n", r.Source, r.Lead, r.Season, r.Step)
	for i := range r.Series {
		s := &r.Series[i]
		fmt.Fprintf(&b, "\n%s: %s judged from %s on, %s on average\n\n", s.Series, plural.Of(s.Judged, "moment"), stamp(s.JudgedFrom), s.value(s.Mean))
		t := report.NewTable()
		row := table.Row{""}
		for _, h := range head {
			row = append(row, h)
		}
		t.AppendHeader(row)
		for k := range s.Forecasts {
			f := &s.Forecasts[k]
			row = table.Row{mark(f)}
			for _, c := range s.cells(f) {
				row = append(row, c)
			}
			t.AppendRow(row)
		}
		b.WriteString(report.Trimmed(t.Render()))
		b.WriteString(s.seasons())
	}
	b.WriteString("\n* the smallest mean error\n")
	if len(r.Notes) > 0 {
		b.WriteString("\nnotes\n")
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	return b.String()
}

func mark(f *Result) string {
	if f.Best {
		return "*"
	}
	return ""
}

// cells are the columns of head.
func (s *SeriesResult) cells(f *Result) []string {
	by := "-"
	if f.Low > 0 {
		by = s.value(f.Short)
	}
	return []string{f.Method, s.value(f.Mean), share(f.OfLast), s.signed(f.Bias), share(f.Percent), share(&f.Low), by, s.miss(f.WorstLow), s.miss(f.WorstHigh)}
}

// seasons is the table of mean errors by season, of those that any forecast missed most; nothing where there is one season.
func (s *SeriesResult) seasons() string {
	parts := s.Forecasts[0].Seasons
	if len(parts) < 2 {
		return ""
	}
	most := func(i int) (out float64) {
		for k := range s.Forecasts {
			out = max(out, s.Forecasts[k].Seasons[i].Mean)
		}
		return out
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(most(b), most(a)) })
	left := max(0, len(order)-maxSeasons)
	order = order[:len(order)-left]
	slices.Sort(order)
	t := report.NewTable()
	row := table.Row{"mean error by season"}
	for k := range s.Forecasts {
		row = append(row, s.Forecasts[k].Method)
	}
	t.AppendHeader(row)
	for _, i := range order {
		row = table.Row{stamp(parts[i].From)}
		for k := range s.Forecasts {
			row = append(row, s.value(s.Forecasts[k].Seasons[i].Mean))
		}
		t.AppendRow(row)
	}
	out := "\n" + report.Trimmed(t.Render())
	if left > 0 {
		out += fmt.Sprintf("%s with smaller errors left out\n", plural.Of(left, "season"))
	}
	return out
}

func stamp(t time.Time) string {
	if t.Second() != 0 {
		return t.UTC().Format("2006-01-02 15:04:05")
	}
	return t.UTC().Format("2006-01-02 15:04")
}

// value is a number of the metric; what rounding left of nothing is 0.
func (s *SeriesResult) value(v float64) string {
	if math.Abs(v) < 1e-9*s.Mean {
		v = 0
	}
	return curveplot.Text(v, s.bytes)
}

func (s *SeriesResult) signed(v float64) string {
	if text := s.value(v); v < 0 || text == "0" {
		return text
	}
	return "+" + s.value(v)
}

func (s *SeriesResult) miss(m *Miss) string {
	if m == nil {
		return "-"
	}
	return fmt.Sprintf("%s of %s at %s", s.value(m.Predicted), s.value(m.Came), stamp(m.At))
}

func share(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

// CSV writes, with Options.Curves, a header and a row for each step of each series: what it was, the most that came within the lead, and what each forecast had predicted. What is not
// known is empty.
func (r *Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	cell := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 9, 64)
	}
	for i := range r.Series {
		s := &r.Series[i]
		if i == 0 {
			row := []string{"series", "at", "value", "came"}
			for k := range s.Forecasts {
				row = append(row, s.Forecasts[k].Method)
			}
			_ = out.Write(append(row, "judged")) // Error has all errors
		}
		for n, v := range s.values {
			row := []string{s.Series, r.From.Add(time.Duration(n) * r.step).Format(time.RFC3339), cell(v), cell(s.came[n])}
			for _, p := range s.predicted {
				row = append(row, cell(p[n]))
			}
			_ = out.Write(append(row, strconv.FormatBool(s.judged[n])))
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}
