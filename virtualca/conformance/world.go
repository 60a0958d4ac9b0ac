package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// age is how long everything has existed at the start of a case.
const age = time.Hour

// world is the cluster of a case: no scheduler, no kubelets. It is a scalehist.Cluster.
type world struct {
	objects  scalehist.Objects
	provider *cloudprovider.Provider
	// warnings are what of the flags is not modelled.
	warnings []string
}

// Objects implements scalehist.Cluster.
func (w *world) Objects() *scalehist.Objects { return &w.objects }

// Evict implements scalehist.Cluster: evicted pods vanish.
func (w *world) Evict(_ context.Context, namespace, name string) error {
	for i, p := range w.objects.Pods {
		if p.Namespace == namespace && p.Name == name {
			w.objects.Pods = slices.Delete(slices.Clone(w.objects.Pods), i, i+1)
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), namespace+"/"+name)
}

// SetTaints implements scalehist.Cluster.
func (w *world) SetTaints(_ context.Context, node string, taints []corev1.Taint) error {
	return w.changeNode(node, func(n *corev1.Node) { n.Spec.Taints = taints })
}

func (w *world) changeNode(node string, change func(*corev1.Node)) error {
	for i, n := range w.objects.Nodes {
		if n.Name == node {
			c := n.DeepCopy()
			change(c)
			w.objects.Nodes = slices.Clone(w.objects.Nodes)
			w.objects.Nodes[i] = c
			return nil
		}
	}
	return fmt.Errorf("node %s does not exist", node)
}

// Cordon implements scalehist.Cluster.
func (w *world) Cordon(_ context.Context, node string, unschedulable bool) error {
	return w.changeNode(node, func(n *corev1.Node) { n.Spec.Unschedulable = unschedulable })
}

// newWorld builds the world of a case at its start.
func newWorld(in Input, start time.Time) (*world, error) {
	w := &world{}
	born := metav1.NewTime(start.Add(-age))
	sizes := map[string]int{}
	var nodes []*corev1.Node
	for _, n := range in.Nodes {
		c := n.Node.DeepCopy()
		complete(c, born)
		if n.NodeGroup != "" {
			c.Annotations[v1alpha1.NodeGroupAnnotation] = n.NodeGroup
			sizes[n.NodeGroup]++
		}
		nodes = append(nodes, c)
	}
	w.objects = scalehist.Objects{
		Nodes: nodes, DaemonSets: in.DaemonSets, ReplicaSets: in.ReplicaSets, StatefulSets: in.StatefulSets, Jobs: in.Jobs,
		ReplicationControllers: in.ReplicationControllers, PodDisruptionBudgets: in.PDBs, PersistentVolumes: in.PVs,
		PersistentVolumeClaims: in.PVCs, StorageClasses: in.StorageClasses, CSINodes: in.CSINodes, Namespaces: in.Namespaces, Services: in.Services,
	}
	for i, p := range in.Pods {
		w.objects.Pods = append(w.objects.Pods, completePod(p.DeepCopy(), i, born))
	}
	if in.AutoOwners == nil || *in.AutoOwners {
		w.addOwners()
	}
	if err := w.addProvider(in, start, sizes); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if _, ok := n.Annotations[v1alpha1.NodeGroupAnnotation]; ok {
			if err := w.provider.Adopt(n); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func (w *world) addProvider(in Input, start time.Time, sizes map[string]int) error {
	opts := cloudprovider.Options{
		Start: start, DefaultDelay: new(time.Duration), DeletionDelay: new(time.Duration), GPULabel: in.GPULabel, ResourceLimits: in.ResourceLimits,
		GroupOptions: map[string]cloudprovider.GroupOptions{}, TemplatePods: map[string][]*corev1.Pod{},
	}
	var groups []scalehist.NodeGroup
	for _, g := range in.NodeGroups {
		target := sizes[g.Name]
		if g.TargetSize != nil {
			target = *g.TargetSize
		}
		group := scalehist.NodeGroup{Name: g.Name, MinSize: g.Min, MaxSize: g.Max, TargetSize: target}
		if g.Template != nil {
			group.Template = g.Template.DeepCopy()
			group.Template.Name = g.Name + "-template"
			complete(group.Template, metav1.NewTime(start.Add(-age)))
		}
		groups = append(groups, group)
		if g.FailScaleUp {
			opts.Faults = append(opts.Faults, cloudprovider.Fault{Group: g.Name, Kind: cloudprovider.FaultRefuse})
		}
		if g.Options != nil {
			opts.GroupOptions[g.Name] = g.Options.provider()
		}
		if len(g.TemplatePods) > 0 {
			opts.TemplatePods[g.Name] = g.TemplatePods
		}
	}
	if in.Materialize == "none" {
		opts.Faults = append(opts.Faults, cloudprovider.Fault{Kind: cloudprovider.FaultNeverRegister})
	}
	if p := in.Pricing; p != nil {
		opts.Prices = &prices.Table{Currency: "unit", NodeGroups: p.NodePerHour,
			Pods: prices.PodPrices{CPU: p.CPUPerHour, MemoryGiB: p.MemGiBPerHour, GPU: p.GPUPerHour}}
	}
	var err error
	w.provider, err = cloudprovider.New(groups, opts)
	return err
}

func (o *Options) provider() cloudprovider.GroupOptions {
	d := func(v *scalehist.Duration) *time.Duration {
		if v == nil {
			return nil
		}
		return new(time.Duration(*v))
	}
	return cloudprovider.GroupOptions{
		ScaleDownUtilizationThreshold: o.ScaleDownUtilizationThreshold, ScaleDownGPUUtilizationThreshold: o.ScaleDownGPUUtilizationThreshold,
		ScaleDownUnneededTime: d(o.ScaleDownUnneededTime), ScaleDownUnreadyTime: d(o.ScaleDownUnreadyTime), MaxNodeProvisionTime: d(o.MaxNodeProvisionTime),
		ZeroOrMaxNodeScaling: o.ZeroOrMaxNodeScaling, AllowNonAtomicScaleUpToMax: o.AllowNonAtomicScaleUpToMax, IgnoreDaemonSetsUtilization: o.IgnoreDaemonSetsUtilization,
	}
}

// complete fills the fields a case leaves out: hostname label, Ready condition, allocatable, pod slots.
func complete(n *corev1.Node, born metav1.Time) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	if n.Labels[corev1.LabelHostname] == "" {
		n.Labels[corev1.LabelHostname] = n.Name
	}
	if n.UID == "" {
		n.UID = types.UID("node/" + n.Name)
	}
	if n.CreationTimestamp.IsZero() {
		n.CreationTimestamp = born
	}
	if n.Status.Capacity == nil {
		n.Status.Capacity = corev1.ResourceList{}
	}
	if _, ok := n.Status.Capacity[corev1.ResourcePods]; !ok {
		n.Status.Capacity[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
	}
	if n.Status.Allocatable == nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	if _, ok := n.Status.Allocatable[corev1.ResourcePods]; !ok {
		n.Status.Allocatable[corev1.ResourcePods] = n.Status.Capacity[corev1.ResourcePods]
	}
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == corev1.NodeReady {
			return
		}
	}
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: born, LastTransitionTime: born,
	})
}

// completePod fills what a case leaves out of a pod: without a node and a condition, it is unschedulable.
func completePod(p *corev1.Pod, index int, born metav1.Time) *corev1.Pod {
	if p.Namespace == "" {
		p.Namespace = metav1.NamespaceDefault
	}
	if p.UID == "" {
		p.UID = types.UID(fmt.Sprintf("pod/%s/%s#%d", p.Namespace, p.Name, index))
	}
	if p.CreationTimestamp.IsZero() {
		p.CreationTimestamp = born
	}
	if p.Spec.SchedulerName == "" {
		p.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
	switch {
	case p.Spec.NodeName != "":
		if p.Status.Phase == "" {
			p.Status.Phase = corev1.PodRunning
		}
	case len(p.Status.Conditions) == 0:
		p.Status.Phase = corev1.PodPending
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: born,
		}}
	}
	return p
}

// addOwners makes the controllers that pods name and that are not there, with 3 replicas.
func (w *world) addOwners() {
	o := &w.objects
	seen := map[types.UID]bool{}
	for _, x := range o.ReplicaSets {
		seen[x.UID] = true
	}
	for _, x := range o.StatefulSets {
		seen[x.UID] = true
	}
	for _, x := range o.Jobs {
		seen[x.UID] = true
	}
	for _, x := range o.ReplicationControllers {
		seen[x.UID] = true
	}
	three := int32(3)
	for _, p := range o.Pods {
		c := metav1.GetControllerOf(p)
		if c == nil || seen[c.UID] {
			continue
		}
		seen[c.UID] = true
		meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: c.Name, UID: c.UID, CreationTimestamp: p.CreationTimestamp}
		switch c.Kind {
		case "ReplicaSet":
			o.ReplicaSets = append(o.ReplicaSets, &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &three}})
		case "StatefulSet":
			o.StatefulSets = append(o.StatefulSets, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &three}})
		case "Job":
			o.Jobs = append(o.Jobs, &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &three}})
		case "ReplicationController":
			o.ReplicationControllers = append(o.ReplicationControllers, &corev1.ReplicationController{ObjectMeta: meta, Spec: corev1.ReplicationControllerSpec{Replicas: &three}})
		}
	}
}
