package multicluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// podsOf is what a cluster's pods are to the plugins: a share is one pod to them, and may have room for many.
const podsOf corev1.ResourceName = "scalehist.io/pods"

// defaultPods is how many pods fit on a node whose group does not say so: kubelet's default.
const defaultPods = "110"

// offer is a cluster with a share that it could give.
type offer struct {
	cluster discovery.Cluster
	// at is its place in the list, granted what the share would be, price what its minimum costs an hour; priced says whether that is known.
	at      int
	granted corev1.ResourceList
	price   float64
	priced  bool
	// used: something is borrowed from it. free is the share of its cores that is not.
	used bool
	free float64
	// region is its place among those that the group prefers.
	region int
}

// offers are those that fit a group, in the order of the list, and why the others do not.
func (p *Pool) offers(ctx context.Context, g *Group, clusters []discovery.Cluster, without string) (fitting []offer, why []string, err error) {
	nodes, pods, taken := p.asNodes(clusters)
	if err := p.fit.Reset(&scalehist.Objects{}, nodes, func(name string) []*corev1.Pod { return pods[name] }); err != nil {
		return nil, nil, fmt.Errorf("fit: %w", err)
	}
	pod := g.asPod()
	for at, c := range clusters {
		o := offer{cluster: c, at: at, used: len(pods[c.Name]) > 0, free: freeShare(c.Resources, taken[c.Name])}
		o.price, o.priced = hourly(c.Prices, g.Resources.Min)
		no := func(format string, args ...any) { why = append(why, c.Name+": "+fmt.Sprintf(format, args...)) }
		if c.Name == without {
			continue
		}
		if r := p.fit.Check(ctx, pod, at); r != nil {
			no("%s", r)
			continue
		}
		if o.region = slices.Index(g.Regions, c.Region); len(g.Regions) > 0 && o.region < 0 {
			no("region %q is none of %s", c.Region, strings.Join(g.Regions, ", "))
			continue
		}
		if g.MaxPrice != nil && (!o.priced || o.price > *g.MaxPrice) {
			no("its price is not known, or above %v an hour", *g.MaxPrice)
			continue
		}
		o.granted = g.grant(c.Resources, taken[c.Name])
		fitting = append(fitting, o)
	}
	return fitting, why, nil
}

// choose takes the best offer of a group. ErrExhausted says why none fits.
func (p *Pool) choose(ctx context.Context, g *Group, clusters []discovery.Cluster, without string) (offer, error) {
	fitting, why, err := p.offers(ctx, g, clusters, without)
	if err != nil {
		return offer{}, err
	}
	order, err := policyOf(g.Policy)
	if err != nil {
		return offer{}, err
	}
	if best, ok := order(fitting); ok {
		return best, nil
	}
	if len(fitting) > 0 {
		why = append(why, "what fits is used already, and policy "+g.Policy+" takes a cluster once")
	}
	if len(clusters) == 0 {
		why = []string{"no cluster shares anything"}
	}
	return offer{}, fmt.Errorf("node group %s: %w: no cluster fits: %s", g.Name, externalgrpc.ErrExhausted, strings.Join(why, "; "))
}

// asNodes are clusters as nodes, with what is borrowed from them as pods, and its sum.
func (p *Pool) asNodes(clusters []discovery.Cluster) (nodes []*corev1.Node, pods map[string][]*corev1.Pod, taken map[string]corev1.ResourceList) {
	pods, taken = map[string][]*corev1.Pod{}, map[string]corev1.ResourceList{}
	for _, m := range p.ordered() {
		if m.Cluster == "" {
			continue
		}
		pods[m.Cluster] = append(pods[m.Cluster], podOf(m.ID, m.Granted, nil, nil))
		sum := taken[m.Cluster]
		if sum == nil {
			sum = corev1.ResourceList{}
			taken[m.Cluster] = sum
		}
		for name, q := range m.Granted {
			have := sum[name]
			have.Add(q)
			sum[name] = have
		}
	}
	for _, c := range clusters {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Labels: labelsOf(c)}, Spec: corev1.NodeSpec{Taints: c.Taints}}
		n.Status.Allocatable = renamed(c.Resources)
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1000000")
		if _, says := c.Resources[corev1.ResourcePods]; !says { // it does not bound them
			n.Status.Allocatable[podsOf] = resource.MustParse("1000000000")
		}
		nodes = append(nodes, n)
	}
	return nodes, pods, taken
}

// renamed has pods under a name that the plugins count as any resource.
func renamed(l corev1.ResourceList) corev1.ResourceList {
	out := l.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	if q, ok := out[corev1.ResourcePods]; ok {
		delete(out, corev1.ResourcePods)
		out[podsOf] = q
	}
	return out
}

func podOf(name string, requests corev1.ResourceList, selector map[string]string, tolerations []corev1.Toleration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shares", Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeSelector: selector, Tolerations: tolerations,
		Containers: []corev1.Container{{Name: "share", Resources: corev1.ResourceRequirements{Requests: renamed(requests)}}}}}
}

// asPod is the least that a group borrows.
func (g *Group) asPod() *corev1.Pod { return podOf(g.Name, g.Resources.Min, g.Select, g.Tolerations) }

// labelsOf are a cluster's, with its region.
func labelsOf(c discovery.Cluster) map[string]string {
	out := maps.Clone(c.Labels)
	if out == nil {
		out = map[string]string{}
	}
	if c.Region != "" && out[corev1.LabelTopologyRegion] == "" {
		out[corev1.LabelTopologyRegion] = c.Region
	}
	return out
}

// grant is what a share of an offer gets, given that its minimum fits: of each resource as much as is free, between minimum and maximum.
func (g *Group) grant(shared, taken corev1.ResourceList) corev1.ResourceList {
	out := g.Resources.Min.DeepCopy()
	for name, high := range g.Resources.Max {
		free, ok := shared[name]
		if !ok {
			continue
		}
		free = free.DeepCopy()
		free.Sub(taken[name])
		if free.Cmp(high) > 0 {
			free = high.DeepCopy()
		}
		if low := out[name]; free.Cmp(low) > 0 {
			out[name] = free
		}
	}
	return out
}

// freeShare is how much of a cluster's cores is not borrowed, from 0 to 1.
func freeShare(shared, taken corev1.ResourceList) float64 {
	all := shared.Cpu().AsApproximateFloat64()
	if all <= 0 {
		return 0
	}
	return 1 - taken.Cpu().AsApproximateFloat64()/all
}

// hourly is what resources cost an hour; false when it is not known.
func hourly(p *prices.PodPrices, l corev1.ResourceList) (float64, bool) {
	return hourlyPod(p, podOf("", l, nil, nil))
}

func hourlyPod(p *prices.PodPrices, pod *corev1.Pod) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return (&prices.Table{Pods: *p}).PodPerHour(pod), true
}

// errPolicy is for names of policies.
var errPolicy = errors.New("unknown policy")
