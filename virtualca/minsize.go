package virtualca

import (
	"context"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/virtualca/quota"
)

// enforceMinSizes grows every group below its min size up to it, where it is ready and within quota
// (orchestrator.ScaleUpToNodeGroupMinSize).
func (l *loop) enforceMinSizes(ctx context.Context) {
	q := quota.New(l.counted())
	var plan []scalehist.ScaleUp
	for _, g := range l.groups {
		g = l.group[g.Name]
		if g.TargetSize >= g.MinSize || !l.a.state.healthy(g.Name) || l.a.state.backoff.Active(g.Name, l.now) || l.template(g.Name) == nil {
			continue
		}
		want := g.MinSize - g.TargetSize
		// Upstream holds the group's own target against --max-nodes-total here, not the cluster's size.
		if total := l.a.settings.MaxNodesTotal; total > 0 && want+g.TargetSize > total {
			l.note("%s is below its min size; max-nodes-total %d leaves %d of %s", g.Name, total, max(0, total-g.TargetSize), plural.Of(want, "node"))
			want = total - g.TargetSize
		}
		if allowed, exceeded := q.Allowed(g.Name, want); want > 0 && allowed < want {
			l.note("%s is below its min size: cut from %d to %s: %s", g.Name, want, plural.Of(allowed, "node"), quota.Reason(exceeded))
			want = allowed
		}
		if want <= 0 {
			continue
		}
		q.Take(g.Name, want)
		plan = append(plan, scalehist.ScaleUp{NodeGroup: g.Name, From: g.TargetSize, To: g.TargetSize + want, Max: g.MaxSize})
	}
	if len(plan) == 0 {
		return
	}
	if l.execute(ctx, plan) {
		l.d.Outcome = scalehist.ScaleUpSuccessful
		l.a.lastScaleUp = l.now
		return
	}
	l.d.Outcome = scalehist.ScaleUpError
}
