package harness

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// unreachable are the taints the node lifecycle puts on a node whose kubelet is silent.
var unreachable = []corev1.Taint{
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
}

// nodeFaults runs the node faults of a replay.
type nodeFaults struct {
	run *run
	due []nodeFaultEvent
}

// nodeFaultEvent is something that happens to nodes at an instant.
type nodeFaultEvent struct {
	at time.Time
	do func(ctx context.Context, at time.Time) error
}

func newNodeFaults(r *run) *nodeFaults {
	f := &nodeFaults{run: r}
	for _, fault := range r.in.NodeFaults {
		f.add(fault.From, func(ctx context.Context, at time.Time) error { return f.begin(ctx, at, fault) })
	}
	return f
}

// add keeps events in the order of time, those of one instant in the order they were added.
func (f *nodeFaults) add(at time.Time, do func(context.Context, time.Time) error) {
	f.due = append(f.due, nodeFaultEvent{at, do})
	slices.SortStableFunc(f.due, func(a, b nodeFaultEvent) int { return a.at.Compare(b.at) })
}

func (f *nodeFaults) next() (time.Time, bool) {
	if len(f.due) == 0 {
		return time.Time{}, false
	}
	return f.due[0].at, true
}

// happen lets everything happen that is due by t.
func (f *nodeFaults) happen(ctx context.Context, t time.Time) error {
	for len(f.due) > 0 && !f.due[0].at.After(t) {
		e := f.due[0]
		f.due = f.due[1:]
		if err := e.do(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (f *nodeFaults) begin(ctx context.Context, t time.Time, fault trace.NodeFault) error {
	nodes := f.hit(fault)
	if want := max(1, fault.Count); len(nodes) < want {
		target := "node " + fault.Node
		if fault.Node == "" {
			target = "node group " + fault.NodeGroup
		}
		f.run.ledger.Warn(fmt.Sprintf("fault %s at %s: %s has %d of the %d nodes it should hit", fault.Kind, moment.Stamp(t), target, len(nodes), want))
	}
	for _, n := range nodes {
		var err error
		if fault.Kind == trace.FaultSpotReclaim {
			err = f.reclaim(ctx, t, n)
		} else {
			err = f.lose(ctx, t, n, fault.To)
		}
		if err != nil {
			return fmt.Errorf("fault %s of node %s: %w", fault.Kind, n.Name, err)
		}
	}
	return nil
}

// hit are the nodes a fault takes: of a group the oldest first, ties by name. Those that are down already are reclaimed
// before the others, and do not fail again.
func (f *nodeFaults) hit(fault trace.NodeFault) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range f.run.plane.Objects().Nodes {
		group, _ := f.run.provider.GroupForNode(n)
		up, _ := nodetemplate.Ready(n)
		if n.Name == fault.Node || fault.Node == "" && group == fault.NodeGroup && (up || fault.Kind == trace.FaultSpotReclaim) {
			out = append(out, n)
		}
	}
	isUp := func(n *corev1.Node) int {
		if up, _ := nodetemplate.Ready(n); up {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b *corev1.Node) int {
		return cmp.Or(isUp(a)-isUp(b), a.CreationTimestamp.Time.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), max(1, fault.Count))]
}

// reclaim takes a node away with its pods. Its group is one instance short of its target size and asks for another.
func (f *nodeFaults) reclaim(ctx context.Context, t time.Time, n *corev1.Node) error {
	change := scalehist.Change{At: t, Op: scalehist.OpDelete, Object: namedNode(n.Name)}
	if err := f.run.cluster.Apply(ctx, []scalehist.Change{change}); err != nil {
		return err
	}
	f.run.ledger.FedNode(change, n)
	if _, grouped := f.run.provider.GroupForNode(n); grouped {
		f.run.provider.Forget(n.Name)
		f.run.provider.Fill(t)
	}
	return nil
}

// lose makes a node NotReady until an instant. The virtual cluster takes its pods off when they tolerate it no longer.
func (f *nodeFaults) lose(ctx context.Context, t time.Time, n *corev1.Node, until time.Time) error {
	uid := n.UID
	if err := f.setReady(ctx, t, n, corev1.ConditionUnknown); err != nil {
		return err
	}
	taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), isUnreachable)
	if err := f.run.cluster.SetTaints(ctx, n.Name, append(taints, unreachable...)); err != nil {
		return err
	}
	if until.IsZero() {
		return nil
	}
	f.add(until, func(ctx context.Context, at time.Time) error {
		return f.recover(ctx, at, n.Name, uid)
	})
	return nil
}

// recover makes a node Ready again, if it is still there.
func (f *nodeFaults) recover(ctx context.Context, t time.Time, name string, uid types.UID) error {
	i := slices.IndexFunc(f.run.plane.Objects().Nodes, func(n *corev1.Node) bool { return n.Name == name && n.UID == uid })
	if i < 0 {
		return nil
	}
	n := f.run.plane.Objects().Nodes[i]
	if err := f.run.cluster.SetTaints(ctx, name, slices.DeleteFunc(slices.Clone(n.Spec.Taints), isUnreachable)); err != nil {
		return err
	}
	i = slices.IndexFunc(f.run.plane.Objects().Nodes, func(n *corev1.Node) bool { return n.Name == name })
	return f.setReady(ctx, t, f.run.plane.Objects().Nodes[i], corev1.ConditionTrue)
}

func (f *nodeFaults) setReady(ctx context.Context, t time.Time, n *corev1.Node, status corev1.ConditionStatus) error {
	next := n.DeepCopy()
	reason, message := "KubeletReady", ""
	if status != corev1.ConditionTrue {
		reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	next.Status.Conditions = append(slices.DeleteFunc(next.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }),
		corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(t), LastTransitionTime: metav1.NewTime(t)})
	return f.run.cluster.Apply(ctx, []scalehist.Change{{At: t, Op: scalehist.OpUpdate, Object: next}})
}

func isUnreachable(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable }
