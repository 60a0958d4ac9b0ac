package recommender

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// backoff keeps a group from growing after it failed to.
type backoff struct {
	until, last time.Time
	length      time.Duration
	reason      string
}

func (b *backoff) active(now time.Time) bool { return b != nil && now.Before(b.until) }

// fail backs a group off, twice as long as the last time unless that is long ago. A failure within a backoff adds nothing.
func (l *loop) fail(group, reason string) {
	b := l.backoff[group]
	switch {
	case b == nil:
		b = &backoff{length: l.o.InitialBackoff}
		l.backoff[group] = b
	case b.active(l.now):
		return
	case b.last.Add(l.o.BackoffReset).Before(l.now):
		b.length = l.o.InitialBackoff
	default:
		b.length = min(2*b.length, l.o.MaxBackoff)
	}
	b.last, b.until, b.reason = l.now, l.now.Add(b.length), reason
	l.note("%s is backed off until %s: %s", group, b.until.UTC().Format(time.RFC3339), reason)
}

func (a *Autoscaler) backoffs(now time.Time) []scalehist.GroupBackoff {
	var out []scalehist.GroupBackoff
	for g, b := range a.backoff {
		if b.active(now) {
			out = append(out, scalehist.GroupBackoff{NodeGroup: g, Until: b.until, Reason: b.reason})
		}
	}
	slices.SortFunc(out, func(x, y scalehist.GroupBackoff) int { return strings.Compare(x.NodeGroup, y.NodeGroup) })
	return out
}

// removeFailed gives up on instances that could not be created, and on those that have not registered in time: they are
// deleted, and their group is backed off.
func (l *loop) removeFailed(ctx context.Context) {
	registered := map[string]bool{}
	for _, n := range l.cluster.Cluster().Nodes {
		registered[n.Name] = true
	}
	seen := map[string]bool{}
	for _, g := range l.provider.Groups() {
		size := g.TargetSize
		for _, i := range l.provider.Instances(g.Name) {
			var why string
			switch {
			case i.State == cloudprovider.InstanceDeleting || registered[i.NodeName]:
				continue
			case i.Error != nil:
				why = "could not be created: " + i.Error.Message
			case i.CreatedAt.Add(l.o.MaxNodeProvisionTime).Before(l.now):
				why = "has not registered within " + l.o.MaxNodeProvisionTime.String()
			default:
				continue
			}
			seen[i.ID] = true
			if !l.failed[i.ID] {
				l.failed[i.ID] = true
				l.fail(g.Name, "instance "+i.NodeName+" "+why)
			}
			if err := l.provider.DeleteNodes(ctx, l.now, g.Name, []string{i.NodeName}); err != nil {
				l.note("%s: instance %s %s; deleting it: %v", g.Name, i.NodeName, why, err)
				continue
			}
			l.d.ScaleDowns = append(l.d.ScaleDowns, scalehist.ScaleDown{NodeGroup: g.Name, Node: i.NodeName, From: size, To: size - 1, Reason: "instance " + why})
			size--
		}
	}
	for id := range l.failed {
		if !seen[id] {
			delete(l.failed, id)
		}
	}
}
