package cloudprovider

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// known is a group that exists; one that was removed does not, though its last nodes may still be on their way out.
func (p *Provider) known(name string) (*group, bool) {
	g, ok := p.groups[name]
	if !ok || g.removed {
		return nil, false
	}
	return g, true
}

// UpdateGroup takes over a recorded change of bounds, zone, machine type, template and options; the target size stays what
// it is here. A group not known yet is added with the target size it brings: at its place by name where the groups are
// sorted by name, else at the end. Its nodes are then adopted or asked for (Adopt, FillGroup).
func (p *Provider) UpdateGroup(g scalehist.NodeGroup) error {
	if err := checkGroup(g); err != nil {
		return fmt.Errorf("update node group: %w", err)
	}
	if g.Template != nil {
		g.Template = g.Template.DeepCopy()
	}
	if old, ok := p.known(g.Name); ok {
		g.TargetSize = old.TargetSize
		old.NodeGroup = g
		return nil
	}
	at := len(p.names)
	if slices.IsSorted(p.names) {
		at, _ = slices.BinarySearch(p.names, g.Name)
	}
	p.names = slices.Insert(p.names, at, g.Name)
	fresh := &group{NodeGroup: g}
	if old := p.groups[g.Name]; old != nil { // a group of that name was removed
		fresh.instances, fresh.nextIndex = old.instances, old.nextIndex
	}
	p.groups[g.Name] = fresh
	return nil
}

// RemoveGroup takes a group away at an instant. Nodes that keep names stay as nodes that are not autoscaled; what is being
// created is cancelled, and all other nodes are gone at the next Advance. No change of a size is noted: nobody asked for
// one. It is an error when the group is unknown.
func (p *Provider) RemoveGroup(now time.Time, name string, keep func(node string) bool) error {
	g, ok := p.known(name)
	if !ok {
		return errNoGroup(name)
	}
	for _, i := range slices.Clone(g.instances) {
		switch {
		case i.State == InstanceCreating, i.State == InstanceRunning && keep(i.NodeName):
			p.drop(i)
		default:
			i.State, i.joinAt, i.goneAt = InstanceDeleting, time.Time{}, now
		}
	}
	g.removed, g.TargetSize = true, 0
	p.names = slices.DeleteFunc(slices.Clone(p.names), func(n string) bool { return n == name })
	return nil
}

// FillGroup is Fill for one group; an unknown one is left alone.
func (p *Provider) FillGroup(now time.Time, name string) {
	g, ok := p.known(name)
	if !ok {
		return
	}
	for have := g.live(); have < g.TargetSize; have++ {
		p.request(g, now)
	}
}
