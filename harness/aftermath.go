package harness

import (
	"context"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/agreement"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// defaultMaxProvisionTime is upstream's --max-node-provision-time, for engines that do not state theirs.
const defaultMaxProvisionTime = 15 * time.Minute

// provisioner is an engine that says how long it waits for a node of a group.
type provisioner interface {
	MaxNodeProvisionTime(group string) time.Duration
}

// aftermath plays on after a moment was decided, without further decisions, until every node that was asked for has joined or
// failed and the scheduler has placed what it can: then it shows which pods the nodes helped. It ends at the latest when the
// autoscaler would give up on the nodes: their provision delay and its --max-node-provision-time after the decision.
func (r *run) aftermath(ctx context.Context) error {
	bound := r.now.Add(r.patience())
	for r.onTheWay() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at, ok := r.provider.Next()
		if c, has := r.cluster.Next(); has && (!ok || c.Before(at)) {
			at, ok = c, true
		}
		if !ok || at.After(bound) {
			r.now = bound // nothing more comes of the nodes that are left
			break
		}
		if at.After(r.now) {
			r.now = at
		}
		r.ledger.Begin(r.now)
		if _, err := r.settleNodes(ctx, r.now); err != nil {
			return err
		}
		r.ledger.Measure(r.plane.Objects())
		r.ledger.Commit(r.pending)
	}
	r.ledger.Finish(r.now, r.plane.Objects())
	return nil
}

// patience is how long the slowest of the nodes on their way may take.
func (r *run) patience() time.Duration {
	longest := time.Duration(0)
	for _, g := range r.provider.Groups() {
		if !r.creating(g.Name) {
			continue
		}
		wait := defaultMaxProvisionTime
		if p, ok := r.engine.(provisioner); ok {
			wait = p.MaxNodeProvisionTime(g.Name)
		}
		delay, _ := r.provisionDelay(g.Name)
		longest = max(longest, time.Duration(delay)+wait)
	}
	return longest
}

// onTheWay says whether nodes were asked for that have neither joined nor failed.
func (r *run) onTheWay() bool {
	for _, g := range r.provider.Groups() {
		if r.creating(g.Name) {
			return true
		}
	}
	return false
}

func (r *run) creating(group string) bool {
	for _, i := range r.provider.Instances(group) {
		if i.State == cloudprovider.InstanceCreating && i.Error == nil {
			return true
		}
	}
	return false
}

// helped completes an event by what came of it.
func (r *run) helped(e *scalehist.EventReplay) {
	until := r.now.UTC()
	e.Until, e.Unschedulable = &until, len(r.pending)
	for _, n := range r.ledger.ScaledNodes() {
		for _, p := range n.Pods {
			e.Placed = append(e.Placed, scalehist.Placement{Pod: p, Node: n.Name})
		}
	}
	for _, g := range r.provider.Groups() {
		for _, i := range r.provider.Instances(g.Name) {
			if i.State == cloudprovider.InstanceCreating {
				e.NotJoined = append(e.NotJoined, i.NodeName)
			}
		}
	}
}

// eventReport is the report of one event by itself: what it is judged by are the growths of the event, from source.
func (r *run) eventReport(e scalehist.EventReplay, playback scalehist.Playback, source string) *scalehist.ReplayReport {
	out := r.report(r.now, playback)
	out.Events = []scalehist.EventReplay{e}
	out.Agreement = agreement.OfEvents(out.Events)
	out.Recorded = &scalehist.RecordedTruth{Source: source, ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{},
		FinalSizes: map[string]int{}, Steps: nonNil(e.Recorded)}
	grown := agreement.Net(e.Recorded)
	for i := range out.NodeGroups {
		g := &out.NodeGroups[i]
		up, down, final := grown[g.Name], 0, g.Initial+grown[g.Name]
		g.RecordedScaledUp, g.RecordedScaledDown, g.RecordedFinal = &up, &down, &final
		out.Recorded.FinalSizes[g.Name] = final
		if up > 0 {
			out.Recorded.ScaledUpNodeGroups[g.Name] = up
		}
	}
	return out
}
