package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/recorder/history"
)

// Gaps are those that overlap a window, in order of time; one that only touches it does not.
func Gaps(ctx context.Context, db *history.DB, w Window) ([]history.Gap, error) {
	found, err := db.Gaps(ctx, w.From, w.To)
	if err != nil {
		return nil, fmt.Errorf("read gaps: %w", err)
	}
	return slices.DeleteFunc(found, func(g history.Gap) bool { return !g.From.Before(w.To) || !g.To.After(w.From) }), nil
}

// Blind says whether pods or nodes were not watched in a gap: a replay knows nothing of the demand then, and refuses the window.
func Blind(g history.Gap) bool {
	return len(g.Kinds) == 0 || slices.Contains(g.Kinds, "Pod") || slices.Contains(g.Kinds, "Node")
}

// JoinGaps makes one gap of those that have one reason and overlap, from the first begin to the last end: each kind has its own watch, so that one
// outage is a gap of every kind, some milliseconds apart. A gap of all kinds is not joined with one of some.
func JoinGaps(gaps []history.Gap) []history.Gap {
	var out []history.Gap
	for _, g := range gaps {
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
		slices.Sort(o.Kinds)
		o.Kinds = slices.Compact(o.Kinds)
	}
	return out
}

// watched refuses a window in which pods or nodes were not watched, which cannot be replayed faithfully, and warns of
// one in which others were not.
func watched(ctx context.Context, db *history.DB, w Window) (warnings []string, err error) {
	found, err := Gaps(ctx, db, w)
	if err != nil {
		return nil, err
	}
	for _, g := range found {
		kinds := strings.Join(g.Kinds, ", ")
		if !Blind(g) {
			warnings = append(warnings, fmt.Sprintf("%s were not watched from %s to %s (%s): their changes then are missing", kinds, moment.Stamp(g.From), moment.Stamp(g.To), g.Why))
			continue
		}
		if kinds == "" {
			kinds = "nothing"
		} else {
			kinds += " not"
		}
		return nil, fmt.Errorf("the recording has a gap from %s to %s, %s watched (%s): choose a window before or after it (--from, --to)",
			moment.Stamp(g.From), moment.Stamp(g.To), kinds, g.Why)
	}
	return warnings, nil
}
