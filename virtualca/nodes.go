package virtualca

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
	"github.com/scalehist/scalehist/virtualca/config"
)

// Taints upstream knows (cluster-autoscaler, utils/taints).
const (
	toBeDeletedTaint       = scalehist.ToBeDeletedTaint
	deletionCandidateTaint = scalehist.DeletionCandidateTaint
	gpuResource            = config.GPUResource
)

// ready says whether a node counts as ready, and since when its state is what it is.
func ready(n *corev1.Node) (bool, time.Time) { return nodetemplate.Ready(n) }

// listNodes fills the loop's node lists: all nodes, and the ready and schedulable ones. A node with a GPU label and no
// GPU yet, or with a startup taint, is seen as not ready whatever its condition says.
func (l *loop) listNodes() {
	label := l.a.provider.GPULabel()
	copies := map[*corev1.Node]*corev1.Node{}
	for _, n := range l.objects.Nodes {
		unready := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return l.a.settings.StartupTaint(t.Key) })
		if !unready && label != "" {
			if _, gpu := n.Labels[label]; gpu {
				q := n.Status.Allocatable[gpuResource]
				if unready = q.IsZero(); unready {
					group, _ := l.a.provider.GroupForNode(n)
					l.resourceUnready[group]++
				}
			}
		}
		if unready {
			c, ok := l.a.unready[n]
			if !ok {
				c = unreadyCopy(n)
			}
			copies[n] = c
			l.nodes = append(l.nodes, c)
			continue
		}
		l.nodes = append(l.nodes, n)
		if ok, _ := ready(n); ok && !n.Spec.Unschedulable {
			l.readyNodes++
		}
	}
	l.a.unready = copies
}

// unreadyCopy is the node with its Ready condition turned to False.
func unreadyCopy(n *corev1.Node) *corev1.Node {
	c := n.DeepCopy()
	for i := range c.Status.Conditions {
		if c.Status.Conditions[i].Type == corev1.NodeReady {
			c.Status.Conditions[i].Status = corev1.ConditionFalse
			return c
		}
	}
	c.Status.Conditions = append(c.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Time{Time: n.CreationTimestamp.Time},
	})
	return c
}
