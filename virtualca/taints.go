package virtualca

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// markToBeDeleted taints a node and, by --cordon-node-before-terminating, closes it.
func (l *loop) markToBeDeleted(ctx context.Context, name string) error {
	n := nodeNamed(l.a.cluster.Objects(), name)
	if n == nil {
		return fmt.Errorf("node %s is gone", name)
	}
	if !scalehist.HasTaint(n, toBeDeletedTaint) {
		if err := l.a.cluster.SetTaints(ctx, name, append(slices.Clone(n.Spec.Taints), nodetemplate.DeletionTaint(l.now))); err != nil {
			return fmt.Errorf("taint node %s: %w", name, err)
		}
	}
	if l.a.settings.Down.Cordon && !n.Spec.Unschedulable {
		if err := l.a.cluster.Cordon(ctx, name, true); err != nil {
			return fmt.Errorf("cordon node %s: %w", name, err)
		}
	}
	return nil
}

// release takes the deletion taint off a node that stays and opens it again. What fails is noted: the next autoscaler
// cleans up.
func (l *loop) release(ctx context.Context, name string) {
	n := nodeNamed(l.a.cluster.Objects(), name)
	if n == nil || !scalehist.HasTaint(n, toBeDeletedTaint) {
		return
	}
	if err := l.a.cluster.SetTaints(ctx, name, nodetemplate.WithoutTaint(n.Spec.Taints, toBeDeletedTaint)); err != nil {
		l.note("node %s keeps its deletion taint: %v", name, err)
		return
	}
	if l.a.settings.Down.Cordon && n.Spec.Unschedulable {
		if err := l.a.cluster.Cordon(ctx, name, false); err != nil {
			l.note("node %s stays closed: %v", name, err)
		}
	}
}

// updateSoftTaints marks unneeded nodes as candidates and needed ones as none, in creation order, the needed ones
// first: at most --max-bulk-soft-taint-count changes a loop, the rest in later ones. Nodes being removed are left alone.
func (l *loop) updateSoftTaints(ctx context.Context) {
	left := l.a.settings.Down.SoftTaints
	if left == 0 {
		return
	}
	for _, unneeded := range []bool{false, true} {
		for _, n := range l.objects.Nodes {
			if _, grouped := l.groupOf[n.Name]; !grouped || scalehist.HasTaint(n, toBeDeletedTaint) || l.a.down.deletions.of(n.Name) != nil {
				continue
			}
			if is := l.a.down.unneeded[n.Name] != nil; is != unneeded || is == scalehist.HasTaint(n, deletionCandidateTaint) {
				continue
			}
			if left--; left < 0 {
				return
			}
			taints := nodetemplate.WithoutTaint(n.Spec.Taints, deletionCandidateTaint)
			if unneeded {
				taints = append(taints, corev1.Taint{Key: deletionCandidateTaint, Value: strconv.FormatInt(l.now.Unix(), 10), Effect: corev1.TaintEffectPreferNoSchedule})
			}
			if err := l.a.cluster.SetTaints(ctx, n.Name, taints); err != nil {
				l.note("node %s: candidate taint: %v", n.Name, err)
			}
		}
	}
}
