// Package widetable makes tables of go-pretty align in a terminal whatever characters are in them. go-pretty adds up the widths of
// code points, which is wrong for what one sees as one character: an emoji of several people, a flag, a letter with its accent
// beside it. It also asks the locale how wide some characters are, so that the same report would differ between machines.
//
// The package knows nothing of what is in a table.
package widetable

import (
	"strings"

	"github.com/clipperhouse/displaywidth"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

func init() { text.OverrideRuneWidthEastAsianWidth(false) }

// New is an empty table.
func New() table.Writer { return &writer{Writer: table.NewWriter(), runes: map[string]rune{}} }

const (
	// first begins a private range that stands for characters while a table is laid out; each is one column wide.
	first = 0xF0000
	// filler is the second column of a wide one.
	filler = 0xFFFFD
)

// writer puts a code point of the right width in place of every character that go-pretty would measure wrongly, and takes it back
// in what was laid out.
type writer struct {
	table.Writer
	runes map[string]rune
	back  []string
}

// AppendHeader implements table.Writer.
func (w *writer) AppendHeader(row table.Row, config ...table.RowConfig) {
	w.Writer.AppendHeader(w.row(row), config...)
}

// AppendRow implements table.Writer.
func (w *writer) AppendRow(row table.Row, config ...table.RowConfig) {
	w.Writer.AppendRow(w.row(row), config...)
}

// AppendRows implements table.Writer.
func (w *writer) AppendRows(rows []table.Row, config ...table.RowConfig) {
	for _, row := range rows {
		w.AppendRow(row, config...)
	}
}

// Render implements table.Writer.
func (w *writer) Render() string { return w.decode(w.Writer.Render()) }

// RenderMarkdown implements table.Writer.
func (w *writer) RenderMarkdown() string { return w.decode(w.Writer.RenderMarkdown()) }

func (w *writer) row(row table.Row) table.Row {
	out := make(table.Row, len(row))
	for i, cell := range row {
		if s, ok := cell.(string); ok {
			cell = w.encode(s)
		}
		out[i] = cell
	}
	return out
}

func (w *writer) encode(s string) string {
	if isASCII(s) || strings.ContainsRune(s, '\x1b') {
		return s // go-pretty measures escape sequences itself
	}
	var b strings.Builder
	for g := displaywidth.StringGraphemes(s); g.Next(); {
		character := g.Value()
		width := 0
		for _, r := range character {
			width += text.RuneWidth(r)
			if r >= first && r <= filler {
				width = -1 << 30 // one of ours
			}
		}
		if width == g.Width() {
			b.WriteString(character)
			continue
		}
		if g.Width() > 0 {
			b.WriteRune(w.stand(character))
		}
		if g.Width() > 1 {
			b.WriteRune(filler)
		}
	}
	return b.String()
}

// stand is the code point for a character.
func (w *writer) stand(character string) rune {
	r, known := w.runes[character]
	if !known && first+len(w.back) < filler {
		r = rune(first + len(w.back))
		w.runes[character] = r
		w.back = append(w.back, character)
	}
	return r
}

func (w *writer) decode(s string) string {
	if len(w.back) == 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch i := int(r) - first; {
		case r == filler:
		case i >= 0 && i < len(w.back):
			b.WriteString(w.back[i])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Pad adds blanks behind s until it is width columns wide.
func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-displaywidth.String(s)))
}
