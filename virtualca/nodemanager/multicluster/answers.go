package multicluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

func (g *Group) wire() externalgrpc.NodeGroup {
	return externalgrpc.NodeGroup{ID: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, Debug: "borrowed"}
}

// NodeGroups implements externalgrpc.Groups.
func (p *Pool) NodeGroups(context.Context) (out []externalgrpc.NodeGroup, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range p.order {
		out = append(out, p.groups[name].wire())
	}
	return out, nil
}

// NodeGroupForNode implements externalgrpc.Groups.
func (p *Pool) NodeGroupForNode(_ context.Context, n externalgrpc.Node) (externalgrpc.NodeGroup, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.ordered() {
		if g, ok := p.groups[m.Group]; ok && m.is(n) {
			return g.wire(), nil
		}
	}
	return externalgrpc.NodeGroup{}, nil
}

// Instances implements externalgrpc.Instances.
func (p *Pool) Instances(_ context.Context, id string) (out []externalgrpc.Instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.group(id); err != nil {
		return nil, err
	}
	for _, m := range p.of(id) {
		out = append(out, externalgrpc.Instance{ID: m.providerID(), State: m.State, Error: m.Error})
	}
	return out, nil
}

// node is the virtual node of a share: what it borrows is what it has.
func node(g *Group, name, id string, has corev1.ResourceList, labels map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(labels), Annotations: map[string]string{v1alpha1.NodeGroupAnnotation: g.Name}}}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	maps.Copy(n.Labels, g.Labels)
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID, n.Spec.Taints = id, slices.Clone(g.Taints)
	n.Status.Allocatable = has.DeepCopy()
	if _, says := has[corev1.ResourcePods]; !says {
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse(defaultPods)
	}
	n.Status.Capacity = n.Status.Allocatable.DeepCopy()
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	return n
}

// Template implements externalgrpc.Templates: the minimum, with the labels of the cluster that would give it now.
func (p *Pool) Template(ctx context.Context, id string) (*corev1.Node, error) {
	list, err := p.clusters(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.group(id)
	if err != nil {
		return nil, err
	}
	labels := g.Select
	if best, err := p.choose(ctx, g, list, ""); err == nil {
		labels = labelsOf(best.cluster)
	}
	return node(g, "template-"+id, "", g.Resources.Min, labels), nil
}

// NodePrice implements externalgrpc.Pricer: of a node what it borrows costs in its cluster now, of a template what the next one would cost.
func (p *Pool) NodePrice(ctx context.Context, n externalgrpc.Node, from, to time.Time) (float64, error) {
	list, err := p.clusters(ctx)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var perHour float64
	priced := false
	for _, m := range p.machines {
		if m.is(n) {
			if at := slices.IndexFunc(list, func(c discovery.Cluster) bool { return c.Name == m.Cluster }); at >= 0 {
				perHour, priced = hourly(list[at].Prices, m.Granted)
			}
			if !priced {
				return 0, fmt.Errorf("price of node %s: cluster %q states no prices: %w", n.Name, m.Cluster, externalgrpc.ErrUnimplemented)
			}
			return perHour * to.Sub(from).Hours(), nil
		}
	}
	g, ok := p.groups[n.Annotations[v1alpha1.NodeGroupAnnotation]]
	if !ok {
		return 0, fmt.Errorf("price of node %q: %w: it is of no node group", n.Name, externalgrpc.ErrNotFound)
	}
	best, err := p.choose(ctx, g, list, "")
	if err != nil {
		return 0, err
	}
	if !best.priced {
		return 0, fmt.Errorf("price of node group %s: cluster %s states no prices: %w", g.Name, best.cluster.Name, externalgrpc.ErrUnimplemented)
	}
	return best.price * to.Sub(from).Hours(), nil
}

// PodPrice implements externalgrpc.Pricer: what the pod's requests cost where they are cheapest.
func (p *Pool) PodPrice(ctx context.Context, pod *corev1.Pod, from, to time.Time) (float64, error) {
	list, err := p.clusters(ctx)
	if err != nil {
		return 0, err
	}
	best, known := 0.0, false
	for _, c := range list {
		if v, ok := hourlyPod(c.Prices, pod); ok && (!known || v < best) {
			best, known = v, true
		}
	}
	if !known {
		return 0, fmt.Errorf("no cluster states prices: %w", externalgrpc.ErrUnimplemented)
	}
	return best * to.Sub(from).Hours(), nil
}

// GroupOptions implements externalgrpc.Optioner: no group has options of its own.
func (p *Pool) GroupOptions(_ context.Context, id string, _ externalgrpc.Options) (*externalgrpc.Options, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.group(id)
	return nil, err
}

// GPULabel implements externalgrpc.GPUs.
func (p *Pool) GPULabel(context.Context) (string, error) { return p.o.Config.GPULabel, nil }

// GPUTypes implements externalgrpc.GPUs: what the labels of groups and clusters say.
func (p *Pool) GPUTypes(ctx context.Context) ([]string, error) {
	label := p.o.Config.GPULabel
	if label == "" {
		return nil, nil
	}
	list, err := p.clusters(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := map[string]bool{}
	for _, c := range list {
		seen[c.Labels[label]] = true
	}
	for _, g := range p.groups {
		seen[g.Labels[label]] = true
	}
	delete(seen, "")
	return slices.Sorted(maps.Keys(seen)), nil
}

// Refresh implements externalgrpc.Loops: it is an error while nobody can say which clusters there are.
func (p *Pool) Refresh(ctx context.Context) error {
	_, err := p.clusters(ctx)
	return err
}

// Cleanup implements externalgrpc.Loops. What is borrowed stays: another autoscaler takes over.
func (p *Pool) Cleanup(context.Context) error { return nil }
