package harness_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
)

// twoPools are the groups std, of small nodes, and big. Of big, pods with the selector need a node.
func twoPools(bigNodes int) workload.Script {
	return workload.Script{
		Name: "pools", Duration: 6 * time.Minute,
		Groups: []workload.Group{
			{Name: "big", Machine: workload.Machine{Type: "big-16", CPU: "16", Memory: "64Gi"}, Max: 4, Nodes: bigNodes, Delay: 20 * time.Second, Labels: map[string]string{"pool": "big"}},
			{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Min: 1, Max: 3, Nodes: 1, Delay: 20 * time.Second},
		},
	}
}

// TestGroupGrowsFromWhenItComes: pods that need a group wait until it comes, and then it grows.
func TestGroupGrowsFromWhenItComes(t *testing.T) {
	s := twoPools(0)
	s.Steps = []workload.Step{{At: 30 * time.Second, Add: workload.Pods{Workload: "early", Count: 1, CPU: "12", Memory: "1Gi", NodeSelector: map[string]string{"pool": "big"}}}}
	in := scripted(t, s)
	group := in.NodeGroups[0]
	in.NodeGroups = in.NodeGroups[1:]
	in.GroupChanges = []trace.GroupChange{{At: in.Start.Add(time.Minute), Op: scalehist.OpAdd, Group: group}}
	r := upstreams(t, in, harness.WithBatchInterval(0))
	if wait := 100 * time.Millisecond; len(r.Steps) != 1 || r.Steps[0].At.Sub(in.Start) < time.Minute || r.Steps[0].At.Sub(in.Start) > time.Minute+wait || len(r.UnschedulableAtEnd) != 0 {
		t.Errorf("steps %+v, unschedulable %v, want that big grows when it comes", r.Steps, r.UnschedulableAtEnd)
	}
	for _, d := range r.Decisions {
		for _, o := range d.Options {
			if o.NodeGroup == "big" && d.At.Before(in.Start.Add(time.Minute)) {
				t.Errorf("big is an option at %s, before it came", d.At)
			}
		}
	}
}

// TestGroupThatComes: the nodes that a group comes with join by themselves, and then it grows as any other.
func TestGroupThatComes(t *testing.T) {
	s := twoPools(0)
	s.Steps = []workload.Step{{At: 2 * time.Minute, Add: workload.Pods{Workload: "late", Count: 2, CPU: "12", Memory: "1Gi", NodeSelector: map[string]string{"pool": "big"}}}}
	in := scripted(t, s)
	group := in.NodeGroups[0]
	group.TargetSize = 1
	in.NodeGroups = in.NodeGroups[1:]
	in.GroupChanges = []trace.GroupChange{{At: in.Start.Add(time.Minute), Op: scalehist.OpAdd, Group: group}}
	r := upstreams(t, in, harness.WithBatchInterval(0))
	if diff := cmp.Diff(map[string]int{"big": 1}, r.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	if len(r.UnschedulableAtEnd) != 0 {
		t.Errorf("unschedulable %v, want none", r.UnschedulableAtEnd)
	}
	var sizes []scalehist.SizeAt
	for _, g := range r.NodeGroups {
		if g.Name == "big" {
			sizes = g.Sizes
			if g.Initial != 0 || g.Final != 2 || g.Peak != 2 || g.MaxSize != 4 {
				t.Errorf("big %+v, want none at first and 2 at the end", g)
			}
		}
	}
	if len(sizes) != 3 || sizes[0].Size != 0 || sizes[1] != (scalehist.SizeAt{Offset: scalehist.Duration(time.Minute), Size: 1}) || sizes[2].Size != 2 {
		t.Errorf("sizes of big %+v, want 1 from the first minute on, and then 2", sizes)
	}
	if got := r.ScaledUpNodes[0]; got.NodeGroup != "big" || got.ReadyAt.Sub(in.Start) != 80*time.Second {
		t.Errorf("first node %+v, want one of big 20 s after the group came", got)
	}
}

// TestGroupComesWithItsNodes: nodes that were there before their group are its nodes from when it comes, and are not asked
// for again.
func TestGroupComesWithItsNodes(t *testing.T) {
	s := twoPools(1)
	s.Flags = []string{"--scale-down-unneeded-time=2m"}
	in := scripted(t, s)
	group := in.NodeGroups[0]
	in.NodeGroups = in.NodeGroups[1:]
	in.GroupChanges = []trace.GroupChange{{At: in.Start.Add(time.Minute), Op: scalehist.OpAdd, Group: group}}
	r := upstreams(t, in)
	if len(r.ScaledUpNodes) != 0 {
		t.Errorf("nodes %+v came, want none: big-0 was there", r.ScaledUpNodes)
	}
	// It stood idle from the start, but only a group's nodes are removed: the clock runs from when it came.
	if len(r.Steps) != 1 || r.Steps[0].At.Sub(in.Start) < 3*time.Minute || r.Steps[0].Changes[0].NodeGroup != "big" {
		t.Errorf("steps %+v, want big to shrink two minutes after it came", r.Steps)
	}
}

// TestGroupThatGoes: a group that is removed is gone with its nodes but those that outlive it, which stay until removed. A
// removal that was under way ends.
func TestGroupThatGoes(t *testing.T) {
	s := twoPools(3)
	s.Flags = []string{"--scale-down-unneeded-time=30s", "--node-delete-delay-after-taint=2m", "--max-scale-down-parallelism=1"}
	s.Standing = []workload.Standing{{Node: "big-1", Pods: workload.Pods{Workload: "web", Count: 2, CPU: "1500m", Memory: "1Gi"}}}
	in := scripted(t, s)
	went := in.Start.Add(90 * time.Second)
	in.GroupChanges = []trace.GroupChange{{At: went, Op: scalehist.OpDelete, Group: in.NodeGroups[0], Keep: []string{"big-2"}}}
	in.Changes = append(in.Changes, scalehist.Change{At: in.Start.Add(4 * time.Minute), Op: scalehist.OpDelete, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "big-2"}}})
	r := upstreams(t, in, harness.WithBatchInterval(0))
	gone := map[string]time.Duration{}
	for _, b := range r.Batches {
		for _, n := range b.NodesGone {
			gone[n] = b.At.Sub(in.Start)
		}
	}
	if diff := cmp.Diff(map[string]time.Duration{"big-0": 90 * time.Second, "big-1": 90 * time.Second, "big-2": 4 * time.Minute}, gone); diff != "" {
		t.Errorf("nodes that went (-want +got):\n%s", diff)
	}
	if len(r.ScaledDownNodeGroups) != 0 || len(r.UnschedulableAtEnd) != 0 {
		t.Errorf("scaled down %v, unschedulable %v, want neither: nobody asked for it, and std has room", r.ScaledDownNodeGroups, r.UnschedulableAtEnd)
	}
	for _, g := range r.NodeGroups {
		if g.Name == "big" && (g.Initial != 3 || g.Final != 0 || g.MaxSize != 4) {
			t.Errorf("big %+v, want 3 at first and none at the end", g)
		}
	}
	began := false
	for _, d := range r.Decisions {
		began = began || len(d.Deleting) > 0 && d.At.Before(went)
	}
	if !began {
		t.Error("no removal was under way when the group went: the test proves less than it says")
	}
}
