package scenarios

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca"
)

// bareCluster is a cluster without an API server: the snapshot it was last given, and what was done to that.
type bareCluster struct {
	objects scalehist.Objects
	// pods and nodes are copies of what was given, so that nothing is shared; kept while they are given again.
	pods  map[*corev1.Pod]*corev1.Pod
	nodes map[*corev1.Node]*corev1.Node
	// beside is the virtual cluster, which the other autoscaler has acted on already.
	beside scalehist.Cluster
}

var _ scalehist.Cluster = (*bareCluster)(nil)

// see takes over what the other autoscaler is about to see.
func (c *bareCluster) see(o *scalehist.Objects) {
	c.objects = *o
	c.objects.Pods, c.pods = copies(o.Pods, c.pods, (*corev1.Pod).DeepCopy)
	c.objects.Nodes, c.nodes = copies(o.Nodes, c.nodes, (*corev1.Node).DeepCopy)
	c.objects.PodDisruptionBudgets, _ = copies(o.PodDisruptionBudgets, nil, (*policyv1.PodDisruptionBudget).DeepCopy)
}

func copies[T comparable](given []T, known map[T]T, copyOf func(T) T) ([]T, map[T]T) {
	out, kept := make([]T, len(given)), make(map[T]T, len(given))
	for i, o := range given {
		own, ok := known[o]
		if !ok {
			own = copyOf(o)
		}
		out[i], kept[o] = own, own
	}
	return out, kept
}

func (c *bareCluster) Objects() *scalehist.Objects {
	o := c.objects
	return &o
}

// Evict decides as the eviction subresource does.
func (c *bareCluster) Evict(_ context.Context, namespace, name string) error {
	at := slices.IndexFunc(c.objects.Pods, func(p *corev1.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if at < 0 {
		return apierrors.NewNotFound(corev1.Resource("pods"), name)
	}
	pod := c.objects.Pods[at]
	for i, b := range c.objects.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || b.Namespace != namespace || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if !isReady(pod) && b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0 {
			continue // it counts for nothing: upstream's IfHealthyBudget
		}
		if b.Status.DisruptionsAllowed < 1 {
			return &kvcl.EvictionRefusedError{Pod: types.NamespacedName{Namespace: namespace, Name: name}, Budgets: []string{b.Name},
				Reason: fmt.Sprintf("Cannot evict pod as it would violate the pod's disruption budget. The disruption budget %s needs %d healthy pods and has %d currently",
					b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy)}
		}
		b = b.DeepCopy()
		b.Status.DisruptionsAllowed--
		c.objects.PodDisruptionBudgets[i] = b
	}
	c.objects.Pods = slices.Delete(slices.Clone(c.objects.Pods), at, at+1)
	// How long it takes to stop is the virtual cluster's to know: what is left of it there is left here.
	for _, p := range c.beside.Objects().Pods {
		if p.UID == pod.UID {
			c.objects.Pods = append(c.objects.Pods, p.DeepCopy())
		}
	}
	return nil
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (c *bareCluster) SetTaints(_ context.Context, node string, taints []corev1.Taint) error {
	return c.change(node, func(n *corev1.Node) { n.Spec.Taints = slices.Clone(taints) })
}

func (c *bareCluster) Cordon(_ context.Context, node string, unschedulable bool) error {
	return c.change(node, func(n *corev1.Node) { n.Spec.Unschedulable = unschedulable })
}

func (c *bareCluster) change(node string, do func(*corev1.Node)) error {
	for i, n := range c.objects.Nodes {
		if n.Name == node {
			n = n.DeepCopy()
			do(n)
			c.objects.Nodes = slices.Clone(c.objects.Nodes)
			c.objects.Nodes[i] = n
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("nodes"), node)
}

// twins are two autoscalers: the one of the replay on its virtual cluster, and another that sees the same at every loop
// but has neither an API server nor the replay's cloud provider. Each must do what the other does.
type twins struct {
	*virtualca.Autoscaler
	env  harness.Env
	bare *virtualca.Autoscaler
	// cluster and provider are the bare one's. compared counts decisions, acted those of them that did something.
	cluster         *bareCluster
	provider        *cloudprovider.Provider
	compared, acted *int
}

var _ scalehist.Background = (*twins)(nil)

// withTwin is the cluster autoscaler beside its bare twin.
func withTwin(compared, acted *int) harness.Option {
	return harness.WithAutoscaler(func(env harness.Env) (scalehist.Autoscaler, error) {
		t := &twins{env: env, cluster: &bareCluster{beside: env.Cluster}, provider: env.Provider.Clone(), compared: compared, acted: acted}
		build := func(env harness.Env) (*virtualca.Autoscaler, error) {
			a, err := engines.ClusterAutoscaler()(env)
			if err != nil {
				return nil, err
			}
			return a.(*virtualca.Autoscaler), nil
		}
		var err error
		if t.Autoscaler, err = build(env); err != nil {
			return nil, err
		}
		env.Cluster, env.Provider = t.cluster, t.provider
		t.bare, err = build(env)
		return t, err
	})
}

// Resume passes requests under way to both.
func (t *twins) Resume(at time.Time, group string, delta int) {
	t.Autoscaler.Resume(at, group, delta)
	t.bare.Resume(at, group, delta)
}

// RunOnce runs a loop of both.
func (t *twins) RunOnce(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	return t.both(now, func(a *virtualca.Autoscaler) (scalehist.Decision, error) { return a.RunOnce(ctx, now) })
}

// Work lets both go on between loops.
func (t *twins) Work(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	return t.both(now, func(a *virtualca.Autoscaler) (scalehist.Decision, error) { return a.Work(ctx, now) })
}

// both does the same on both. Where they part is an error, which ends the replay.
func (t *twins) both(now time.Time, do func(*virtualca.Autoscaler) (scalehist.Decision, error)) (scalehist.Decision, error) {
	t.cluster.see(t.env.Cluster.Objects())
	t.provider.Advance(now)
	if diff := cmp.Diff(t.env.Provider.Groups(), t.provider.Groups()); diff != "" {
		return scalehist.Decision{}, fmt.Errorf("before the loop at %s the node groups part (-kvcl +bare):\n%s", now, diff)
	}
	for _, g := range t.provider.Groups() {
		if diff := cmp.Diff(t.env.Provider.Instances(g.Name), t.provider.Instances(g.Name)); diff != "" {
			return scalehist.Decision{}, fmt.Errorf("before the loop at %s the instances of %s part (-kvcl +bare):\n%s", now, g.Name, diff)
		}
	}
	d, err := do(t.Autoscaler)
	if err != nil {
		return d, err
	}
	onBare, err := do(t.bare)
	if err != nil {
		return onBare, fmt.Errorf("on the bare snapshot: %w", err)
	}
	*t.compared++
	if d.Acted() {
		*t.acted++
	}
	if diff := cmp.Diff(d, onBare); diff != "" {
		return d, fmt.Errorf("the decisions at %s part (-kvcl +bare):\n%s", now, diff)
	}
	next, busy := t.Autoscaler.NextWork()
	bareNext, bareBusy := t.bare.NextWork()
	if busy != bareBusy || !next.Equal(bareNext) {
		return d, fmt.Errorf("the next work after %s parts: %s (%t) on kvcl, %s (%t) on the bare snapshot", now, next, busy, bareNext, bareBusy)
	}
	return d, nil
}

// A decision comes of the snapshot, the node groups and the settings, and of nothing else: no API server, no clock, no
// order of writes. It is replayed in memory: that planes report alike is for "Same input, same bytes".
var _ = Describe("The same decisions on kvcl and on the bare snapshot", unraced, func() {
	for _, name := range recordings() {
		It("at every loop of "+name, func(ctx SpecContext) {
			compared, acted := 0, 0
			report, err := replayInMemory(ctx, 0, Recording(name), withTwin(&compared, &acted))
			Expect(err).NotTo(HaveOccurred())

			Expect(compared).To(BeNumerically(">=", report.Loops))
			if len(report.Steps) > 0 {
				Expect(acted).To(BeNumerically(">", 0))
			}
		}, SpecTimeout(2*time.Minute))
	}
})
