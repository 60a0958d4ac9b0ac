package console

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/widetable"
)

// Format is how a command prints its result; it is the value of -o.
type Format string

// The formats of -o. FormatWide is a table with every column.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide"
	FormatJSON  Format = "json"
)

var formats = []string{string(FormatTable), string(FormatJSON), string(FormatWide)}

// String implements pflag.Value.
func (f *Format) String() string { return string(*f) }

// Type implements pflag.Value; help shows it.
func (f *Format) Type() string { return strings.Join(formats, "|") }

// Set implements pflag.Value.
func (f *Format) Set(v string) error {
	if !slices.Contains(formats, v) {
		return fmt.Errorf("must be %s", strings.Join(formats, ", "))
	}
	*f = Format(v)
	return nil
}

// AddFormatFlag adds "-o table|json|wide", table by default. Not for record and export, whose -o is a file.
func AddFormatFlag(cmd *cobra.Command, f *Format) {
	if *f == "" {
		*f = FormatTable
	}
	cmd.Flags().VarP(f, "output", "o", "how to print the result")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --output: %v", err)) // only a second registration of the same flag fails
	}
}

// Column is a column of a Table.
type Column struct {
	Name string
	// Right aligns numbers.
	Right bool
	// Wide columns show with -o wide only.
	Wide bool
}

// Table is a result for people: columns and rows of the same width, already sorted.
type Table struct {
	// Title is printed on a line of its own above the table, if any.
	Title   string
	Columns []Column
	Rows    [][]string
}

// PrintTable writes t the way kubectl does: no borders, two spaces between columns, the header bold on a terminal.
// Format decides about wide columns.
func (s IO) PrintTable(t Table, f Format) {
	if t.Title != "" {
		fmt.Fprintln(s.Out, plaintext.Lines(t.Title))
	}
	var show []int
	for i, c := range t.Columns {
		if !c.Wide || f == FormatWide {
			show = append(show, i)
		}
	}
	w := widetable.New()
	style := table.StyleDefault
	style.Box = table.BoxStyle{PaddingRight: "  "}
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	if s.Color(s.Out) {
		style.Color.Header = text.Colors{text.Bold}
	}
	w.SetStyle(style)
	header := make(table.Row, 0, len(show))
	configs := make([]table.ColumnConfig, 0, len(show))
	for n, i := range show {
		header = append(header, t.Columns[i].Name)
		if t.Columns[i].Right {
			configs = append(configs, table.ColumnConfig{Number: n + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	w.AppendHeader(header)
	w.SetColumnConfigs(configs)
	for _, r := range t.Rows {
		row := make(table.Row, 0, len(show))
		for _, i := range show {
			cell := ""
			if i < len(r) {
				cell = plaintext.Escape(r[i])
			}
			row = append(row, cell)
		}
		w.AppendRow(row)
	}
	for line := range strings.SplitSeq(w.Render(), "\n") {
		fmt.Fprintln(s.Out, strings.TrimRight(line, " "))
	}
}

// Printf prints to standard output: the format is layout, the arguments are values, each on one line. An error of standard output is kept
// and reported in the end.
func (s IO) Printf(format string, args ...any) {
	fmt.Fprint(s.Out, plaintext.Sprintf(format, args...))
}

// Errf is Printf to standard error.
func (s IO) Errf(format string, args ...any) {
	fmt.Fprint(s.Err, plaintext.Sprintf(format, args...))
}

// Page prints a text that is laid out already.
func (s IO) Page(text string) error {
	_, err := io.WriteString(s.Out, text)
	return err
}

// Json is standard output for JSON.
func (s IO) Json() io.Writer { return styled(s.Out, plaintext.JSON) }

// Commands is w for annotations and other commands of CI systems.
func (s IO) Commands(w io.Writer) io.Writer { return styled(w, plaintext.Commands) }

// Raw is standard output for what must arrive as it is, and is not of people: scripts for shells, HTML.
func (s IO) Raw() io.Writer {
	if w, ok := s.Out.(*plaintext.Writer); ok {
		return w.Unwrap()
	}
	return s.Out
}

func styled(w io.Writer, style plaintext.Style) io.Writer {
	if p, ok := w.(*plaintext.Writer); ok {
		return p.As(style)
	}
	return w
}

// PrintJSON writes v indented, with a newline at the end.
func (s IO) PrintJSON(v any) error { return WriteJSON(s.Json(), v) }

func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Count is a number as text.
func Count(n int64) string { return strconv.FormatInt(n, 10) }
