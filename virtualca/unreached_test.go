package virtualca

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/config"
	"github.com/scalehist/scalehist/virtualca/expander"
)

// The rules here are those that no recorded case reaches (fixtures/conformance/mutations.md) and no other test held.

// TestLeastWasteReckonsWithCapacity: by allocatable the small group would be full and win, by capacity it wastes more.
func TestLeastWasteReckonsWithCapacity(t *testing.T) {
	small, large := opt("small", 1, 2, "4", "1"), opt("large", 1, 2, "3", "1")
	small.Template.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("2")
	s := config.DefaultSettings()
	s.Expander = []string{"least-waste"}
	if got, l := weigh(t, s, nil, []*expander.Option{small, large}); got != "large" {
		t.Errorf("got %s, want large: %v", got, l.d.Options)
	}
}

// TestSpreadPodsReturnToOldNodes: while node full, which has no room for a large pod, has no pod of the app, node free
// may have no second one. The small pod goes to full and changes that, but only after the large ones were looked at. So
// the scale-up finds room for one of them on free, and upstream counts that node as a new one.
func TestSpreadPodsReturnToOldNodes(t *testing.T) {
	spread := func(p *corev1.Pod, prio int32) *corev1.Pod {
		p.Labels["spread"] = "yes"
		p.Spec.Priority = &prio
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"spread": "yes"}},
		}}
		return p
	}
	c := &testCluster{objects: scalehist.Objects{
		Nodes: []*corev1.Node{testNode("full", "a", "4", "16Gi"), testNode("free", "a", "4", "16Gi")},
		Pods: []*corev1.Pod{
			on("full", testPod("block", "block", "3500m", "1Gi")), on("free", spread(testPod("first", "large", "1", "1Gi"), 10)),
			spread(testPod("small", "small", "500m", "1Gi"), 0),
		},
	}}
	for _, name := range []string{"large-1", "large-2", "large-3", "large-4"} {
		c.objects.Pods = append(c.objects.Pods, spread(testPod(name, "large", "1", "1Gi"), 10))
	}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 2, 9)}, config.DefaultSettings(), cloudprovider.Options{})
	d := r.at(0)
	if len(d.UnschedulablePods) != 4 || len(d.Options) != 1 || d.Options[0].NodeCount != 3 || d.Options[0].Pods != 4 {
		t.Errorf("got %s, %v unschedulable, options %+v, want 3 nodes for 4 pods", d.Summary(), d.UnschedulablePods, d.Options)
	}
}

// TestUnreadyNodesWaitLonger: an unready node goes after the unready time, not after the unneeded time.
func TestUnreadyNodesWaitLonger(t *testing.T) {
	n := testNode("gone-dark", "a", "4", "16Gi")
	n.Status.Conditions[0].Status = corev1.ConditionFalse
	c := &testCluster{objects: scalehist.Objects{Nodes: []*corev1.Node{testNode("fine", "a", "4", "16Gi"), n}}}
	group := smallGroup("a", 2, 9)
	group.MinSize = 1
	s := config.DefaultSettings()
	s.Down.UnneededTime, s.Down.UnreadyTime = time.Hour, 2*time.Minute
	r := start(t, c, []scalehist.NodeGroup{group}, s, cloudprovider.Options{})
	for _, tc := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {2 * time.Minute, 0}, {2*time.Minute + time.Second, 1}} {
		if d := r.at(tc.at); len(d.Deleting) != tc.want {
			t.Errorf("at +%s %d nodes are removed (%v), want %d; unremovable %v", tc.at, len(d.Deleting), d.Deleting, tc.want, d.Unremovable)
		}
	}
}

// TestEmptyNodesGoBeforeOthers: where the group's min size leaves room for one removal, the node without pods is removed.
func TestEmptyNodesGoBeforeOthers(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{
		Nodes:       nodesOf("a", 3),
		Pods:        []*corev1.Pod{on("a-0", testPod("web-0", "web", "500m", "1Gi")), on("a-2", testPod("web-2", "web", "3", "1Gi"))},
		ReplicaSets: []*appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web"}}},
	}}
	group := smallGroup("a", 3, 9)
	group.MinSize = 2
	s := quick()
	s.Down.UnneededTime = 0
	r := start(t, c, []scalehist.NodeGroup{group}, s, cloudprovider.Options{})
	d := r.at(0)
	if len(d.Deleting) != 1 || d.Deleting[0].Node != "a-1" || staysBecause(d, "a-0") != nodeGroupMinSizeReached {
		t.Errorf("got %+v, unremovable %v, want only the empty a-1 to go", d.Deleting, d.Unremovable)
	}
}
