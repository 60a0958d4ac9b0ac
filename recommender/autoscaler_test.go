package recommender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// testCluster is a scalehist.Cluster of plain objects. Evicted pods are gone at once, unless their eviction is refused.
type testCluster struct {
	objects scalehist.Objects
	refuse  bool
}

func (c *testCluster) Objects() *scalehist.Objects { return &c.objects }

func (c *testCluster) Evict(_ context.Context, namespace, name string) error {
	if c.refuse {
		return errors.New("the budget needs it")
	}
	for i, p := range c.objects.Pods {
		if p.Namespace == namespace && p.Name == name {
			c.objects.Pods = slices.Delete(slices.Clone(c.objects.Pods), i, i+1)
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("pods"), name)
}

func (c *testCluster) SetTaints(_ context.Context, node string, taints []corev1.Taint) error {
	for i, n := range c.objects.Nodes {
		if n.Name == node {
			n = n.DeepCopy()
			n.Spec.Taints = taints
			c.objects.Nodes = slices.Clone(c.objects.Nodes)
			c.objects.Nodes[i] = n
		}
	}
	return nil
}

func (c *testCluster) Cordon(context.Context, string, bool) error { return nil }

// rig is an autoscaler on a virtual provider.
type rig struct {
	t        *testing.T
	cluster  *testCluster
	provider *cloudprovider.Provider
	a        *Autoscaler
	now      time.Time
}

func newRig(t *testing.T, r *Request, p cloudprovider.Options, change func(*AutoscalerOptions)) *rig {
	t.Helper()
	var groups []scalehist.NodeGroup
	for _, g := range r.NodeGroups {
		groups = append(groups, scalehist.NodeGroup{Name: g.Name, MinSize: g.MinSize, MaxSize: g.MaxSize, TargetSize: g.TargetSize,
			Zone: g.Zone, MachineType: g.MachineType, Template: g.Template})
	}
	p.Start = testNow
	provider, err := cloudprovider.New(groups, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.Objects.Nodes {
		if err := provider.Adopt(n); err != nil {
			t.Fatal(err)
		}
	}
	o := DefaultAutoscalerOptions()
	if change != nil {
		change(&o)
	}
	cluster := &testCluster{objects: *r.Objects}
	a, err := NewAutoscaler("recommender", cluster, provider, New(), o)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, cluster, provider, a, testNow}
}

// after lets time pass and runs a loop.
func (r *rig) after(d time.Duration) scalehist.Decision {
	r.t.Helper()
	r.now = r.now.Add(d)
	for _, e := range r.provider.Advance(r.now) {
		switch e.Type {
		case cloudprovider.NodeJoined:
			r.cluster.objects.Nodes = append(slices.Clone(r.cluster.objects.Nodes), e.Node)
		case cloudprovider.NodeGone:
			r.cluster.objects.Nodes = slices.DeleteFunc(slices.Clone(r.cluster.objects.Nodes), func(n *corev1.Node) bool { return n.Name == e.NodeName })
		}
	}
	d2, err := r.a.RunOnce(r.t.Context(), r.now)
	if err != nil {
		r.t.Fatal(err)
	}
	return d2
}

func TestAutoscalerScalesUpOnce(t *testing.T) {
	r := newRig(t, request([]NodeGroup{testGroup("small", "2x8", 0, 9, 0), testGroup("large", "8x32", 0, 9, 0, tainted("special"))}, testPods("web", 3, "1", "1Gi"), testPods("huge", 1, "64", "1Gi")),
		cloudprovider.Options{}, nil)
	d := r.after(0)
	if d.Outcome != scalehist.ScaleUpSuccessful || !d.Again || d.Summary() != "ScaleUpSuccessful {small 0->2 (max: 9)}" {
		t.Errorf("%s, again %t", d.Summary(), d.Again)
	}
	want := []scalehist.Option{{NodeGroup: "small", NodeCount: 2, Pods: 3, PodNames: []string{"default/web-0", "default/web-1", "default/web-2"}, Chosen: true,
		Scores: map[string]float64{LeastWaste: 0.75}, Reason: "first taken in step 1 of 2: the only group that helps"}}
	if diff := cmp.Diff(want, d.Options); diff != "" {
		t.Error(diff)
	}
	if d.PodsTriggered != 3 || d.PodsRemaining != 1 || len(d.UnschedulablePods) != 4 || len(d.Events) != 4 {
		t.Errorf("%+v", d)
	}
	if len(d.Rejected) != 1 || !strings.Contains(d.Rejected[0].Reason, "default/huge-0: NodeResourcesFit: Insufficient cpu") && !strings.Contains(d.Rejected[0].Reason, "TaintToleration") {
		t.Errorf("%+v", d.Rejected)
	}
	// The nodes are on their way: nothing more is asked for, and nothing is reported twice.
	d = r.after(10 * time.Second)
	if d.Outcome != scalehist.ScaleUpNoOptionsAvailable || d.Upcoming["small"] != 2 || d.FilteredSchedulable != 3 || len(d.Events) != 0 || d.Again {
		t.Errorf("%+v", d)
	}
	if d = r.after(time.Minute); len(d.Upcoming) != 0 || len(r.cluster.objects.Nodes) != 2 || d.FilteredSchedulable != 3 {
		t.Errorf("%+v", d)
	}
}

func TestAutoscalerBacksOff(t *testing.T) {
	for _, tc := range []struct {
		name   string
		fault  cloudprovider.Fault
		wait   time.Duration
		reason string
	}{
		{"refused", cloudprovider.Fault{Kind: cloudprovider.FaultRefuse, Group: "first", From: testNow, To: testNow.Add(time.Hour), Message: "quota"}, 0, "quota"},
		{"out of stock", cloudprovider.Fault{Kind: cloudprovider.FaultStockOut, Group: "first", From: testNow, To: testNow.Add(time.Hour)}, 10 * time.Second, "instance first-0 could not be created"},
		{"never registers", cloudprovider.Fault{Kind: cloudprovider.FaultNeverRegister, Group: "first", From: testNow, To: testNow.Add(time.Hour)}, 16 * time.Minute, "has not registered within 15m0s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, request([]NodeGroup{testGroup("first", "2x8", 0, 9, 0), testGroup("second", "2x8", 0, 9, 0)}, testPods("web", 1, "1", "1Gi")),
				cloudprovider.Options{Faults: []cloudprovider.Fault{tc.fault}}, nil)
			d := r.after(0)
			if tc.wait > 0 {
				d = r.after(tc.wait)
			} else if d.Outcome != scalehist.ScaleUpError || len(d.Failed) != 1 {
				t.Fatalf("%+v", d)
			}
			if len(d.Backoff) != 1 || d.Backoff[0].NodeGroup != "first" || !strings.Contains(d.Backoff[0].Reason, tc.reason) || !d.Backoff[0].Until.Equal(r.now.Add(5*time.Minute)) {
				t.Fatalf("backoff %+v", d.Backoff)
			}
			if tc.wait == 0 {
				d = r.after(10 * time.Second)
			}
			if s := d.Summary(); !strings.Contains(s, "{second 0->1 (max: 9)}") {
				t.Errorf("the other group does not help out: %s", s)
			}
			if g, _ := r.provider.Group("first"); g.TargetSize != 0 {
				t.Errorf("first has target size %d", g.TargetSize)
			}
		})
	}
}

func consolidating(o *AutoscalerOptions) {
	o.Consolidate, o.UnneededTime = true, time.Minute
}

func twoNodes() *Request {
	r := request([]NodeGroup{testGroup("a", "4x16", 0, 9, 2)}, testPods("web", 2, "1", "1Gi", onNode("a-0")), testPods("api", 1, "1", "1Gi", onNode("a-1")))
	r.Objects.Nodes = []*corev1.Node{testNode("a-0", "a", "4x16"), testNode("a-1", "a", "4x16")}
	return r
}

func TestAutoscalerConsolidates(t *testing.T) {
	r := newRig(t, twoNodes(), cloudprovider.Options{}, consolidating)
	if d := r.after(0); d.ScaleDown != scalehist.ScaleDownNoNodeDeleted || !slices.Equal(d.Unneeded, []string{"a-1"}) {
		t.Fatalf("%+v", d)
	}
	d := r.after(time.Minute)
	if d.ScaleDown != scalehist.ScaleDownNodeDeleteStarted || len(d.Deleting) != 1 || !slices.Equal(d.Deleting[0].Pods, []string{"default/api-0"}) {
		t.Fatalf("%+v", d)
	}
	if len(d.ScaleDowns) != 1 || d.ScaleDowns[0] != (scalehist.ScaleDown{NodeGroup: "a", Node: "a-1", From: 2, To: 1, Reason: "consolidated: its pods have places elsewhere"}) {
		t.Fatalf("%+v", d.ScaleDowns)
	}
	if r.after(time.Minute); len(r.cluster.objects.Nodes) != 1 {
		t.Errorf("%d nodes", len(r.cluster.objects.Nodes))
	}
}

// TestAutoscalerLetsANodeStay: evictions are tried again for a while; then the node is open for pods again.
func TestAutoscalerLetsANodeStay(t *testing.T) {
	r := newRig(t, twoNodes(), cloudprovider.Options{}, consolidating)
	r.cluster.refuse = true
	r.after(0)
	r.after(time.Minute)
	if !scalehist.HasTaint(r.cluster.objects.Nodes[1], scalehist.ToBeDeletedTaint) {
		t.Fatal("the node is not tainted")
	}
	at, ok := r.a.NextWork()
	if !ok || !at.Equal(r.now.Add(removalPoll)) {
		t.Fatalf("next work %s %t", at, ok)
	}
	var notes []string
	for i := 0; ok && i < 100; i++ {
		r.now = at
		d, err := r.a.Work(t.Context(), r.now)
		if err != nil {
			t.Fatal(err)
		}
		notes = append(notes, d.Notes...)
		at, ok = r.a.NextWork()
	}
	if len(notes) != 1 || notes[0] != "node a-1 is not removed: 1 pod could not be evicted within 2m0s: the budget needs it" {
		t.Errorf("%q", notes)
	}
	if scalehist.HasTaint(r.cluster.objects.Nodes[1], scalehist.ToBeDeletedTaint) {
		t.Error("the node is still tainted")
	}
}

// fixed is a recommender that always says the same.
type fixed struct {
	r   *Recommendation
	err error
}

func (f fixed) Recommend(context.Context, *Request) (*Recommendation, error) { return f.r, f.err }

// TestAutoscalerMistrusts: whatever a recommender says, the bounds of the groups hold, and nonsense is an error.
func TestAutoscalerMistrusts(t *testing.T) {
	up := func(g string, n int) *Recommendation {
		return &Recommendation{ScaleUps: []ScaleUp{{NodeGroup: g, Count: n}}}
	}
	for _, tc := range []struct {
		name string
		rec  fixed
		want string // in the error, or the summary
	}{
		{"unknown group", fixed{r: up("x", 1)}, `wants to grow node group "x", which does not exist`},
		{"negative", fixed{r: up("a", -1)}, "wants to grow node group a by -1"},
		{"beyond max", fixed{r: up("a", 99)}, "{a +99 failed: size increase of a is too large"},
		{"nothing at all", fixed{}, "no recommendation and no error"},
		{"an error", fixed{err: errors.New("503")}, "503"},
		{"an unknown node", fixed{r: &Recommendation{ScaleDowns: []ScaleDown{{NodeGroup: "a", Node: "ghost"}}}}, "ScaleUpNotNeeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, twoNodes(), cloudprovider.Options{}, func(o *AutoscalerOptions) { o.Consolidate, o.UnneededTime = true, 0 })
			r.a.recommender = tc.rec
			d, err := r.a.RunOnce(t.Context(), testNow)
			if got := d.Summary() + fmt.Sprint(err); !strings.Contains(got, tc.want) {
				t.Errorf("%s, want %q", got, tc.want)
			}
		})
	}
}
