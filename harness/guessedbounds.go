package harness

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// guessBounds gives the groups whose limit nobody recorded the most nodes that the whole history shows of them at once. The recorder
// writes the most it has seen so far, which grows as nodes join: taken over time, it would let a group grow only after it grew.
func (r *recorded) guessBounds(whole *recorded) {
	r.seenAtOnce = map[string]int{}
	see := func(name string, size int) { r.seenAtOnce[name] = max(r.seenAtOnce[name], size) }
	for _, g := range whole.groups {
		if g.GuessedMax {
			see(g.Name, max(g.MaxSize, g.TargetSize))
		}
	}
	for _, ch := range whole.changes {
		if g, ok := ch.Object.(*v1alpha1.NodeGroup); ok && g.GuessedMax() {
			see(g.Name, int(max(g.Spec.MaxSize, g.Spec.TargetSize)))
		}
	}
	for i := range r.groups {
		if g := &r.groups[i]; g.GuessedMax {
			g.MaxSize = max(g.MaxSize, r.seenAtOnce[g.Name])
		}
	}
}

// guessedBounds is the warning about groups whose limit is a guess; none if there are none.
func guessedBounds(groups []scalehist.NodeGroupResult) []string {
	var list []string
	first := ""
	for _, g := range groups {
		if g.GuessedMax {
			list = append(list, fmt.Sprintf("%s %d", g.Name, g.MaxSize))
			if first == "" {
				first = g.Name
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("the recording does not show how large node groups may be, and their max sizes are guesses, the most nodes seen: %s; "+
		"where one decides, the real autoscaler may have gone on (--bounds %s=MIN:MAX)", strings.Join(list, ", "), first)}
}
