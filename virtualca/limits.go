package virtualca

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/virtualca/quota"
)

// counted is the cluster as limits on cores, memory and devices count it.
func (l *loop) counted() quota.Cluster {
	return quota.Cluster{Settings: &l.a.settings, Provider: l.a.provider, Snapshot: l.a.checker.Snapshot(), Template: func(group string) *corev1.Node {
		if t := l.template(group); t != nil {
			return t.node
		}
		return nil
	}}
}

func (l *loop) newFloor() *quota.Floor {
	return quota.NewFloor(l.counted(), l.groupOf, func(n *corev1.Node) bool {
		return scalehist.HasTaint(n, toBeDeletedTaint) || l.a.down.deletions.of(n.Name) != nil
	})
}
