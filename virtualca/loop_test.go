package virtualca

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/drain"
	"github.com/scalehist/scalehist/virtualca/config"
)

// replay is a cluster, its provider and an autoscaler over it, stepped by hand.
type replay struct {
	t *testing.T
	c *testCluster
	p *cloudprovider.Provider
	a *Autoscaler
}

func start(t *testing.T, c *testCluster, groups []scalehist.NodeGroup, s config.Settings, o cloudprovider.Options) *replay {
	t.Helper()
	p, err := cloudprovider.New(groups, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.objects.Nodes {
		if _, ok := p.GroupForNode(n); ok {
			if err := p.Adopt(n); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, err := New(c, p, s)
	if err != nil {
		t.Fatal(err)
	}
	return &replay{t, c, p, a}
}

func (r *replay) at(d time.Duration) scalehist.Decision {
	r.t.Helper()
	now := testStart.Add(d)
	r.c.advance(r.p, now)
	got, err := r.a.RunOnce(r.t.Context(), now)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

func (r *replay) target(group string) int {
	g, _ := r.p.Group(group)
	return g.TargetSize
}

func smallGroup(name string, target, maximum int) scalehist.NodeGroup {
	return scalehist.NodeGroup{Name: name, TargetSize: target, MaxSize: maximum, Template: testNode("", "", "4", "16Gi")}
}

func cpuPods(n int, cpu string) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range n {
		out = append(out, testPod(fmt.Sprintf("web-%d", i), "web", cpu, "1Gi"))
	}
	return out
}

func reasons(d scalehist.Decision) []string {
	var out []string
	for _, e := range d.Events {
		out = append(out, e.Reason+" "+e.Object+": "+e.Message)
	}
	return out
}

func TestScaleUpExplainsItself(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(2, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5), smallGroup("full", 0, 0), {Name: "tiny", MaxSize: 2, Template: testNode("", "", "1", "1Gi")}, {Name: "blind", MaxSize: 2}}, config.DefaultSettings(), cloudprovider.Options{})
	d := r.at(0)
	want := scalehist.Decision{
		At: testStart, Loop: 1, Outcome: scalehist.ScaleUpSuccessful, Again: true,
		UnschedulablePods: []string{"default/web-0", "default/web-1"},
		Options:           []scalehist.Option{{NodeGroup: "a", NodeCount: 2, Pods: 2, PodNames: []string{"default/web-0", "default/web-1"}, Chosen: true, Reason: "the only option"}},
		Skipped:           []scalehist.GroupReason{{NodeGroup: "full", Reason: reasonMaxSize}, {NodeGroup: "blind", Reason: reasonNotReady}},
		Rejected:          []scalehist.GroupReason{{NodeGroup: "tiny", Reason: "2 pods: Insufficient cpu"}},
		ScaleUps:          []scalehist.ScaleUp{{NodeGroup: "a", From: 0, To: 2, Max: 5}}, PodsTriggered: 2,
		ScaleDown: scalehist.ScaleDownInCooldown,
	}
	got := d
	got.Events = nil
	if len(got.Options) == 1 {
		got.Options[0].Scores = nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"ScaledUpGroup ConfigMap/kube-system/cluster-autoscaler-status: Scale-up: setting group a size to 2 instead of 0 (max: 5)",
		"ScaledUpGroup ConfigMap/kube-system/cluster-autoscaler-status: Scale-up: group a size set to 2 instead of 0 (max: 5)",
		"TriggeredScaleUp Pod/default/web-0: pod triggered scale-up: [{a 0->2 (max: 5)}]",
		"TriggeredScaleUp Pod/default/web-1: pod triggered scale-up: [{a 0->2 (max: 5)}]",
	}, sorted(reasons(d))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	d = r.at(10 * time.Second)
	if d.Outcome != scalehist.ScaleUpNotNeeded || d.Upcoming["a"] != 2 || d.FilteredSchedulable != 2 || !d.Again {
		t.Errorf("next loop: got %s, upcoming %v, filtered %d, again %v; want the pods on 2 upcoming nodes, and a second loop at once", d.Summary(), d.Upcoming, d.FilteredSchedulable, d.Again)
	}
}

// sorted orders the pod events, whose order follows the listing, after the others.
func sorted(in []string) []string {
	out := append([]string(nil), in...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if strings.Contains(out[i], " Pod/") && strings.Contains(out[j], " Pod/") && out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

func TestNotTriggerScaleUp(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(1, "9")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5), smallGroup("b", 0, 5), smallGroup("full", 0, 0)}, config.DefaultSettings(), cloudprovider.Options{})
	d := r.at(0)
	want := []string{"NotTriggerScaleUp Pod/default/web-0: pod didn't trigger scale-up: 2 Insufficient cpu, 1 max node group size reached"}
	if diff := cmp.Diff(want, reasons(d)); diff != "" || d.Outcome != scalehist.ScaleUpNoOptionsAvailable || d.PodsRemaining != 1 {
		t.Errorf("%s, %d remaining (-want +got):\n%s", d.Summary(), d.PodsRemaining, diff)
	}
	if d := r.at(4 * time.Minute); len(d.Events) != 0 {
		t.Errorf("again within 5 minutes: got %v, want no event", reasons(d))
	}
	if d := r.at(5 * time.Minute); len(d.Events) != 1 {
		t.Errorf("after 5 minutes: got %v, want the event again", reasons(d))
	}
}

func TestPodsThatDoNotAsk(t *testing.T) {
	low, gated, fresh, deleted, done, daemon := testPod("low", "", "3", "1Gi"), testPod("gated", "", "3", "1Gi"), testPod("fresh", "", "3", "1Gi"), testPod("deleted", "", "3", "1Gi"), testPod("done", "", "3", "1Gi"), testPod("daemon", "", "3", "1Gi")
	priority := int32(-11)
	low.Spec.Priority = &priority
	gated.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
	fresh.Status.Conditions = nil
	deleted.DeletionTimestamp = &metav1.Time{Time: testStart}
	done.Status.Phase = corev1.PodFailed
	daemon.Annotations = map[string]string{drain.DaemonSetPodAnnotation: "true"}
	edge := testPod("edge", "", "3", "1Gi")
	cutoff := int32(-10)
	edge.Spec.Priority = &cutoff
	c := &testCluster{objects: scalehist.Objects{Pods: []*corev1.Pod{low, gated, fresh, deleted, done, daemon, edge}}}
	d := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{}).at(0)
	if diff := cmp.Diff([]string{"default/edge"}, d.UnschedulablePods); diff != "" {
		t.Errorf("asking for room (-want +got):\n%s", diff)
	}
}

func TestExpendablePodsTakeNoRoom(t *testing.T) {
	priority := int32(-20)
	cheap := testPod("cheap", "", "4", "1Gi")
	cheap.Spec.Priority, cheap.Spec.NodeName, cheap.Status = &priority, "n", corev1.PodStatus{Phase: corev1.PodRunning}
	nominated := testPod("nominated", "", "3", "1Gi")
	nominated.Status.NominatedNodeName = "n"
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{testNode("n", "a", "4", "16Gi")}, Pods: []*corev1.Pod{cheap, nominated, testPod("waits", "", "1", "1Gi"), testPod("more", "", "1", "1Gi")}}}
	d := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 5)}, config.DefaultSettings(), cloudprovider.Options{}).at(0)
	// The nominated pod takes 3 of 4 cores, the expendable one nothing: one pod fits, one asks.
	if d.FilteredSchedulable != 1 || len(d.UnschedulablePods) != 1 {
		t.Errorf("got %d filtered and %v asking, want 1 and 1", d.FilteredSchedulable, d.UnschedulablePods)
	}
}

func TestCooldownOfNewPods(t *testing.T) {
	for name, tc := range map[string]struct {
		age  time.Duration
		gpu  bool
		set  func(*config.Settings)
		want scalehist.ScaleUpOutcome
	}{
		"1 s old":               {age: time.Second, want: scalehist.ScaleUpInCooldown},
		"2 s old":               {age: 2 * time.Second, want: scalehist.ScaleUpSuccessful},
		"GPU pod, 20 s old":     {age: 20 * time.Second, gpu: true, want: scalehist.ScaleUpInCooldown},
		"bypassed scheduler":    {age: time.Second, set: func(s *config.Settings) { s.BypassedSchedulers = []string{"other"} }, want: scalehist.ScaleUpSuccessful},
		"scale-up delay":        {age: time.Minute, set: func(s *config.Settings) { s.NewPodScaleUpDelay = time.Minute }, want: scalehist.ScaleUpNotNeeded},
		"scale-up delay passed": {age: 61 * time.Second, set: func(s *config.Settings) { s.NewPodScaleUpDelay = time.Minute }, want: scalehist.ScaleUpSuccessful},
	} {
		t.Run(name, func(t *testing.T) {
			p := testPod("p", "", "1", "1Gi")
			p.CreationTimestamp = metav1.NewTime(testStart.Add(-tc.age))
			if tc.gpu {
				p.Spec.Containers[0].Resources.Requests[gpuResource] = p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
			}
			g := smallGroup("a", 0, 5)
			g.Template.Status.Allocatable[gpuResource] = g.Template.Status.Allocatable[corev1.ResourceCPU]
			s := config.DefaultSettings()
			if tc.set != nil {
				tc.set(&s)
			}
			d := start(t, &testCluster{objects: scalehist.Objects{Pods: []*corev1.Pod{p}}}, []scalehist.NodeGroup{g}, s, cloudprovider.Options{}).at(0)
			if d.Outcome != tc.want {
				t.Errorf("got %s %v, want %s", d.Summary(), d.Notes, tc.want)
			}
		})
	}
}

func TestMaxNodesTotal(t *testing.T) {
	s := config.DefaultSettings()
	s.MaxNodesTotal = 3
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{testNode("n", "a", "4", "16Gi")}, Pods: cpuPods(5, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 9)}, s, cloudprovider.Options{DefaultDelay: new(time.Duration)})
	if d := r.at(0); r.target("a") != 3 || d.Outcome != scalehist.ScaleUpSuccessful {
		t.Errorf("first loop: got %s, want a to grow to 3", d.Summary())
	}
	d := r.at(10 * time.Second)
	if d.Outcome != scalehist.ScaleUpLimitedByMaxNodesTotal || r.target("a") != 3 {
		t.Errorf("at the limit: got %s", d.Summary())
	}
	if got := reasons(d); len(got) < 2 || !strings.HasPrefix(got[0], "MaxNodesTotalReached") || !strings.HasSuffix(got[1], "pod didn't trigger scale-up: max total nodes in cluster reached") {
		t.Errorf("events: got %v", got)
	}
}

func TestTimedOutScaleUp(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(2, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5), smallGroup("b", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{
		Faults: []cloudprovider.Fault{{Group: "a", Kind: cloudprovider.FaultNeverRegister}},
	})
	r.at(0)
	if d := r.at(15 * time.Minute); d.Upcoming["a"] != 2 {
		t.Errorf("at the deadline: got upcoming %v, want 2 of a", d.Upcoming)
	}
	d := r.at(15*time.Minute + 10*time.Second)
	if r.target("a") != 0 || r.target("b") != 2 {
		t.Errorf("after the deadline: a has %d and b %d, want 0 and 2; %s", r.target("a"), r.target("b"), d.Summary())
	}
	if len(d.Backoff) != 1 || d.Backoff[0].NodeGroup != "a" || !d.Backoff[0].Until.Equal(testStart.Add(20*time.Minute+10*time.Second)) {
		t.Errorf("backoff: got %v, want a for 5 minutes", d.Backoff)
	}
	if diff := cmp.Diff([]scalehist.ScaleDown{{NodeGroup: "a", From: 2, To: 0, Reason: "scale-up timed out"}}, d.ScaleDowns); diff != "" {
		t.Errorf("target size (-want +got):\n%s", diff)
	}
	if got := reasons(d)[0]; got != "ScaleUpTimedOut ConfigMap/kube-system/cluster-autoscaler-status: Nodes added to group a failed to register within 15m10s" {
		t.Errorf("event: got %q", got)
	}
	if diff := cmp.Diff([]scalehist.GroupReason{{NodeGroup: "a", Reason: reasonBackoff}}, d.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
}

func TestStockOut(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(2, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5), smallGroup("b", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{
		Faults: []cloudprovider.Fault{{Group: "a", Kind: cloudprovider.FaultStockOut}},
	})
	r.at(0)
	d := r.at(10 * time.Second)
	if r.target("a") != 0 || r.target("b") != 2 {
		t.Errorf("after the stock-out: a has %d and b %d, want 0 and 2; %s %v", r.target("a"), r.target("b"), d.Summary(), d.Notes)
	}
	if len(r.p.Instances("a")) != 0 || len(d.ScaleDowns) != 2 || len(d.Backoff) != 1 {
		t.Errorf("got instances %v, scale-downs %v, backoff %v", r.p.Instances("a"), d.ScaleDowns, d.Backoff)
	}
	if !strings.HasPrefix(d.ScaleDowns[0].Reason, "instance could not be created") || !slices.Contains(d.Notes, "deleted 2 instances of a that could not be created") {
		t.Errorf("got scale-downs %v, notes %q: want why the target size went down", d.ScaleDowns, d.Notes)
	}
	if got := reasons(d)[0]; !strings.HasPrefix(got, "ScaleUpFailed ") || !strings.Contains(got, "Failed adding 2 nodes (2 unseen previously) to group a due to OutOfResource.RESOURCE_POOL_EXHAUSTED") {
		t.Errorf("event: got %q", got)
	}
}

// TestErrorClasses: instances that failed for several reasons are reported by class and code.
func TestErrorClasses(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(3, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{Faults: []cloudprovider.Fault{
		{Kind: cloudprovider.FaultStockOut, Count: 1, Code: cloudprovider.CodeQuota, Message: "16 CPUs"},
		{Kind: cloudprovider.FaultStockOut, Skip: 1, Class: cloudprovider.ErrorOther, Code: "VM_FAILED", Message: "no disk"},
	}})
	r.at(0)
	d := r.at(10 * time.Second)
	var got []string
	for _, e := range d.Events {
		if e.Reason == "ScaleUpFailed" {
			got = append(got, e.Message)
		}
	}
	want := []string{
		"Failed adding 1 nodes (1 unseen previously) to group a due to OutOfResource.QUOTA_EXCEEDED; source errors: 16 CPUs",
		"Failed adding 1 nodes (1 unseen previously) to group a due to Other.VM_FAILED; source errors: no disk",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if r.target("a") != 1 {
		t.Errorf("target %d, want the one instance that was let through", r.target("a"))
	}
}

// TestProviderDown: an error of the provider's refresh ends the loop: nothing is decided, nobody is backed off.
func TestProviderDown(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(2, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{
		Faults: []cloudprovider.Fault{{Kind: cloudprovider.FaultDown, Skip: 0, Count: 2, Message: "503"}},
	})
	for i := range 2 {
		d := r.at(time.Duration(i) * 10 * time.Second)
		if d.Outcome != scalehist.ScaleUpNotTried || d.Acted() || d.Again || len(d.Backoff) > 0 || r.a.Status() != nil {
			t.Errorf("loop %d: got %s, backoff %v, status %v: want nothing", i, d.Summary(), d.Backoff, r.a.Status())
		}
		if diff := cmp.Diff([]string{"nothing is done, refreshing the cloud provider: 503"}, d.Notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
	}
	if d := r.at(20 * time.Second); d.Outcome != scalehist.ScaleUpSuccessful {
		t.Errorf("once it answers: got %s", d.Summary())
	}
}

func TestRefusedScaleUp(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(2, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{
		Faults: []cloudprovider.Fault{{Kind: cloudprovider.FaultRefuse, Count: 1, Message: "quota"}},
	})
	d := r.at(0)
	if d.Outcome != scalehist.ScaleUpError || d.Again || r.target("a") != 0 {
		t.Errorf("got %s, again %v", d.Summary(), d.Again)
	}
	if diff := cmp.Diff([]scalehist.FailedScaleUp{{NodeGroup: "a", Delta: 2, Reason: "quota"}}, d.Failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	if d := r.at(5*time.Minute - time.Second); d.Outcome != scalehist.ScaleUpNoOptionsAvailable {
		t.Errorf("in backoff: got %s", d.Summary())
	}
	if d := r.at(5 * time.Minute); d.Outcome != scalehist.ScaleUpSuccessful {
		t.Errorf("after the backoff: got %s", d.Summary())
	}
}

// A target size ahead of the nodes without a request of our own gives no upcoming nodes, and makes the group unhealthy
// when too much is missing; after the provision time it is lowered.
func TestTargetAheadOfNodes(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{testNode("n", "a", "1", "1Gi")}, Pods: cpuPods(1, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 6, 9), smallGroup("b", 0, 9)}, config.DefaultSettings(), cloudprovider.Options{})
	d := r.at(0)
	if d.Upcoming["a"] != 0 || r.target("b") != 1 {
		t.Errorf("got upcoming %v and b %d, want none and 1", d.Upcoming, r.target("b"))
	}
	if diff := cmp.Diff([]scalehist.GroupReason{{NodeGroup: "a", Reason: reasonNotReady}}, d.Skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	r.at(15 * time.Minute)
	if r.target("a") != 6 {
		t.Errorf("after 15 minutes: a has %d, want 6 still", r.target("a"))
	}
	if d := r.at(15*time.Minute + time.Second); r.target("a") != 1 || d.Outcome != scalehist.ScaleUpNotTried {
		t.Errorf("after more than 15 minutes: a has %d, want 1, and the loop over; got %s", r.target("a"), d.Summary())
	}
}

func TestLongUnregisteredIsDeleted(t *testing.T) {
	c := &testCluster{}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, config.DefaultSettings(), cloudprovider.Options{Faults: []cloudprovider.Fault{{Kind: cloudprovider.FaultNeverRegister}}})
	r.p.Fill(testStart)
	r.at(0)
	r.at(15 * time.Minute)
	if r.target("a") != 2 {
		t.Fatalf("after 15 minutes: a has %d, want 2 still", r.target("a"))
	}
	d := r.at(15*time.Minute + time.Second)
	if r.target("a") != 0 || len(d.ScaleDowns) != 2 || reasons(d)[0] != "DeleteUnregistered ConfigMap/kube-system/cluster-autoscaler-status: Removed unregistered node a-0" {
		t.Errorf("got a %d, %v, %v", r.target("a"), d.ScaleDowns, reasons(d))
	}
}

func TestUnhealthyCluster(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(1, "3")}}
	for i := range 8 {
		n := testNode(fmt.Sprintf("n%d", i), "", "1", "1Gi")
		if i < 4 {
			n.Status.Conditions[0].Status = corev1.ConditionUnknown
		}
		c.objects.Nodes = append(c.objects.Nodes, n)
	}
	d := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{}).at(0)
	if d.Outcome != scalehist.ScaleUpNotTried || len(d.Events) != 1 || d.Events[0].Reason != "ClusterUnhealthy" {
		t.Errorf("4 of 8 nodes unready: got %s %v", d.Summary(), reasons(d))
	}
}

func TestMinSize(t *testing.T) {
	s := config.DefaultSettings()
	s.EnforceMinSize = true
	g := smallGroup("a", 0, 5)
	g.MinSize = 2
	d := start(t, &testCluster{}, []scalehist.NodeGroup{g, smallGroup("b", 0, 5)}, s, cloudprovider.Options{}).at(0)
	if diff := cmp.Diff([]scalehist.ScaleUp{{NodeGroup: "a", From: 0, To: 2, Max: 5}}, d.ScaleUps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestZeroOrMax(t *testing.T) {
	yes := true
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(1, "3")}}
	o := cloudprovider.Options{GroupOptions: map[string]cloudprovider.GroupOptions{"a": {ZeroOrMaxNodeScaling: &yes}}}
	d := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 4)}, config.DefaultSettings(), o).at(0)
	if diff := cmp.Diff([]scalehist.ScaleUp{{NodeGroup: "a", From: 0, To: 4, Max: 4}}, d.ScaleUps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s := config.DefaultSettings()
	s.MaxNodesTotal = 3
	d = start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 4)}, s, o).at(0)
	if diff := cmp.Diff([]scalehist.GroupReason{{NodeGroup: "a", Reason: reasonAtomic}}, d.Skipped); diff != "" {
		t.Errorf("over max-nodes-total (-want +got):\n%s", diff)
	}
}

func TestBalancing(t *testing.T) {
	s := config.DefaultSettings()
	s.BalanceSimilarNodeGroups = true
	zone := func(name, z string, target int) scalehist.NodeGroup {
		g := smallGroup(name, target, 9)
		g.Template.Labels[corev1.LabelTopologyZone] = z
		return g
	}
	other := zone("c", "c", 0)
	other.Template.Labels["pool"] = "other"
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(4, "3")}}
	d := start(t, c, []scalehist.NodeGroup{zone("a", "a", 0), zone("b", "b", 0), other}, s, cloudprovider.Options{}).at(0)
	if diff := cmp.Diff([]scalehist.ScaleUp{{NodeGroup: "a", From: 0, To: 2, Max: 9}, {NodeGroup: "b", From: 0, To: 2, Max: 9}}, d.ScaleUps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b"}, d.Options[0].SimilarNodeGroups); diff != "" {
		t.Errorf("similar (-want +got):\n%s", diff)
	}
}

func TestSameInputSameDecisions(t *testing.T) {
	run := func() []scalehist.Decision {
		c, groups := benchWorld(20, 5, 60, 7)
		r := start(t, c, groups, config.DefaultSettings(), cloudprovider.Options{})
		var out []scalehist.Decision
		for i := range 12 {
			out = append(out, r.at(time.Duration(i)*10*time.Second))
		}
		return out
	}
	if diff := cmp.Diff(run(), run()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestFirstLoopCleansUp(t *testing.T) {
	n := testNode("n", "a", "4", "16Gi")
	n.Spec.Taints = []corev1.Taint{{Key: toBeDeletedTaint, Value: "1", Effect: corev1.TaintEffectNoSchedule}, {Key: "team", Effect: corev1.TaintEffectNoSchedule}}
	n.Spec.Unschedulable = true
	other := testNode("other", "", "4", "16Gi")
	other.Spec.Taints = n.Spec.Taints
	candidate := testNode("candidate", "a", "4", "16Gi")
	candidate.Spec.Taints = []corev1.Taint{{Key: deletionCandidateTaint, Effect: corev1.TaintEffectPreferNoSchedule}}
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{n, other, candidate}}}
	s := config.DefaultSettings()
	s.Down.SoftTaints = 0
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 5)}, s, cloudprovider.Options{})
	r.at(0)
	if diff := cmp.Diff([]string{"n: [team]", "candidate: []"}, c.tainted); diff != "" {
		t.Errorf("taints set (-want +got):\n%s", diff)
	}
	if c.objects.Nodes[0].Spec.Unschedulable {
		t.Error("the node is still closed")
	}
	r.at(10 * time.Second)
	if len(c.tainted) != 2 {
		t.Errorf("second loop: got %v, want nothing more", c.tainted)
	}
}

func TestNodesThatOnlyLookReady(t *testing.T) {
	gpu := testNode("gpu", "a", "4", "16Gi")
	gpu.Labels["gpu"] = "t4"
	starting := testNode("starting", "a", "4", "16Gi")
	starting.Spec.Taints = []corev1.Taint{{Key: "startup-taint.cluster-autoscaler.kubernetes.io/net", Effect: corev1.TaintEffectNoSchedule}}
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{gpu, starting, testNode("plain", "a", "4", "16Gi")}}}
	l := newLoop(t, c, []scalehist.NodeGroup{smallGroup("a", 3, 5)}, config.DefaultSettings(), cloudprovider.Options{GPULabel: "gpu"})
	if l.readyNodes != 1 || len(l.nodes) != 3 {
		t.Errorf("got %d ready of %d nodes, want 1 of 3", l.readyNodes, len(l.nodes))
	}
	if ok, _ := ready(gpu); !ok {
		t.Error("the object itself was changed")
	}
}

func TestTPURequestsAreLeftOut(t *testing.T) {
	p := testPod("p", "", "1", "1Gi")
	p.Spec.Containers[0].Resources.Requests[tpuPrefix+"v3"] = p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]
	c := &testCluster{objects: scalehist.Objects{Pods: []*corev1.Pod{p}}}
	d := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, config.DefaultSettings(), cloudprovider.Options{}).at(0)
	if d.Outcome != scalehist.ScaleUpSuccessful || len(p.Spec.Containers[0].Resources.Requests) != 3 {
		t.Errorf("got %s, requests %v", d.Summary(), p.Spec.Containers[0].Resources.Requests)
	}
}

func TestNodeGoneWithoutTheProvider(t *testing.T) {
	// The provider still counts the node, so it refuses to lower the target size: that is a note, not an error.
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{testNode("n0", "a", "4", "16Gi"), testNode("n1", "a", "4", "16Gi")}}}
	g := smallGroup("a", 2, 5)
	g.MinSize = 2
	r := start(t, c, []scalehist.NodeGroup{g}, config.DefaultSettings(), cloudprovider.Options{})
	c.objects.Nodes = c.objects.Nodes[:1]
	r.at(0)
	if d := r.at(16 * time.Minute); r.target("a") != 2 || len(d.Notes) == 0 {
		t.Errorf("got target %d, notes %v", r.target("a"), d.Notes)
	}
}
