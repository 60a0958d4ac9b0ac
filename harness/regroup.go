package harness

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
)

// allGroups are the groups of the start and those that come later, as they come.
func (in *Input) allGroups() []scalehist.NodeGroup {
	out := slices.Clone(in.NodeGroups)
	for _, c := range in.GroupChanges {
		if c.Op == scalehist.OpAdd && !slices.ContainsFunc(out, func(g scalehist.NodeGroup) bool { return g.Name == c.Group.Name }) {
			out = append(out, c.Group)
		}
	}
	return out
}

// laterGroups names the groups that come within the window.
func (in *Input) laterGroups() []string {
	var out []string
	for _, c := range in.GroupChanges {
		if c.Op == scalehist.OpAdd {
			out = append(out, c.Group.Name)
		}
	}
	return out
}

// groupChange finds the change that brings a group within the window; nil if none does.
func (in *Input) groupChange(name string) *GroupChange {
	for i := range in.GroupChanges {
		if c := &in.GroupChanges[i]; c.Op == scalehist.OpAdd && c.Group.Name == name {
			return c
		}
	}
	return nil
}

// regroup takes a recorded change of a group over to the provider. A group that comes has its nodes from r.join on.
func (r *run) regroup(t time.Time, c GroupChange) error {
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

// groupNews says in the report which groups came and went, and what is not known about it.
func (r *recorded) groupNews(changes []GroupChange) []string {
	var out []string
	for _, c := range changes {
		switch c.Op {
		case scalehist.OpAdd:
			out = append(out, fmt.Sprintf("node group %s came at %s with target size %d: it is there from then on; whether the recorded autoscaler knew it before is not known",
				c.Group.Name, stamp(c.At), c.Group.TargetSize))
		case scalehist.OpDelete:
			out = append(out, fmt.Sprintf("node group %s was removed at %s: from then on it is gone, with the nodes that only the replay has; recorded ones go as recorded",
				c.Group.Name, stamp(c.At)))
		}
	}
	return out
}

// lifetimes finds, of groups that were not there at the start, when they came and as what, and of those that went, when.
func (r *recorded) lifetimes() {
	r.late, r.went = map[string]lateGroup{}, map[string]time.Time{}
	for _, c := range r.groupChanges() {
		switch c.Op {
		case scalehist.OpAdd:
			delete(r.went, c.Group.Name)
			if _, again := r.late[c.Group.Name]; !again && !slices.ContainsFunc(r.groups, func(g scalehist.NodeGroup) bool { return g.Name == c.Group.Name }) {
				r.late[c.Group.Name] = lateGroup{c.At, c.Group}
			}
		case scalehist.OpDelete:
			r.went[c.Group.Name] = c.At
		}
	}
	r.along = map[string]bool{}
	for _, ch := range r.changes {
		if n, ok := ch.Object.(*corev1.Node); ok && ch.Op == scalehist.OpAdd && r.groupOf(n) != "" && !r.grouped(n, ch.At) {
			r.along[n.Name] = true
		}
	}
}

// lateGroup is a group that came within the window, as it came.
type lateGroup struct {
	at    time.Time
	group scalehist.NodeGroup
}

// grouped says whether a node is its group's doing at an instant. A node that was there before its group, and one that is there
// after it, is not: it comes and goes as recorded.
func (r *recorded) grouped(n *corev1.Node, at time.Time) bool {
	name := r.groupOf(n)
	if late, ok := r.late[name]; ok && !at.After(late.at) {
		return false
	}
	if went, ok := r.went[name]; ok && at.After(went) {
		return false
	}
	return name != ""
}

// standingIn names the recorded nodes of a group at an instant.
func (r *recorded) standingIn(group string, at time.Time) []string {
	alive := map[string]bool{}
	for _, n := range r.initial.Objects.Nodes {
		if r.groupOf(n) == group {
			alive[n.Name] = true
		}
	}
	for _, ch := range r.changes {
		if n, ok := ch.Object.(*corev1.Node); ok && !ch.At.After(at) && r.groupOf(n) == group {
			alive[n.Name] = ch.Op != scalehist.OpDelete
		}
	}
	var out []string
	for _, name := range sortedKeys(alive) {
		if alive[name] {
			out = append(out, name)
		}
	}
	return out
}
