package widetable

import (
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/jedib0t/go-pretty/v6/table"
	"pgregory.net/rapid"
)

// joiner joins characters to one; by itself it is nothing to see.
const joiner = "\u200d"

// characters are of all widths, and of several code points.
var characters = []string{"a", "Z", "-", "ノ", "群", "e\u0301", "👩‍👩‍👧‍👦", "🇩🇪", "❤️", "é", "ｶ", "\U000F0000", "\U000FFFFD", "½", "±", joiner}

// TestColumnsAlign: the second column begins at the same place in every line, whatever the first one holds.
func TestColumnsAlign(t *testing.T) {
	cells := rapid.SliceOfN(rapid.Map(rapid.SliceOfN(rapid.SampledFrom(characters), 0, 6), func(c []string) string { return strings.Join(c, "") }), 1, 8)
	rapid.Check(t, func(rt *rapid.T) {
		list := cells.Draw(rt, "cells")
		w := New()
		w.SetStyle(table.StyleDefault)
		w.Style().Options = table.OptionsNoBordersAndSeparators
		for _, c := range list {
			w.AppendRow(table.Row{c, "|"})
		}
		lines := strings.Split(w.Render(), "\n")
		if len(lines) != len(list) {
			rt.Fatalf("%d lines for %d rows", len(lines), len(list))
		}
		want := -1
		for i, line := range lines {
			before, _, found := strings.Cut(line, "|")
			at := displaywidth.String(before)
			if want < 0 {
				want = at
			}
			if !found || at != want {
				rt.Fatalf("column at %d, want %d, in %q of\n%s", at, want, line, strings.Join(lines, "\n"))
			}
			if kept := strings.ReplaceAll(list[i], joiner, ""); !strings.Contains(strings.ReplaceAll(before, joiner, ""), kept) {
				rt.Fatalf("%q became %q", list[i], before)
			}
		}
	})
}

func TestPad(t *testing.T) {
	for in, want := range map[string]string{"": "   ", "a": "a  ", "ノ": "ノ ", "👩‍👩‍👧‍👦": "👩‍👩‍👧‍👦 ", "long": "long"} {
		if got := Pad(in, 3); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
