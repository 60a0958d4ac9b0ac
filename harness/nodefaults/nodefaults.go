package nodefaults

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
	"github.com/scalehist/scalehist/harness/ledger"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
)

// unreachable are the taints the node lifecycle puts on a node whose kubelet is silent.
var unreachable = []corev1.Taint{
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
}

// Cluster is where nodes fail.
type Cluster interface {
	Objects() *scalehist.Objects
	Apply(ctx context.Context, changes []scalehist.Change) error
	SetTaints(ctx context.Context, node string, taints []corev1.Taint) error
}

// Faults are those of a replay that are to come, and the ends of those that have begun.
type Faults struct {
	cluster  Cluster
	provider *cloudprovider.Provider
	ledger   *ledger.Ledger
	due      []event
}

// event is something that happens to nodes at an instant.
type event struct {
	at time.Time
	do func(ctx context.Context, at time.Time) error
}

// New has all faults to come. What they do to nodes of groups the provider hears; the ledger notes nodes that are taken away.
func New(faults []trace.NodeFault, c Cluster, p *cloudprovider.Provider, l *ledger.Ledger) *Faults {
	f := &Faults{cluster: c, provider: p, ledger: l}
	for _, fault := range faults {
		f.add(fault.From, func(ctx context.Context, at time.Time) error { return f.begin(ctx, at, fault) })
	}
	return f
}

// add keeps events in the order of time, those of one instant in the order they were added.
func (f *Faults) add(at time.Time, do func(context.Context, time.Time) error) {
	f.due = append(f.due, event{at, do})
	slices.SortStableFunc(f.due, func(a, b event) int { return a.at.Compare(b.at) })
}

// Next is the instant of the next thing that happens; false where nothing is to come.
func (f *Faults) Next() (time.Time, bool) {
	if len(f.due) == 0 {
		return time.Time{}, false
	}
	return f.due[0].at, true
}

// Happen lets everything happen that is due by t.
func (f *Faults) Happen(ctx context.Context, t time.Time) error {
	for len(f.due) > 0 && !f.due[0].at.After(t) {
		e := f.due[0]
		f.due = f.due[1:]
		if err := e.do(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (f *Faults) begin(ctx context.Context, t time.Time, fault trace.NodeFault) error {
	nodes := f.hit(fault)
	if want := max(1, fault.Count); len(nodes) < want {
		target := "node " + fault.Node
		if fault.Node == "" {
			target = "node group " + fault.NodeGroup
		}
		f.ledger.Warn(fmt.Sprintf("fault %s at %s: %s has %d of the %d nodes it should hit", fault.Kind, moment.Stamp(t), target, len(nodes), want))
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
func (f *Faults) hit(fault trace.NodeFault) []*corev1.Node {
	var out []*corev1.Node
	for _, n := range f.cluster.Objects().Nodes {
		group, _ := f.provider.GroupForNode(n)
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
func (f *Faults) reclaim(ctx context.Context, t time.Time, n *corev1.Node) error {
	change := scalehist.Change{At: t, Op: scalehist.OpDelete, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name}}}
	if err := f.cluster.Apply(ctx, []scalehist.Change{change}); err != nil {
		return err
	}
	f.ledger.FedNode(change, n)
	if _, grouped := f.provider.GroupForNode(n); grouped {
		f.provider.Forget(n.Name)
		f.provider.Fill(t)
	}
	return nil
}

// lose makes a node NotReady until an instant. The virtual cluster takes its pods off when they tolerate it no longer.
func (f *Faults) lose(ctx context.Context, t time.Time, n *corev1.Node, until time.Time) error {
	uid := n.UID
	if err := f.setReady(ctx, t, n, corev1.ConditionUnknown); err != nil {
		return err
	}
	taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), isUnreachable)
	if err := f.cluster.SetTaints(ctx, n.Name, append(taints, unreachable...)); err != nil {
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
func (f *Faults) recover(ctx context.Context, t time.Time, name string, uid types.UID) error {
	i := slices.IndexFunc(f.cluster.Objects().Nodes, func(n *corev1.Node) bool { return n.Name == name && n.UID == uid })
	if i < 0 {
		return nil
	}
	n := f.cluster.Objects().Nodes[i]
	if err := f.cluster.SetTaints(ctx, name, slices.DeleteFunc(slices.Clone(n.Spec.Taints), isUnreachable)); err != nil {
		return err
	}
	i = slices.IndexFunc(f.cluster.Objects().Nodes, func(n *corev1.Node) bool { return n.Name == name })
	return f.setReady(ctx, t, f.cluster.Objects().Nodes[i], corev1.ConditionTrue)
}

func (f *Faults) setReady(ctx context.Context, t time.Time, n *corev1.Node, status corev1.ConditionStatus) error {
	next := n.DeepCopy()
	reason, message := "KubeletReady", ""
	if status != corev1.ConditionTrue {
		reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	next.Status.Conditions = append(slices.DeleteFunc(next.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady }),
		corev1.NodeCondition{Type: corev1.NodeReady, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: metav1.NewTime(t), LastTransitionTime: metav1.NewTime(t)})
	return f.cluster.Apply(ctx, []scalehist.Change{{At: t, Op: scalehist.OpUpdate, Object: next}})
}

func isUnreachable(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable }
