package history_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// model is the live state a log describes, kept the plain way: the last object of every name.
type model struct{ live map[string]scalehist.Object }

func newModel() *model { return &model{live: map[string]scalehist.Object{}} }

func (m *model) apply(op scalehist.Op, o scalehist.Object) {
	k := fmt.Sprintf("%T/%s/%s", o, o.GetNamespace(), o.GetName())
	if op == scalehist.OpDelete {
		delete(m.live, k)
		return
	}
	m.live[k] = o
}

// facts are what scaling depends on of each living object, as text.
func (m *model) facts() []string {
	var out []string
	for _, o := range m.live {
		out = append(out, fact(o))
	}
	slices.Sort(out)
	return out
}

func fact(o scalehist.Object) string {
	id := fmt.Sprintf("%T %s/%s uid=%s labels=%v", o, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetLabels())
	if o.GetUID() == "" {
		id = fmt.Sprintf("%T %s/%s labels=%v", o, o.GetNamespace(), o.GetName(), o.GetLabels())
	}
	switch o := o.(type) {
	case *corev1.Pod:
		id += fmt.Sprintf(" node=%q phase=%s nominated=%q start=%v created=%v tolerations=%s affinity=%s owners=%d", o.Spec.NodeName, o.Status.Phase, o.Status.NominatedNodeName,
			seconds(o.Status.StartTime), seconds(&o.CreationTimestamp), asJSON(o.Spec.Tolerations), asJSON(o.Spec.Affinity), len(o.OwnerReferences))
		for _, c := range o.Spec.Containers {
			id += fmt.Sprintf(" %s:cpu=%s,memory=%s", c.Name, c.Resources.Requests.Cpu(), c.Resources.Requests.Memory())
		}
		for _, c := range o.Status.Conditions {
			id += fmt.Sprintf(" %s=%s(%s)@%d", c.Type, c.Status, c.Reason, c.LastTransitionTime.Unix())
			if c.Type == corev1.PodScheduled {
				id += c.Message
			}
		}
	case *corev1.Node:
		id += fmt.Sprintf(" provider=%s unschedulable=%v taints=%s cpu=%s memory=%s", o.Spec.ProviderID, o.Spec.Unschedulable, asJSON(o.Spec.Taints),
			o.Status.Allocatable.Cpu(), o.Status.Allocatable.Memory())
		for _, c := range o.Status.Conditions {
			id += fmt.Sprintf(" %s=%s(%s)@%d", c.Type, c.Status, c.Reason, c.LastTransitionTime.Unix())
		}
	case *v1alpha1.NodeGroup:
		id += fmt.Sprintf(" %d..%d target=%d zone=%s machine=%s", o.Spec.MinSize, o.Spec.MaxSize, o.Spec.TargetSize, o.Spec.Zone, o.Spec.MachineType)
	}
	return id
}

// factsOf are the facts of a snapshot. Synthetic UIDs are left out as the log leaves them out.
func factsOf(s *scalehist.ClusterSnapshot) []string {
	m := newModel()
	for _, o := range everything(s) {
		m.apply(scalehist.OpAdd, o)
	}
	return m.facts()
}

// everything lists the objects of a snapshot, synthetic UIDs left out.
func everything(s *scalehist.ClusterSnapshot) []scalehist.Object {
	var out []scalehist.Object
	o := s.Objects
	add := func(o scalehist.Object) { out = append(out, withoutSynthetic(o)) }
	each(add, o.Namespaces)
	each(add, o.Nodes)
	each(add, o.Pods)
	each(add, o.PriorityClasses)
	each(add, o.DaemonSets)
	each(add, o.Deployments)
	each(add, o.ReplicaSets)
	each(add, o.StatefulSets)
	each(add, o.Jobs)
	each(add, o.PodDisruptionBudgets)
	each(add, o.ConfigMaps)
	for _, g := range s.NodeGroups {
		ng := &v1alpha1.NodeGroup{Spec: v1alpha1.NodeGroupSpec{MinSize: int32(g.MinSize), MaxSize: int32(g.MaxSize), TargetSize: int32(g.TargetSize),
			Zone: g.Zone, MachineType: g.MachineType}}
		ng.Name = g.Name
		add(ng)
	}
	return out
}

func withoutSynthetic(o scalehist.Object) scalehist.Object {
	if strings.Contains(string(o.GetUID()), "#") {
		o = o.DeepCopyObject().(scalehist.Object)
		o.SetUID("")
	}
	return o
}

func each[T scalehist.Object](f func(scalehist.Object), list []T) {
	for _, o := range list {
		f(o)
	}
}

func seconds(t *metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
