package moments

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// TestMoments: states come back from a file as they were, in their order, and what did not change is in it once.
func TestMoments(t *testing.T) {
	a, b, c := &corev1.Pod{ObjectMeta: named("a")}, &corev1.Pod{ObjectMeta: named("b")}, &corev1.Pod{ObjectMeta: named("c")}
	bound := b.DeepCopy()
	bound.Spec.NodeName = "n"
	node := &corev1.Node{ObjectMeta: named("n")}
	group := func(size int) []scalehist.GroupState {
		return []scalehist.GroupState{
			{NodeGroup: scalehist.NodeGroup{Name: "g", MaxSize: 3, TargetSize: size, Template: node}, Upcoming: []scalehist.UpcomingNode{{Name: "g-1", RequestedAt: time.Unix(5, 0).UTC()}}},
			{NodeGroup: scalehist.NodeGroup{Name: "bare"}, Deleting: []string{"x"}, TemplatePods: []*corev1.Pod{a}},
		}
	}
	want := []scalehist.ClusterState{
		{Loop: 1, At: time.Unix(10, 0).UTC(), Objects: &scalehist.Objects{Pods: []*corev1.Pod{a, b}, Nodes: []*corev1.Node{node}}, NodeGroups: group(1)},
		// A pod changed in place, one came: the order is not that of the versions.
		{Loop: 2, At: time.Unix(20, 0).UTC(), Objects: &scalehist.Objects{Pods: []*corev1.Pod{a, bound, c}, Nodes: []*corev1.Node{node}}, NodeGroups: group(2),
			Backoff: []scalehist.GroupBackoff{{NodeGroup: "g", Until: time.Unix(30, 0).UTC(), Reason: "stock"}}},
		{Loop: 3, At: time.Unix(30, 0).UTC(), Objects: &scalehist.Objects{Pods: []*corev1.Pod{c, a}}},
	}
	var k Builder
	if k.Moments() != nil {
		t.Error("a builder of nothing has moments")
	}
	for _, s := range want {
		k.Add(s)
	}
	data, err := json.Marshal(k.Moments())
	if err != nil {
		t.Fatal(err)
	}
	var read scalehist.Moments
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if got := []int{len(read.Objects.Pods), len(read.Objects.Nodes), len(read.Templates)}; !cmp.Equal(got, []int{4, 1, 1}) {
		t.Errorf("pods, nodes, templates kept: %v", got)
	}
	for n := range want {
		got, err := State(&read, n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[n], got); diff != "" {
			t.Errorf("state %d (-want +got):\n%s", n, diff)
		}
	}

	var again Builder
	if err := again.AddAll(&read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&read, again.Moments()); diff != "" {
		t.Errorf("kept again (-want +got):\n%s", diff)
	}
}

// TestMomentsDamaged: a file that was changed is an error that says where, and no panic.
func TestMomentsDamaged(t *testing.T) {
	for want, m := range map[string]scalehist.Moment{
		`there are no objects called "pod"`:                   {Objects: map[string][][2]int{"pod": {{0, 0}}}},
		"pods 0 to 0 are not among the 0 there are":           {Objects: map[string][][2]int{"pods": {{0, 0}}}},
		"pods -1 to 0 are not among":                          {Objects: map[string][][2]int{"pods": {{-1, 0}}}},
		"pods 2 to 1 are not among":                           {Objects: map[string][][2]int{"pods": {{2, 1}}}},
		"0 templates for 1 node groups":                       {NodeGroups: []scalehist.GroupState{{}}},
		"the template of node group g is not among the 0 ":    {NodeGroups: []scalehist.GroupState{{NodeGroup: scalehist.NodeGroup{Name: "g"}}}, Templates: []int{0}},
		`moment 1 of 1: there are no objects called "custom"`: {Objects: map[string][][2]int{"custom": {{0, 0}}}},
	} {
		all := scalehist.Moments{Moments: []scalehist.Moment{m}}
		if _, err := State(&all, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if err := new(Builder).AddAll(&all); err == nil {
			t.Errorf("%s: taken over", want)
		}
	}
}
