package trace

import (
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
