package histories

import (
	"slices"
	"strings"

	"github.com/scalehist/scalehist/recorder/history"
)

// joinedGaps joins gaps for people: each kind has its own watch, so that one outage is a gap of every kind, some
// milliseconds apart. Gaps of one reason that overlap become one, from the first begin to the last end.
func joinedGaps(gaps []history.Gap) []history.Gap {
	var out []history.Gap
	for _, g := range gaps { // sorted by From
		i := slices.IndexFunc(out, func(o history.Gap) bool {
			return o.Why == g.Why && (len(o.Kinds) == 0) == (len(g.Kinds) == 0) && !g.From.After(o.To) && !o.From.After(g.To)
		})
		if i < 0 {
			g.Kinds = slices.Clone(g.Kinds)
			out = append(out, g)
			continue
		}
		o := &out[i]
		if g.From.Before(o.From) {
			o.From = g.From
		}
		if g.To.After(o.To) {
			o.To = g.To
		}
		o.Kinds = append(o.Kinds, g.Kinds...)
		slices.SortFunc(o.Kinds, strings.Compare)
		o.Kinds = slices.Compact(o.Kinds)
	}
	return out
}
