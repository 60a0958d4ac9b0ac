package learn

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/scalehist/scalehist/internal/curveplot"
)

// Curve is how a model became better: rows of numbers, the first of each is what was done by then.
type Curve struct {
	Title   string
	Columns []string
	Rows    [][]float64
}

// CSV writes a header and the rows.
func (c *Curve) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write(c.Columns) // Error has all errors
	for _, row := range c.Rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = strconv.FormatFloat(v, 'g', 6, 64)
		}
		_ = out.Write(cells)
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

// SVG draws panels of columns, by their places; each panel may have two lines.
func (c *Curve) SVG(panels ...[]int) string {
	chart := curveplot.Chart{Title: c.Title, From: time.Unix(0, 0), To: time.Unix(int64(c.Rows[len(c.Rows)-1][0]), 0), Counts: true}
	for _, panel := range panels {
		p := curveplot.Panel{}
		for k, column := range panel {
			line := curveplot.Line{Name: c.Columns[column], Class: []string{"usage", "request"}[k]}
			for _, row := range c.Rows {
				line.Points = append(line.Points, curveplot.Point{At: time.Unix(int64(row[0]), 0), Value: row[column]})
			}
			p.Lines = append(p.Lines, line)
		}
		chart.Panels = append(chart.Panels, p)
	}
	return chart.SVG(true)
}
