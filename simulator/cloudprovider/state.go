package cloudprovider

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// State is what a Provider does not get from its groups and options: Restore gives it to another one, which then goes on where this one was.
type State struct {
	Groups []GroupState `json:"groups"`
	// Used are node names that were ever taken, FaultUsed how often each fault hit, Seq the number of requests so far.
	Used      []string `json:"used,omitempty"`
	FaultUsed []int    `json:"faultUsed,omitempty"`
	Seq       int      `json:"seq,omitempty"`
}

// GroupState is a group with its instances.
type GroupState struct {
	NodeGroup scalehist.NodeGroup `json:"nodeGroup"`
	Next      int                 `json:"next,omitempty"`
	Removed   bool                `json:"removed,omitempty"`
	Instances []MachineState      `json:"instances,omitempty"`
}

// MachineState is an instance and what will become of it; instants that are zero will not come.
type MachineState struct {
	Instance
	Seq     int            `json:"seq"`
	JoinAt  time.Time      `json:"joinAt,omitzero"`
	FailAt  time.Time      `json:"failAt,omitzero"`
	GoneAt  time.Time      `json:"goneAt,omitzero"`
	Failure *InstanceError `json:"failure,omitempty"`
}

// State is the present one, without the resizes that were noted.
func (p *Provider) State() State {
	s := State{Used: keys(p.used), FaultUsed: slices.Clone(p.faultUsed), Seq: p.seq}
	for _, name := range keys(p.groups) {
		g := p.groups[name]
		one := GroupState{NodeGroup: g.NodeGroup, Next: g.nextIndex, Removed: g.removed}
		for _, i := range g.instances {
			one.Instances = append(one.Instances, MachineState{Instance: i.Instance, Seq: i.seq, JoinAt: i.joinAt, FailAt: i.failAt, GoneAt: i.goneAt, Failure: i.failure})
		}
		s.Groups = append(s.Groups, one)
	}
	return s
}

// Restore takes a state over, in place of all instances. Groups that the provider has keep their bounds, template and options, and take the target size;
// those that it does not have are added, as they were. Nodes that joined by themselves join again at the next Advance, so that its caller can see to it
// that they are there.
func (p *Provider) Restore(s State) error {
	p.instances, p.used, p.seq = map[string]*instance{}, map[string]bool{}, s.Seq
	for _, name := range s.Used {
		p.used[name] = true
	}
	copy(p.faultUsed, s.FaultUsed)
	for _, one := range s.Groups {
		g, ok := p.groups[one.NodeGroup.Name]
		if !ok {
			if err := p.UpdateGroup(one.NodeGroup); err != nil {
				return err
			}
			g = p.groups[one.NodeGroup.Name]
		}
		g.TargetSize, g.nextIndex, g.removed, g.instances = one.NodeGroup.TargetSize, one.Next, one.Removed, nil
		if g.removed {
			p.names = slices.DeleteFunc(slices.Clone(p.names), func(n string) bool { return n == one.NodeGroup.Name })
		}
		for _, m := range one.Instances {
			i := &instance{Instance: m.Instance, group: g.Name, seq: m.Seq, joinAt: m.JoinAt, failAt: m.FailAt, goneAt: m.GoneAt, failure: m.Failure}
			if i.State == InstanceRunning && !i.joinAt.IsZero() {
				i.State = InstanceCreating
			}
			p.instances[i.NodeName] = i
			g.instances = append(g.instances, i)
		}
	}
	return nil
}
