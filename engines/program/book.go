package program

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
)

// book keeps what an autoscaler did, as decisions. But for loop it is used on the replay's turns only.
//
// A loop is whole when the next one begins. Its events are written a moment later, into the log of the next, so a decision is handed over
// one loop later still.
type book struct {
	to    harness.Attachment
	speed float64
	log   *logReader
	clock clock.PassiveClock // the autoscaler's

	loops   atomic.Int64
	now     *entry // the loop that goes on
	last    *entry // the one before, which may still get events
	backoff []scalehist.GroupBackoff
	began   map[string]scalehist.NodeDeletion // by node, until it is deleted
	fresh   bool                              // no loop since the program was started
}

// entry is a loop, and what was done after it and before the next.
type entry struct {
	decision scalehist.Decision
	worked   []scalehist.Decision
	wall     time.Time
}

func newBook(to harness.Attachment, speed float64, log *logReader) *book {
	return &book{to: to, speed: max(1, speed), log: log, clock: clock.RealClock{}, began: map[string]scalehist.NodeDeletion{}}
}

// loop is the number of the loop that goes on, 0 before the first.
func (b *book) loop() int { return int(b.loops.Load()) }

// restarted: the next lines are of a new process, which knows nothing of the old one's plans.
func (b *book) restarted() {
	b.fresh, b.backoff = true, nil
	clear(b.began)
}

// looped is the beginning of a loop.
func (b *book) looped(now time.Time) error {
	if err := b.end(false); err != nil {
		return err
	}
	b.fresh = false
	b.now = &entry{decision: scalehist.Decision{At: now.UTC(), Loop: int(b.loops.Add(1)), Outcome: scalehist.ScaleUpNotTried}, wall: b.clock.Now()}
	return nil
}

// asked notes a call that asks for a change.
func (b *book) asked(a nodegroups.Asked) {
	if b.now == nil {
		return // before the first loop nothing is decided
	}
	d := &b.now.decision
	switch {
	case a.What == nodegroups.Increase && a.Err != nil:
		d.Failed = append(d.Failed, scalehist.FailedScaleUp{NodeGroup: a.Group, Delta: a.Delta, Reason: a.Err.Error()})
	case a.What == nodegroups.Increase:
		d.ScaleUps = append(d.ScaleUps, scalehist.ScaleUp{NodeGroup: a.Group, From: a.From, To: a.To, Max: a.Max})
	case a.What == nodegroups.Decrease && a.Err == nil:
		d.ScaleDowns = append(d.ScaleDowns, scalehist.ScaleDown{NodeGroup: a.Group, From: a.From, To: a.To, Reason: "target size ahead of the nodes"})
	case a.Err != nil:
		d.Notes = append(d.Notes, fmt.Sprintf("%s of %s was refused: %v", a.What, a.Group, a.Err))
	default:
		b.now.worked = append(b.now.worked, b.deleted(a))
	}
}

// deleted is what was done after a loop: nodes were deleted.
func (b *book) deleted(a nodegroups.Asked) scalehist.Decision {
	d := scalehist.Decision{At: a.At.UTC(), Loop: b.loop(), Outcome: scalehist.ScaleUpNotTried}
	from := a.From
	for _, node := range a.Nodes {
		reason := "it never became a node"
		if n, ok := b.began[node]; ok && len(n.Pods) > 0 {
			reason = "unneeded and drained"
		} else if ok {
			reason = "unneeded and empty"
		} else if b.beganNow(node) {
			reason = "unneeded"
		}
		delete(b.began, node)
		d.ScaleDowns = append(d.ScaleDowns, scalehist.ScaleDown{NodeGroup: a.Group, Node: node, From: from, To: max(a.To, from-1), Reason: reason})
		from = max(a.To, from-1)
	}
	return d
}

// beganNow says whether the removal of a node began in the loop that goes on, whose log is not read yet.
func (b *book) beganNow(node string) bool {
	if b.log.read() != nil {
		return false // the end of the loop has the error
	}
	return slices.ContainsFunc(b.log.held, func(line string) bool {
		return strings.HasPrefix(line, "Scale-down: removing ") && strings.Contains(line, node)
	})
}

// end closes the loop that goes on, and hands over the one before it.
func (b *book) end(all bool) error {
	lines, err := b.log.block(all)
	if err != nil || b.now == nil {
		return err
	}
	b.backoff = slices.DeleteFunc(b.backoff, func(g scalehist.GroupBackoff) bool { return !g.Until.After(b.now.decision.At) })
	r := reading{d: &b.now.decision, groupOf: b.groupOf, wall: b.now.wall, speed: b.speed}
	r.read(lines)
	for _, g := range r.backoff {
		b.backoff = append(slices.DeleteFunc(b.backoff, func(o scalehist.GroupBackoff) bool { return o.NodeGroup == g.NodeGroup }), g)
	}
	b.now.decision.Backoff = slices.Clone(b.backoff)
	for _, x := range b.now.decision.Deleting {
		b.began[x.Node] = x
	}
	if b.last != nil {
		moveLate(&b.last.decision, &b.now.decision)
		if err := b.hand(b.last); err != nil {
			return err
		}
	}
	b.last, b.now = b.now, nil
	return nil
}

// moveLate gives a scale-up the events about it that were written after the next loop had begun.
func moveLate(to, from *scalehist.Decision) {
	if len(to.ScaleUps) == 0 {
		return
	}
	plan := make([]string, 0, len(to.ScaleUps))
	for _, s := range to.ScaleUps {
		plan = append(plan, s.String())
	}
	from.Events = slices.DeleteFunc(from.Events, func(e scalehist.Event) bool {
		late := e.Reason == "TriggeredScaleUp" && slices.ContainsFunc(plan, func(p string) bool { return strings.Contains(e.Message, p) })
		if late {
			to.Events = append(to.Events, e)
		}
		return late
	})
	triggered(to)
}

func (b *book) hand(e *entry) error {
	if err := b.to.Decided(e.decision); err != nil {
		return err
	}
	for _, d := range e.worked {
		if err := b.to.Worked(d); err != nil {
			return err
		}
	}
	return nil
}

// finish hands over everything: the program has ended.
func (b *book) finish() error {
	if err := b.end(true); err != nil || b.last == nil {
		return err
	}
	last := b.last
	b.last = nil
	return b.hand(last)
}

// groupOf is the group of a node that is there, or on its way.
func (b *book) groupOf(node string) string {
	for _, g := range b.to.Provider.Groups() {
		for _, i := range b.to.Provider.Instances(g.Name) {
			if i.NodeName == node || i.ID == node {
				return g.Name
			}
		}
	}
	return ""
}
