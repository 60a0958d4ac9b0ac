package harness

import (
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// state is what the autoscaler is about to see; nil when nobody wants to keep it.
func (r *run) state(t time.Time) *scalehist.ClusterState {
	if !r.opts.moments {
		return nil
	}
	return stateNow(t, r.plane.Objects(), r.provider, r.backoff)
}

func stateNow(t time.Time, o *scalehist.Objects, provider *cloudprovider.Provider, backoff []scalehist.GroupBackoff) *scalehist.ClusterState {
	s := &scalehist.ClusterState{At: t, Objects: o}
	registered := map[string]bool{}
	for _, n := range s.Objects.Nodes {
		registered[n.Name] = true
	}
	for _, g := range provider.Groups() {
		group := scalehist.GroupState{NodeGroup: g, TemplatePods: provider.TemplatePods(g.Name)}
		for _, i := range provider.Instances(g.Name) {
			switch {
			case i.State == cloudprovider.InstanceDeleting:
				group.Deleting = append(group.Deleting, i.NodeName)
			case i.Error != nil:
				group.Failed = append(group.Failed, i.NodeName)
			case !registered[i.NodeName]:
				group.Upcoming = append(group.Upcoming, scalehist.UpcomingNode{Name: i.NodeName, RequestedAt: i.CreatedAt.UTC()})
			}
		}
		s.NodeGroups = append(s.NodeGroups, group)
	}
	for _, b := range backoff {
		if b.Until.After(t) {
			s.Backoff = append(s.Backoff, b)
		}
	}
	return s
}

// decided completes a state by the decision that was made about it. A group whose nodes could not be created is backed off in the
// loop that sees it, before anything else is decided.
func decided(s *scalehist.ClusterState, d scalehist.Decision) {
	s.Loop = d.Loop
	for _, b := range d.Backoff {
		for _, g := range s.NodeGroups {
			known := slices.ContainsFunc(s.Backoff, func(o scalehist.GroupBackoff) bool { return o.NodeGroup == b.NodeGroup })
			if g.Name == b.NodeGroup && len(g.Failed) > 0 && !known {
				s.Backoff = append(s.Backoff, b)
			}
		}
	}
}

// asksForRoom says whether a decision was about pods without a node.
func asksForRoom(d scalehist.Decision) bool {
	if d.Outcome == scalehist.ScaleUpInCooldown {
		return false // it waits for more pods
	}
	return len(d.UnschedulablePods) > 0 || d.FilteredSchedulable > 0 || len(d.ScaleUps) > 0 || len(d.Failed) > 0
}
