package virtualca

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
)

// TestWholeGroups: a zero-or-max group goes in one call and only as a whole.
func TestWholeGroups(t *testing.T) {
	whole := true
	options := cloudprovider.Options{GroupOptions: map[string]cloudprovider.GroupOptions{"z": {ZeroOrMaxNodeScaling: &whole}}}
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("z", 3)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("z", 3, 3)}, quick(), options)
	r.loops(0, 2*time.Minute)
	resizes := r.p.Resizes()
	if len(resizes) != 1 || resizes[0].To != 0 {
		t.Errorf("got %+v, want one call for all nodes", resizes)
	}

	c = &testCluster{objects: scalehist.Objects{Nodes: nodesOf("z", 3), Pods: []*corev1.Pod{on("z-1", testPod("p", "web", "3", "1Gi"))}}}
	r = start(t, c, []scalehist.NodeGroup{smallGroup("z", 3, 3)}, quick(), options)
	all := r.loops(0, 2*time.Minute)
	if len(gone(all)) > 0 || staysBecause(all[3], "z-0") != nodeAtomicScaleDown {
		t.Errorf("removed %v; z-0 stays because of %q", gone(all), staysBecause(all[3], "z-0"))
	}
}

// TestWholeGroupFails: when one node of a zero-or-max group cannot go, none does.
func TestWholeGroupFails(t *testing.T) {
	whole := true
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("z", 2)}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("z", 2, 2)}, quick(), cloudprovider.Options{GroupOptions: map[string]cloudprovider.GroupOptions{"z": {ZeroOrMaxNodeScaling: &whole}}})
	r.loops(0, 90*time.Second)
	c.objects.Pods = append(c.objects.Pods, on("z-1", testPod("late", "web", "3", "1Gi")))
	all := r.loops(2*time.Minute, 2*time.Minute)
	if len(gone(all)) > 0 || r.a.down.deletions.count() > 0 {
		t.Errorf("removed %v, %d under way; want none", gone(all), r.a.down.deletions.count())
	}
	for _, n := range c.objects.Nodes {
		if scalehist.HasTaint(n, toBeDeletedTaint) {
			t.Errorf("%s keeps its taint", n.Name)
		}
	}
}

func TestBatchedDeletion(t *testing.T) {
	s := quick()
	s.Down.BatchInterval = 20 * time.Second
	r := start(t, &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 3)}}, []scalehist.NodeGroup{smallGroup("a", 3, 3)}, s, cloudprovider.Options{})
	all := r.loops(0, 2*time.Minute)
	if diff := cmp.Diff([]string{"1m55s a-0", "1m55s a-1", "1m55s a-2"}, gone(all)); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if got := r.p.Resizes(); len(got) != 1 {
		t.Errorf("%d calls, want 1", len(got))
	}
}

func TestDelayAnnotations(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 1)}}
	c.objects.Nodes[0].Annotations[delayDeletionPrefix+"disks"] = "detaching"
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 3)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 4*time.Minute)
	if diff := cmp.Diff([]string{"3m35s a-0"}, gone(all)); diff != "" {
		t.Errorf("removed after the delay's time (-want +got):\n%s", diff)
	}
}

func TestWaitsForCompletion(t *testing.T) {
	job := on("a-0", testPod("job", "web", "1", "1Gi"))
	job.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "on-completion"}
	c := &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 1), Pods: []*corev1.Pod{job}}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 3)}, quick(), cloudprovider.Options{})
	all := r.loops(0, 2*time.Minute)
	if got := staysBecause(all[len(all)-1], "a-0"); got != nodeWaitsForCompletion || len(gone(all)) > 0 {
		t.Errorf("a-0 stays because of %q, removed %v", got, gone(all))
	}
	c.objects.Pods = nil
	if diff := cmp.Diff([]string{"2m35s a-0"}, gone(r.loops(150*time.Second, 3*time.Minute))); diff != "" {
		t.Errorf("when the pod is done the node goes at once (-want +got):\n%s", diff)
	}
}

// TestDaemonSetPods are evicted from a node that is drained, not from an empty one, unless asked to.
func TestDaemonSetPods(t *testing.T) {
	daemon := func(name string) *corev1.Pod {
		p := on("a-0", testPod(name, name, "100m", "1Gi"))
		p.OwnerReferences[0].Kind = "DaemonSet"
		return p
	}
	kept := daemon("kept")
	kept.Annotations = map[string]string{daemonSetEvictionAnnotation: "false"}
	wanted := daemon("wanted")
	wanted.Annotations = map[string]string{daemonSetEvictionAnnotation: "true"}
	for name, tc := range map[string]struct {
		other []*corev1.Pod
		want  []string
	}{
		"occupied": {[]*corev1.Pod{on("a-0", testPod("p", "web", "100m", "1Gi"))}, []string{"agent", "wanted", "p"}},
		"empty":    {nil, []string{"wanted"}},
	} {
		c := &testCluster{objects: scalehist.Objects{Nodes: append(nodesOf("a", 1), testNode("room", "", "4", "16Gi")), Pods: append([]*corev1.Pod{daemon("agent"), kept, wanted}, tc.other...)}}
		r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 3)}, quick(), cloudprovider.Options{})
		r.loops(0, 2*time.Minute)
		if diff := cmp.Diff(tc.want, c.evicted); diff != "" {
			t.Errorf("%s: evicted (-want +got):\n%s", name, diff)
		}
	}
}

func TestDrainByPriority(t *testing.T) {
	s := quick()
	s.Down.DrainPriorities = []config.DrainPriority{{Priority: 0, Termination: 10 * time.Second}, {Priority: 1000, Termination: time.Minute}}
	var pods []*corev1.Pod
	for name, priority := range map[string]int32{"high": 2000, "low": 10, "lowest": -1} {
		p := on("a-0", testPod(name, name, "100m", "1Gi"))
		p.Spec.Priority = &priority
		pods = append(pods, p)
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	c := &testCluster{objects: scalehist.Objects{Nodes: append(nodesOf("a", 1), testNode("room", "", "4", "16Gi")), Pods: pods}, stubborn: map[string]bool{"low": true}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 1, 3)}, s, cloudprovider.Options{})
	r.loops(0, 2*time.Minute)
	if diff := cmp.Diff([]string{"low", "lowest"}, c.evicted); diff != "" {
		t.Errorf("the first step holds until its pods are gone (-want +got):\n%s", diff)
	}
	c.objects.Pods = slices.DeleteFunc(slices.Clone(c.objects.Pods), func(p *corev1.Pod) bool { return p.Name == "low" })
	all := r.loops(150*time.Second, 150*time.Second)
	if diff := cmp.Diff([]string{"low", "lowest", "high"}, c.evicted); diff != "" {
		t.Errorf("then the next step (-want +got):\n%s", diff)
	}
	if len(gone(all)) != 1 {
		t.Errorf("removed: %v", gone(all))
	}
}

// TestRunOnceCatchesUp: without calls of Work the removal is finished by the next loop.
func TestRunOnceCatchesUp(t *testing.T) {
	r := start(t, &testCluster{objects: scalehist.Objects{Nodes: nodesOf("a", 1)}}, []scalehist.NodeGroup{smallGroup("a", 1, 3)}, quick(), cloudprovider.Options{})
	r.at(0)
	d := r.at(90 * time.Second)
	if d.ScaleDown != scalehist.ScaleDownNodeDeleteStarted || !d.Again {
		t.Fatalf("got %s, again %v", d.ScaleDown, d.Again)
	}
	if got := gone([]scalehist.Decision{r.at(100 * time.Second)}); len(got) != 1 {
		t.Errorf("removed: %v", got)
	}
	if _, ok := r.a.NextWork(); ok {
		t.Error("there is still work")
	}
}

// TestWholeGroupThatCannotGrow: when one instance of a zero-or-max group cannot be made, all go.
func TestWholeGroupThatCannotGrow(t *testing.T) {
	yes := true
	for name, tc := range map[string]struct {
		part *bool
		want int
	}{"all or none": {nil, 0}, "in part": {&yes, 2}} {
		c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(1, "3")}}
		r := start(t, c, []scalehist.NodeGroup{smallGroup("z", 0, 3)}, quick(), cloudprovider.Options{
			Faults:       []cloudprovider.Fault{{Kind: cloudprovider.FaultStockOut, Count: 1, Delay: time.Second}},
			GroupOptions: map[string]cloudprovider.GroupOptions{"z": {ZeroOrMaxNodeScaling: &yes, AllowNonAtomicScaleUpToMax: tc.part}},
		})
		r.at(0)
		c.objects.Pods = nil
		d := r.at(10 * time.Second)
		if got := r.target("z"); got != tc.want {
			t.Errorf("%s: target size %d, want %d: %s %v", name, got, tc.want, d.Summary(), d.Notes)
		}
	}
}
