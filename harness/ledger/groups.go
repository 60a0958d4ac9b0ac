package ledger

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// groupLife is when a group came and went within a window; zero times are outside of it.
type groupLife struct {
	came, went time.Time
	// last is the group as it was removed.
	last scalehist.NodeGroup
}

// Groups are the node groups of the start, with those that came since as they came.
func (l *Ledger) Groups() []scalehist.NodeGroup { return l.groupsAtZero }

// Joined notes that a node has become one of a group.
func (l *Ledger) Joined(node, group string) {
	if known := l.byNode[node]; known != nil {
		known.group = group
	}
}

func (l *Ledger) lifeOf(name string) *groupLife {
	if l.lives == nil {
		l.lives = map[string]*groupLife{}
	}
	if l.lives[name] == nil {
		l.lives[name] = &groupLife{}
	}
	return l.lives[name]
}

// GroupCame notes a group that is new, or there again.
func (l *Ledger) GroupCame(at time.Time, g scalehist.NodeGroup) {
	life := l.lifeOf(g.Name)
	life.went = time.Time{}
	if !slices.ContainsFunc(l.groupsAtZero, func(o scalehist.NodeGroup) bool { return o.Name == g.Name }) {
		life.came = at
		l.groupsAtZero = append(l.groupsAtZero, g)
	}
}

// GroupWent notes a group that is removed, as it was then.
func (l *Ledger) GroupWent(at time.Time, g scalehist.NodeGroup) {
	life := l.lifeOf(g.Name)
	life.went, life.last = at, g
}

// Lived corrects the result of a group that came or went within the window: before and after it has no size, and what it came
// and went with is nobody's step.
func (l *Ledger) Lived(res *scalehist.NodeGroupResult, start time.Time) {
	life := l.lives[res.Name]
	if life == nil {
		return
	}
	at := func(t time.Time, size int) scalehist.SizeAt {
		return scalehist.SizeAt{Offset: scalehist.Duration(t.Sub(start)), Size: size}
	}
	if !life.came.IsZero() && life.came.After(start) {
		first := at(life.came, res.Initial)
		res.Sizes[0].Size = 0
		if res.Initial > 0 {
			res.Sizes = slices.Insert(res.Sizes, 1, first)
		}
		res.Initial = 0
	}
	if !life.went.IsZero() {
		res.MinSize, res.MaxSize, res.Final = life.last.MinSize, life.last.MaxSize, 0
		if life.last.TargetSize > 0 {
			res.Sizes = append(res.Sizes, at(life.went, 0))
		}
	}
}
