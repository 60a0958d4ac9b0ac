package virtualca

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

var testStart = time.Date(2026, time.March, 1, 10, 0, 0, 0, time.UTC)

// testCluster is a scalehist.Cluster of plain objects. Evicted pods are gone at once, unless stubborn.
type testCluster struct {
	objects scalehist.Objects
	// tainted are the calls of SetTaints: "node: [keys]".
	tainted []string
	// evicted are the calls of Evict, by pod.
	evicted []string
	// refuse makes evictions of a pod fail, stubborn lets a pod stay after its eviction, failTaint fails SetTaints of
	// a node.
	refuse, stubborn, failTaint map[string]bool
	// atOnce is how many evictions pass before time goes on; 0 is any number.
	atOnce, passed int
}

func (c *testCluster) Objects() *scalehist.Objects { return &c.objects }

func (c *testCluster) Evict(_ context.Context, namespace, name string) error {
	c.evicted = append(c.evicted, name)
	switch {
	case c.refuse[name], c.atOnce > 0 && c.passed == c.atOnce:
		return errors.New("the budget needs it")
	case c.stubborn[name]:
		return nil
	}
	c.passed++
	for i, p := range c.objects.Pods {
		if p.Namespace == namespace && p.Name == name {
			c.objects.Pods = slices.Delete(slices.Clone(c.objects.Pods), i, i+1)
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (c *testCluster) SetTaints(_ context.Context, node string, taints []corev1.Taint) error {
	var keys []string
	for _, t := range taints {
		keys = append(keys, t.Key)
	}
	c.tainted = append(c.tainted, fmt.Sprintf("%s: %v", node, keys))
	if c.failTaint[node] {
		return errors.New("the server is away")
	}
	c.change(node, func(n *corev1.Node) { n.Spec.Taints = taints })
	return nil
}

func (c *testCluster) change(node string, do func(*corev1.Node)) {
	for i, n := range c.objects.Nodes {
		if n.Name == node {
			n = n.DeepCopy()
			do(n)
			c.objects.Nodes = slices.Clone(c.objects.Nodes)
			c.objects.Nodes[i] = n
		}
	}
}

func (c *testCluster) Cordon(_ context.Context, node string, on bool) error {
	c.change(node, func(n *corev1.Node) { n.Spec.Unschedulable = on })
	return nil
}

// advance lets the provider's events become true in the cluster.
func (c *testCluster) advance(p *cloudprovider.Provider, now time.Time) {
	c.passed = 0
	for _, e := range p.Advance(now) {
		switch e.Type {
		case cloudprovider.NodeJoined:
			c.objects.Nodes = append(c.objects.Nodes, e.Node)
		case cloudprovider.NodeGone:
			c.objects.Nodes = slices.DeleteFunc(slices.Clone(c.objects.Nodes), func(n *corev1.Node) bool { return n.Name == e.NodeName })
		}
	}
}

// testNode has been Ready for an hour; without a name it is a template.
func testNode(name, group, cpu, memory string) *corev1.Node {
	list := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110"),
	}
	born := metav1.NewTime(testStart.Add(-time.Hour))
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("node/" + name), CreationTimestamp: born, Labels: map[string]string{}, Annotations: map[string]string{}},
		Status: corev1.NodeStatus{Capacity: list, Allocatable: list.DeepCopy(), Conditions: []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: born,
		}}},
	}
	if name != "" {
		n.Labels[corev1.LabelHostname] = name
	}
	if group != "" {
		n.Annotations[v1alpha1.NodeGroupAnnotation] = group
	}
	return n
}

// testPod is an hour old and unschedulable; owner names its ReplicaSet, "" is none.
func testPod(name, owner, cpu, memory string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("pod/" + name), CreationTimestamp: metav1.NewTime(testStart.Add(-time.Hour)), Labels: map[string]string{"app": owner}},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
	if owner != "" {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &yes}}
	}
	return p
}
