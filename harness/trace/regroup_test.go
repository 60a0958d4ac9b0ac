package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// TestLateGroup: a group that comes within the window comes with what it had then. Nodes that were there before it are fed in;
// those that come after it are its doing, and so is their end. Its later growth is a recorded step, what it came with is not.
func TestLateGroup(t *testing.T) {
	in := newLog().add(4*sec, node("new-a", "new")).
		add(5*sec, with(group("new", 2), "spec.maxSize", 7)).
		add(20*sec, node("new-b", "new")).
		update(30*sec, with(group("new", 3), "spec.maxSize", 7)).
		add(45*sec, node("new-c", "new")).
		update(50*sec, tainted(node("new-a", "new"), gone)).update(51*sec, with(group("new", 2), "spec.maxSize", 7)).
		remove(55*sec, tainted(node("new-a", "new"), gone)).
		input(t, 0, 0)
	if diff := cmp.Diff([]string{"+4s add Node new-a"}, lines(in)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if len(in.GroupChanges) != 1 || in.GroupChanges[0].Op != scalehist.OpAdd || in.GroupChanges[0].Group.TargetSize != 2 || in.GroupChanges[0].Group.MaxSize != 7 {
		t.Errorf("group changes %+v, want new, which comes with 2 nodes", in.GroupChanges)
	}
	if diff := cmp.Diff([]string{"+30s new 2->3", "+51s new 3->2"}, stepLines(in.Truth.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if got := in.Truth.FinalSizes["new"]; got != 2 {
		t.Errorf("new ends with %d, want 2", got)
	}
	// new-b answers what the group came with, new-c the step.
	if got := in.ProvisionDelays["new"]; got != 15*sec {
		t.Errorf("provision delay %s, want 15s", got)
	}
	if len(in.NodeFaults) != 0 {
		t.Errorf("node faults %v, want none: the autoscaler took new-a", in.NodeFaults)
	}
}

// TestRemovedGroup: what outlives a group is removed at its recorded instant.
func TestRemovedGroup(t *testing.T) {
	log := newLog().add(0, group("old", 2), node("old-a", "old"), node("old-b", "old")).
		remove(5*sec, group("old", 2)).
		remove(6*sec, node("old-a", "old")).
		remove(9*sec, node("std-a", "std"))
	in := log.input(t, 0, 0)
	if diff := cmp.Diff([]string{"+6s delete Node old-a"}, lines(in)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if len(in.GroupChanges) != 1 || in.GroupChanges[0].Op != scalehist.OpDelete {
		t.Fatalf("group changes %+v, want that old goes", in.GroupChanges)
	}
	if diff := cmp.Diff([]string{"old-a", "old-b"}, in.GroupChanges[0].Keep); diff != "" {
		t.Errorf("outlive it (-want +got):\n%s", diff)
	}
	if got := in.Truth; got != nil {
		t.Errorf("truth %v, want none: nobody took a step", got)
	}
	if len(in.NodeFaults) != 1 || in.NodeFaults[0].Node != "std-a" {
		t.Errorf("node faults %v, want that of std-a alone", in.NodeFaults)
	}
	// A window after it neither knows it nor stumbles over what was learnt of it.
	in = log.add(20*sec, pod("web-1", "")).input(t, 7*sec, 0)
	if diff := cmp.Diff([]string{"std"}, groupNames(in.AllGroups())); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestGroupOptionsOverTime: options of a group are read with it, and their changes are its changes.
func TestGroupOptionsOverTime(t *testing.T) {
	options := func(o fields) fields { return with(group("std", 1), "spec.options", o) }
	in := newLog().update(0, options(fields{"scaleDownUnneededTime": "3m", "scaleDownUtilizationThreshold": 0.7})).
		update(5*sec, options(fields{"scaleDownUnneededTime": "3m0s", "scaleDownUtilizationThreshold": 0.7})).
		update(6*sec, options(fields{"maxNodeProvisionTime": "20m"})).
		add(7*sec, pod("web-1", "")).
		input(t, time.Millisecond, 0)
	threshold, unneeded, provision := 0.7, scalehist.Duration(3*time.Minute), scalehist.Duration(20*time.Minute)
	if diff := cmp.Diff(&scalehist.NodeGroupOptions{ScaleDownUtilizationThreshold: &threshold, ScaleDownUnneededTime: &unneeded}, in.NodeGroups[0].Options); diff != "" {
		t.Errorf("options at the start (-want +got):\n%s", diff)
	}
	if len(in.GroupChanges) != 1 || in.GroupChanges[0].At != epoch.Add(6*sec) {
		t.Fatalf("group changes %+v, want one at +6s", in.GroupChanges)
	}
	if diff := cmp.Diff(&scalehist.NodeGroupOptions{MaxNodeProvisionTime: &provision}, in.GroupChanges[0].Group.Options); diff != "" {
		t.Errorf("options then (-want +got):\n%s", diff)
	}
}
