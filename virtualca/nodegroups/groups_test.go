package nodegroups_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
)

var start = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

// clock gives turns at an instant of its own.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Turn(_ context.Context, f func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return f(c.now)
}

func (c *clock) Loop(ctx context.Context, f func(time.Time) error) error { return c.Turn(ctx, f) }

func template(gpu string) *corev1.Node {
	n := &corev1.Node{Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}
	if gpu != "" {
		n.Labels = map[string]string{"gpu": gpu}
	}
	return n
}

func served(t *testing.T, o nodegroups.Options, faults ...cloudprovider.Fault) (*nodegroups.Groups, *cloudprovider.Provider, *clock) {
	t.Helper()
	second, threshold := 40*time.Second, 0.7
	p, err := cloudprovider.New([]scalehist.NodeGroup{
		{Name: "a", MinSize: 1, MaxSize: 4, TargetSize: 1, MachineType: "std", Template: template("t4")}, {Name: "b", MaxSize: 2},
	}, cloudprovider.Options{
		Start: start, Faults: faults, GPULabel: "gpu",
		GroupOptions: map[string]cloudprovider.GroupOptions{"a": {ScaleDownUnneededTime: &second, ScaleDownUtilizationThreshold: &threshold}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Adopt(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a-0", Annotations: map[string]string{"scalehist.io/node-group": "a"}}}); err != nil {
		t.Fatal(err)
	}
	c := &clock{now: start}
	return nodegroups.New(p, c, o), p, c
}

func TestCodes(t *testing.T) {
	g, _, c := served(t, nodegroups.Options{}, cloudprovider.Fault{Kind: cloudprovider.FaultDown, From: start.Add(time.Hour)})
	ctx := t.Context()
	for name, x := range map[string]struct {
		call func() error
		want error
	}{
		"no such group":       {func() error { _, err := g.TargetSize(ctx, "x"); return err }, externalgrpc.ErrNotFound},
		"nor its nodes":       {func() error { _, err := g.Instances(ctx, "x"); return err }, externalgrpc.ErrNotFound},
		"nor its template":    {func() error { _, err := g.Template(ctx, "x"); return err }, externalgrpc.ErrNotFound},
		"nor its options":     {func() error { _, err := g.GroupOptions(ctx, "x", externalgrpc.Options{}); return err }, externalgrpc.ErrNotFound},
		"to grow no group":    {func() error { return g.IncreaseSize(ctx, "x", 1) }, externalgrpc.ErrNotFound},
		"above the maximum":   {func() error { return g.IncreaseSize(ctx, "a", 4) }, externalgrpc.ErrExhausted},
		"below the nodes":     {func() error { return g.DecreaseTargetSize(ctx, "a", 1) }, externalgrpc.ErrPrecondition},
		"no node of it":       {func() error { return g.DeleteNodes(ctx, "b", []externalgrpc.Node{{Name: "a-0"}}) }, externalgrpc.ErrPrecondition},
		"below the minimum":   {func() error { return g.DeleteNodes(ctx, "a", []externalgrpc.Node{{Name: "a-0"}}) }, externalgrpc.ErrPrecondition},
		"no template to show": {func() error { _, err := g.Template(ctx, "b"); return err }, externalgrpc.ErrUnimplemented},
		"no prices of nodes":  {func() error { _, err := g.NodePrice(ctx, externalgrpc.Node{Name: "a-0"}, start, start); return err }, externalgrpc.ErrUnimplemented},
		"no prices of pods":   {func() error { _, err := g.PodPrice(ctx, &corev1.Pod{}, start, start); return err }, externalgrpc.ErrUnimplemented},
	} {
		if err := x.call(); !errors.Is(err, x.want) {
			t.Errorf("%s: got %v, want %v", name, err, x.want)
		}
	}
	c.now = start.Add(2 * time.Hour)
	if err := g.Refresh(ctx); !errors.Is(err, externalgrpc.ErrUnavailable) {
		t.Errorf("a provider that is down refreshes: %v", err)
	}
	if err := g.IncreaseSize(ctx, "a", 1); !errors.Is(err, externalgrpc.ErrUnavailable) {
		t.Errorf("a provider that is down grows: %v", err)
	}
}

func TestLifeOfAMachine(t *testing.T) {
	var asked []nodegroups.Asked
	g, p, c := served(t, nodegroups.Options{Asked: func(a nodegroups.Asked) { asked = append(asked, a) }})
	ctx := t.Context()
	instances := func(want ...externalgrpc.Instance) {
		t.Helper()
		got, err := g.Instances(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("instances (-want +got):\n%s", diff)
		}
	}
	if err := g.IncreaseSize(ctx, "a", 1); err != nil {
		t.Fatal(err)
	}
	instances(externalgrpc.Instance{ID: "virtual://a-0", State: externalgrpc.Running}, externalgrpc.Instance{ID: "virtual://a-1", State: externalgrpc.Creating})
	c.now = c.now.Add(time.Minute)
	p.Advance(c.now)
	of, err := g.NodeGroupForNode(ctx, externalgrpc.Node{Name: "a-1", ProviderID: "virtual://a-1"})
	if err != nil || of.ID != "a" || of.MaxSize != 4 || of.Debug != "std" {
		t.Errorf("a-1 is of %+v, %v", of, err)
	}
	if of, err = g.NodeGroupForNode(ctx, externalgrpc.Node{Name: "a-1", ProviderID: "other://a-1"}); err != nil || of.ID != "" {
		t.Errorf("another machine of that name is of %+v, %v", of, err)
	}
	if err := g.DeleteNodes(ctx, "a", []externalgrpc.Node{{Name: "virtual://a-1", ProviderID: "virtual://a-1"}}); err != nil {
		t.Fatal(err)
	}
	instances(externalgrpc.Instance{ID: "virtual://a-0", State: externalgrpc.Running}, externalgrpc.Instance{ID: "virtual://a-1", State: externalgrpc.Deleting})
	if err := g.IncreaseSize(ctx, "a", 9); err == nil {
		t.Error("it grew above its maximum")
	}
	for i := range asked {
		if (asked[i].Err != nil) != (i == 2) {
			t.Errorf("call %d got %v", i, asked[i].Err)
		}
		asked[i].Err = nil
	}
	if diff := cmp.Diff([]nodegroups.Asked{
		{At: start, What: nodegroups.Increase, Group: "a", Delta: 1, From: 1, To: 2, Max: 4},
		{At: c.now, What: nodegroups.Delete, Group: "a", Delta: 1, Nodes: []string{"a-1"}, From: 2, To: 1, Max: 4},
		{At: c.now, What: nodegroups.Increase, Group: "a", Delta: 9, From: 1, To: 1, Max: 4},
	}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestWhatGroupsSayOfThemselves(t *testing.T) {
	g, _, _ := served(t, nodegroups.Options{Speed: 10})
	ctx := t.Context()
	// Every field is filled: one that is not would be zero to the autoscaler.
	defaults := externalgrpc.Options{ScaleDownUtilizationThreshold: 0.5, ScaleDownUnreadyTime: time.Minute, MaxNodeProvisionTime: time.Hour}
	o, err := g.GroupOptions(ctx, "a", defaults)
	want := defaults
	want.ScaleDownUtilizationThreshold, want.ScaleDownUnneededTime = 0.7, 4*time.Second
	if diff := cmp.Diff(&want, o); diff != "" || err != nil {
		t.Errorf("options of a, %v (-want +got):\n%s", err, diff)
	}
	if o, err := g.GroupOptions(ctx, "b", defaults); o != nil || err != nil {
		t.Errorf("b has options: %+v, %v", o, err)
	}
	n, err := g.Template(ctx, "a")
	if err != nil || n.Name != "template-a" || n.Labels[corev1.LabelHostname] != "template-a" || n.Status.Allocatable.Cpu().Value() != 4 {
		t.Errorf("template %+v, %v", n, err)
	}
	label, err := g.GPULabel(ctx)
	types, terr := g.GPUTypes(ctx)
	if diff := cmp.Diff([]string{"t4"}, types); diff != "" || label != "gpu" || err != nil || terr != nil {
		t.Errorf("GPUs %q %v, %v, %v", label, types, err, terr)
	}
}
