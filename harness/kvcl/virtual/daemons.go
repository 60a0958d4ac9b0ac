package virtual

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	"github.com/scalehist/scalehist"
)

const daemonSetKind = "DaemonSet"

func daemonSetRef(ds *appsv1.DaemonSet) scalehist.WorkloadRef {
	return scalehist.WorkloadRef{APIVersion: "apps/v1", Kind: daemonSetKind, Namespace: ds.Namespace, Name: ds.Name}
}

// find is the workload with a reference; nil if there is none. A DaemonSet has no replicas that anybody could set, so that it is a workload only once
// somebody asks for it, whose pods have load or other requests.
func (c *Cluster) find(ref scalehist.WorkloadRef) *workload {
	if w := c.workloads.find(ref); w != nil || ref.Kind != daemonSetKind {
		return w
	}
	i := slices.IndexFunc(c.daemonSets, func(ds *appsv1.DaemonSet) bool { return daemonSetRef(ds).Key() == ref.Key() })
	if i < 0 {
		c.workloads.awaited[ref.Key()] = true
		return nil
	}
	return c.fileDaemonSet(c.daemonSets[i])
}

// fileDaemonSet makes a DaemonSet a workload, with the pods that it has.
func (c *Cluster) fileDaemonSet(ds *appsv1.DaemonSet) *workload {
	w := c.workloads.get(daemonSetRef(ds))
	w.selector = nil
	if s, err := metav1.LabelSelectorAsSelector(ds.Spec.Selector); err == nil && ds.Spec.Selector != nil {
		w.selector = s
	}
	c.adopt(w)
	c.workloads.touch(w)
	return w
}

func (c *Cluster) admitDaemonSet(ch scalehist.Change, ds *appsv1.DaemonSet) (out []scalehist.Change) {
	if ref := daemonSetRef(ds); ch.Op != scalehist.OpDelete && (c.workloads.awaited[ref.Key()] || c.workloads.find(ref) != nil) {
		c.fileDaemonSet(ds)
	}
	same := func(o *appsv1.DaemonSet) bool { return o.Namespace == ds.Namespace && o.Name == ds.Name }
	switch i := slices.IndexFunc(c.daemonSets, same); {
	case ch.Op == scalehist.OpDelete:
		c.daemonSets = slices.DeleteFunc(c.daemonSets, same)
		return append(c.daemonPodsOf(ch.At, ds), ch)
	case i >= 0:
		old := c.daemonSets[i]
		c.daemonSets[i] = ds
		if !equality.Semantic.DeepEqual(old.Spec.Template, ds.Spec.Template) && ds.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
			out = c.daemonPodsOf(ch.At, ds) // rolled at once: how fast is not modelled
		}
	default:
		c.daemonSets = append(c.daemonSets, ds)
	}
	for _, n := range c.plane.Objects().Nodes {
		if c.nodes[n.Name] != nil {
			c.daemonsDirty = append(c.daemonsDirty, n.Name)
		}
	}
	return append(out, ch)
}

// daemonPodsOf deletes the pods of a DaemonSet that is gone.
func (c *Cluster) daemonPodsOf(at time.Time, ds *appsv1.DaemonSet) []scalehist.Change {
	var out []scalehist.Change
	for _, key := range podsWhere(c.pods, func(p *corev1.Pod) bool { return ownedBy(p, ds) }) {
		out = append(out, scalehist.Change{At: at, Op: scalehist.OpDelete, Object: c.pods[key].object})
		c.drop(key)
	}
	c.budgetsDirty = c.budgetsDirty || len(out) > 0
	return out
}

// reconcileDaemons gives the nodes that came or changed their DaemonSet pods, by the DaemonSet controller's own
// predicate, bound to the node directly. A pod that is there (recorded with the node) is left alone.
func (c *Cluster) reconcileDaemons(now time.Time) []scalehist.Change {
	if len(c.daemonsDirty) == 0 {
		return nil
	}
	var out []scalehist.Change
	for _, name := range c.daemonsDirty {
		node := c.nodes[name]
		if node == nil {
			continue
		}
		for _, ds := range c.daemonSets {
			there := c.daemonPods[daemonID(ds.Namespace, ds.Name, name)]
			run, stay := daemon.NodeShouldRunDaemonPod(klog.Background(), node, ds)
			switch {
			case len(there) > 0 && !stay:
				key := there[len(there)-1]
				out = append(out, scalehist.Change{At: now, Op: scalehist.OpDelete, Object: c.pods[key].object})
				c.drop(key)
			case len(there) == 0 && run && !c.nameTaken(types.NamespacedName{Namespace: ds.Namespace, Name: daemonPodName(ds, name)}):
				out = append(out, scalehist.Change{At: now, Op: scalehist.OpAdd, Object: c.daemonPod(ds, name, now)})
			}
		}
	}
	c.daemonsDirty = nil
	c.budgetsDirty = c.budgetsDirty || len(out) > 0
	return out
}

func (c *Cluster) daemonPod(ds *appsv1.DaemonSet, node string, now time.Time) *corev1.Pod {
	p := daemon.NewPod(ds, node)
	p.Name = daemonPodName(ds, node)
	p.Namespace = ds.Namespace
	p.CreationTimestamp = metav1.NewTime(now)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind(daemonSetKind))}
	return c.born(types.NamespacedName{Namespace: p.Namespace, Name: p.Name}, p, now)
}

func daemonPodName(ds *appsv1.DaemonSet, node string) string { return ds.Name + "-" + node }

func ownedBy(p *corev1.Pod, ds *appsv1.DaemonSet) bool {
	o := metav1.GetControllerOfNoCopy(p)
	return o != nil && o.Kind == daemonSetKind && o.Name == ds.Name && p.Namespace == ds.Namespace
}
