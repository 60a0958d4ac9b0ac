package multicluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// clusters is a discovery server in a test.
type clusters struct {
	list []discovery.Cluster
	err  error
}

func (c *clusters) Clusters(context.Context) ([]discovery.Cluster, error) { return c.list, c.err }

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func remote(name string, cpu string, price float64) discovery.Cluster {
	return discovery.Cluster{Name: name, Labels: map[string]string{"hasGPU": "false"}, Resources: list("cpu", cpu, "memory", "64Gi"), Prices: &prices.PodPrices{CPU: price}}
}

// nodes is an API server in a test.
type nodes map[string]*corev1.Node

func (n nodes) Create(_ context.Context, o *corev1.Node) error { n[o.Name] = o; return nil }

func (n nodes) Delete(_ context.Context, name string) error { delete(n, name); return nil }

type rig struct {
	*Pool
	t        *testing.T
	clock    *clocktesting.FakeClock
	clusters *clusters
	nodes    nodes
	path     string
	store    *docstore.Store
	peering  Peering
	config   string
	said     []string
}

const standard = `
groups:
- {name: std, maxSize: 4, policy: POLICY, select: {hasGPU: "false"}, resources: {min: {cpu: "2", memory: 2Gi}, max: {cpu: "4", memory: 8Gi}}}
`

func newRig(t *testing.T, config string, list ...discovery.Cluster) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktesting.NewFakeClock(start), clusters: &clusters{list: list}, nodes: nodes{}, path: filepath.Join(t.TempDir(), "state.db"), config: config}
	r.peering = Objects{Nodes: r.nodes, Clock: r.clock, Delay: time.Minute}
	r.restart()
	return r
}

// restart is a process that ends, and another one.
func (r *rig) restart() {
	r.t.Helper()
	if r.store != nil {
		if err := r.store.Close(); err != nil {
			r.t.Fatal(err)
		}
	}
	c, err := Parse([]byte(r.config))
	if err != nil {
		r.t.Fatal(err)
	}
	if r.store, err = docstore.Open(r.t.Context(), r.path, Kind); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = r.store.Close() })
	r.Pool, err = New(r.t.Context(), Options{Config: c, Clusters: r.clusters, Peering: r.peering, Store: r.store, Clock: r.clock, Said: func(text string, err error) {
		if err != nil {
			text += ": " + err.Error()
		}
		r.said = append(r.said, text)
	}})
	if err != nil {
		r.t.Fatal(err)
	}
}

// pass lets time pass.
func (r *rig) pass(d time.Duration) {
	r.clock.Step(d)
	r.Step(r.t.Context())
}

func (r *rig) grow(group string, delta int) {
	r.t.Helper()
	if err := r.IncreaseSize(r.t.Context(), group, delta); err != nil {
		r.t.Fatal(err)
	}
}

// state is a group in a line: its target size, and each machine with its cluster and state.
func (r *rig) state(group string) string {
	r.t.Helper()
	n, err := r.TargetSize(r.t.Context(), group)
	if err != nil {
		r.t.Fatal(err)
	}
	out := []string{fmt.Sprint(n)}
	for _, m := range r.of(group) {
		text := m.ID + "@" + m.Cluster + " " + map[externalgrpc.State]string{externalgrpc.Creating: "creating", externalgrpc.Running: "running", externalgrpc.Deleting: "deleting"}[m.State]
		if m.Error != nil {
			text += " " + m.Error.Code
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func (r *rig) want(group, state string) {
	r.t.Helper()
	if diff := cmp.Diff(state, r.state(group)); diff != "" {
		r.t.Errorf("(-want +got):\n%s", diff)
	}
}

func withPolicy(name string) string { return strings.Replace(standard, "POLICY", name, 1) }

// TestShareIsAnotherNode: from a request to a node, and back.
func TestShareIsANode(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "8", 2), remote("b", "3", 1))
	r.grow("std", 2)
	r.want("std", "2, std-0@b creating, std-1@a creating")
	r.pass(59 * time.Second)
	r.want("std", "2, std-0@b creating, std-1@a creating")
	r.pass(time.Second)
	r.want("std", "2, std-0@b running, std-1@a running")
	// Each has what was free, between minimum and maximum, and is never less than the template.
	for name, cpu := range map[string]string{"std-0": "3", "std-1": "4"} {
		n := r.nodes[name]
		if got := n.Status.Allocatable[corev1.ResourceCPU]; got.Cmp(resource.MustParse(cpu)) != 0 || n.Spec.ProviderID != ProviderID(name) || n.Labels["hasGPU"] != "false" {
			t.Errorf("%s has %s cores, want %s: %+v", name, got.String(), cpu, n)
		}
	}
	template, err := r.Template(t.Context(), "std")
	if err != nil || template.Status.Allocatable.Cpu().Value() != 2 {
		t.Errorf("template %v, %v", template, err)
	}
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{ProviderID: ProviderID("std-0"), Name: "std-0"}}); err != nil {
		t.Fatal(err)
	}
	r.want("std", "1, std-0@b deleting, std-1@a running")
	r.pass(0)
	r.want("std", "1, std-1@a running")
	if r.nodes["std-0"] != nil || len(r.nodes) != 1 {
		t.Errorf("nodes %v", r.nodes)
	}
}

func TestPolicies(t *testing.T) {
	west, east := remote("a-west", "8", 3), remote("b-east", "16", 1)
	west.Region, east.Region = "west", "east"
	unpriced := remote("c-unpriced", "16", 0)
	unpriced.Prices, unpriced.Region = nil, "north"
	for policy, want := range map[string]string{
		"first-match": "a-west b-east c-unpriced", "cheapest": "b-east b-east b-east", "nearest": "a-west a-west b-east", "spread": "b-east a-west c-unpriced", "fullest": "b-east b-east b-east",
	} {
		config := withPolicy(policy)
		if policy == "nearest" {
			config = strings.Replace(config, "select:", "regions: [west, east], select:", 1)
		}
		r := newRig(t, config, west, east, unpriced)
		var got []string
		for range 3 {
			r.grow("std", 1)
		}
		for _, m := range r.of("std") {
			got = append(got, m.Cluster)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", policy, diff)
		}
	}
	if _, err := Parse([]byte(withPolicy("nicest"))); !errors.Is(err, errPolicy) || !strings.Contains(err.Error(), "cheapest, first-match") {
		t.Errorf("an unknown policy: %v", err)
	}
}

// TestPluginsDecideWhatFits: labels, taints, resources and pods, in the words of the scheduler.
func TestPluginsDecideWhatFits(t *testing.T) {
	small, other, tainted, far, dear, full := remote("a-small", "1", 1), remote("b-other", "8", 1), remote("c-tainted", "8", 1), remote("d-far", "8", 1), remote("e-dear", "8", 9), remote("f-full", "8", 1)
	other.Labels = map[string]string{"hasGPU": "true"}
	tainted.Taints = []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}}
	for _, c := range []*discovery.Cluster{&small, &other, &tainted, &dear, &full} {
		c.Region = "turin"
	}
	full.Resources["pods"] = resource.MustParse("9")
	config := strings.Replace(withPolicy("cheapest"), "select:", "regions: [turin], maxPrice: 10, select:", 1)
	config = strings.Replace(config, "memory: 2Gi}", `memory: 2Gi, pods: "10"}`, 1)
	r := newRig(t, config, small, other, tainted, far, dear, full)
	err := r.IncreaseSize(t.Context(), "std", 1)
	if !errors.Is(err, externalgrpc.ErrExhausted) {
		t.Fatal(err)
	}
	for _, want := range []string{"a-small: NodeResourcesFit: Insufficient cpu", "b-other: NodeAffinity", "c-tainted: TaintToleration", "d-far: region \"\" is none of turin",
		"e-dear: its price is not known, or above 10 an hour", "f-full: NodeResourcesFit: Insufficient scalehist.io/pods"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	r.want("std", "0")
}

func TestBounds(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "64", 1))
	for _, c := range []struct {
		what string
		err  error
		is   error
	}{
		{"above the maximum", r.IncreaseSize(t.Context(), "std", 5), externalgrpc.ErrExhausted},
		{"far above the maximum", r.IncreaseSize(t.Context(), "std", int(^uint(0)>>1)), externalgrpc.ErrExhausted},
		{"by nothing", r.IncreaseSize(t.Context(), "std", 0), externalgrpc.ErrInvalid},
		{"of no group", r.IncreaseSize(t.Context(), "none", 1), externalgrpc.ErrNotFound},
		{"decrease by what is not there", r.DecreaseTargetSize(t.Context(), "std", 1), externalgrpc.ErrPrecondition},
		{"delete what is not there", r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: "x"}}), externalgrpc.ErrPrecondition},
	} {
		if !errors.Is(c.err, c.is) {
			t.Errorf("%s: %v, want %v", c.what, c.err, c.is)
		}
	}
	r.want("std", "0")
	r.grow("std", 2)
	if err := r.DecreaseTargetSize(t.Context(), "std", 1); err != nil {
		t.Fatal(err)
	}
	r.want("std", "1, std-0@a creating, std-1@a deleting")
	r.pass(time.Minute)
	r.want("std", "1, std-0@a running")
	if err := r.DecreaseTargetSize(t.Context(), "std", 1); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a node that is there would go: %v", err)
	}
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: "std-0"}, {ProviderID: "share://other"}}); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a node of somebody else: %v", err)
	}
	r.want("std", "1, std-0@a running")
}

func TestGroupsByCall(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "64", 1))
	if err := r.CreateGroup(t.Context(), externalgrpc.NodeGroup{ID: "more", MaxSize: 2}, "std"); err != nil {
		t.Fatal(err)
	}
	if err := r.CreateGroup(t.Context(), externalgrpc.NodeGroup{ID: "std", MaxSize: 2}, "std"); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a group that is there: %v", err)
	}
	r.grow("more", 1)
	r.restart()
	r.want("more", "1, more-0@a creating")
	if err := r.DestroyGroup(t.Context(), "more"); !errors.Is(err, externalgrpc.ErrPrecondition) {
		t.Errorf("a group with nodes: %v", err)
	}
	if err := r.DestroyGroup(t.Context(), "std"); err != nil {
		t.Fatal(err)
	}
	r.restart()
	groups, err := r.NodeGroups(t.Context())
	if diff := cmp.Diff([]externalgrpc.NodeGroup{{ID: "more", MaxSize: 2, Debug: "borrowed"}}, groups); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s %v", diff, err)
	}
	r.grow("more", 1)
	if got := r.state("more"); !strings.Contains(got, "more-1@a") {
		t.Errorf("a name is taken twice: %s", got)
	}
}

func TestRestartLosesNothing(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "16", 1))
	r.grow("std", 2)
	r.restart()
	r.want("std", "2, std-0@a creating, std-1@a creating")
	r.pass(time.Minute)
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: "std-0"}}); err != nil {
		t.Fatal(err)
	}
	r.restart()
	r.want("std", "1, std-0@a deleting, std-1@a running")
	r.pass(0)
	r.restart()
	r.want("std", "1, std-1@a running")
	if diff := cmp.Diff([]string{"std-1"}, slices.Collect(func(yield func(string) bool) {
		for n := range r.nodes {
			yield(n)
		}
	})); diff != "" {
		t.Error(diff)
	}
}
