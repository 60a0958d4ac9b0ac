package harness

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
)

// regroup takes a recorded change of a group over to the provider. A group that comes has its nodes from r.join on.
func (r *run) regroup(t time.Time, c trace.GroupChange) error {
	was, known := r.provider.Group(c.Group.Name)
	if c.Op == scalehist.OpDelete {
		if !known {
			return nil
		}
		r.ledger.groupWent(t, was)
		r.arrived = slices.DeleteFunc(r.arrived, func(n string) bool { return n == was.Name })
		return r.provider.RemoveGroup(t, was.Name, func(node string) bool { return slices.Contains(c.Keep, node) })
	}
	if err := r.provider.UpdateGroup(c.Group); err != nil {
		return err
	}
	if !known {
		r.ledger.groupCame(t, c.Group)
		r.arrived = append(r.arrived, c.Group.Name)
	}
	return nil
}

// join gives groups that have just come the nodes that stand and name them, and asks for those that are missing: whoever made
// the group asked for them, so no autoscaler counts them as its own.
func (r *run) join(t time.Time) error {
	if len(r.arrived) == 0 {
		return nil
	}
	for _, n := range r.plane.Cluster().Nodes {
		g, ok := r.provider.GroupForNode(n)
		if !ok || !slices.Contains(r.arrived, g) {
			continue
		}
		if err := r.provider.Adopt(n); err != nil {
			return err
		}
		if known := r.ledger.byNode[n.Name]; known != nil {
			known.group = g
		}
	}
	for _, g := range r.arrived {
		r.provider.FillGroup(t, g)
	}
	r.arrived = nil
	return nil
}

// groupLife is when a group came and went within a window; zero times are outside of it.
type groupLife struct {
	came, went time.Time
	// last is the group as it went.
	last scalehist.NodeGroup
}

func (l *ledger) lifeOf(name string) *groupLife {
	if l.lives == nil {
		l.lives = map[string]*groupLife{}
	}
	if l.lives[name] == nil {
		l.lives[name] = &groupLife{}
	}
	return l.lives[name]
}

func (l *ledger) groupCame(at time.Time, g scalehist.NodeGroup) {
	life := l.lifeOf(g.Name)
	life.went = time.Time{}
	if !slices.ContainsFunc(l.groupsAtZero, func(o scalehist.NodeGroup) bool { return o.Name == g.Name }) {
		life.came = at
		l.groupsAtZero = append(l.groupsAtZero, g)
	}
}

func (l *ledger) groupWent(at time.Time, g scalehist.NodeGroup) {
	life := l.lifeOf(g.Name)
	life.went, life.last = at, g
}

// lived corrects the result of a group that came or went within the window: before and after it has no size, and what it came
// and went with is nobody's step.
func (l *ledger) lived(res *scalehist.NodeGroupResult, start time.Time) {
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
