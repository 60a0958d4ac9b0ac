package trace

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/moment"
)

// AllGroups are the groups of the start and those that come later, as they come.
func (in *Input) AllGroups() []scalehist.NodeGroup {
	out := slices.Clone(in.NodeGroups)
	for _, c := range in.GroupChanges {
		if c.Op == scalehist.OpAdd && !slices.ContainsFunc(out, func(g scalehist.NodeGroup) bool { return g.Name == c.Group.Name }) {
			out = append(out, c.Group)
		}
	}
	return out
}

// LaterGroups names the groups that come within the window.
func (in *Input) LaterGroups() []string {
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

// groupNews says in the report which groups came and went, and what is not known about it.
func (r *recorded) groupNews(changes []GroupChange) []string {
	var out []string
	for _, c := range changes {
		switch c.Op {
		case scalehist.OpAdd:
			out = append(out, fmt.Sprintf("node group %s came at %s with target size %d: it is there from then on; whether the recorded autoscaler knew it before is not known",
				c.Group.Name, moment.Stamp(c.At), c.Group.TargetSize))
		case scalehist.OpDelete:
			out = append(out, fmt.Sprintf("node group %s was removed at %s: from then on it is gone, with the nodes that only the replay has; recorded ones go as recorded",
				c.Group.Name, moment.Stamp(c.At)))
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
	for _, name := range slices.Sorted(maps.Keys(alive)) {
		if alive[name] {
			out = append(out, name)
		}
	}
	return out
}
