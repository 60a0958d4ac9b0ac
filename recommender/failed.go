package recommender

import (
	"context"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// fail backs a group off. A failure within a backoff adds nothing.
func (l *loop) fail(group, reason string) {
	if l.backoff.Active(group, l.now) {
		return
	}
	l.backoff.Forget(l.now)
	until := l.backoff.Fail(group, "", reason, l.now)
	l.note("%s is backed off until %s: %s", group, until.UTC().Format(time.RFC3339), reason)
}

// removeFailed gives up on instances that could not be created, and on those that have not registered in time: they are
// deleted, and their group is backed off.
func (l *loop) removeFailed(ctx context.Context) {
	registered := map[string]bool{}
	for _, n := range l.cluster.Objects().Nodes {
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
