package report

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
)

// Indent puts by before each line, and takes blanks off their ends.
func Indent(s, by string) string { return indent(s, by) }

// SizesLine says in a line what scaled: "batch 0->3, std 1->2".
func SizesLine(r *scalehist.ReplayReport) string {
	var parts []string
	for _, g := range r.NodeGroups {
		if g.ScaledUp+g.ScaledDown > 0 {
			parts = append(parts, fmt.Sprintf("%s %d->%d", g.Name, g.Initial, g.Final))
		}
	}
	if len(parts) == 0 {
		return "nothing scaled"
	}
	return plaintext.Escape(strings.Join(parts, ", "))
}
