package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/podlife"
)

const (
	sec    = time.Second
	minute = time.Minute
)

// TestCausesAndEffects: what the workload did is fed in; what the recorded autoscaler, scheduler and node lifecycle did
// is not.
func TestCausesAndEffects(t *testing.T) {
	rs := "ReplicaSet/web"
	standing := func() *objectLog { return newLog().add(0, bound(pod("web-1", rs), "std-a")) }
	tests := []struct {
		name     string
		log      *objectLog
		from, to time.Duration
		want     []string
	}{
		{
			name: "pods of DaemonSets and kubelets follow their node",
			log: newLog().add(5*sec, pod("agent-x", "DaemonSet/agent"), pod("proxy-std-a", "Node/std-a"), pod("web-1", rs)).
				update(6*sec, bound(pod("agent-x", "DaemonSet/agent"), "std-a")).
				remove(9*sec, pod("agent-x", "DaemonSet/agent"), pod("proxy-std-a", "Node/std-a")),
			want: []string{"+5s add Pod web-1"},
		},
		{
			name: "nodes of groups are the autoscaler's, others are not",
			log: newLog().add(5*sec, node("std-b", "std"), node("metal-1", ""), node("gone-1", "unknown-group")).
				update(6*sec, with(node("std-b", "std"), "metadata.labels", fields{"a": "b"})).
				remove(7*sec, node("std-a", "std"), node("metal-1", "")),
			want: []string{"+5s add Node metal-1", "+5s add Node gone-1", "+7s delete Node metal-1"},
		},
		{
			name: "target sizes, taints, bindings and status are effects",
			log: standing().update(5*sec, group("std", 3), tainted(node("std-a", "std"), gone, maybe)).
				add(6*sec, pod("web-2", rs)).
				update(7*sec, with(pod("web-2", rs), "status.conditions", []fields{{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}})).
				update(8*sec, with(bound(pod("web-2", rs), "std-a"), "metadata.labels", fields{"topology.kubernetes.io/zone": "z1"})).
				update(9*sec, node("std-a", "std")),
			want: []string{"+6s add Pod web-2"},
		},
		{
			name: "a cordon, labels and a node that fails are causes",
			log: newLog().update(5*sec, with(node("std-a", "std"), "spec.unschedulable", true)).
				update(6*sec, with(node("std-a", "std"), "metadata.labels", fields{"a": "b"})).
				update(7*sec, tainted(with(node("std-a", "std"), "status.conditions", []fields{{"type": "Ready", "status": "Unknown"}}), "node.kubernetes.io/unreachable")),
			want: []string{"+5s update Node std-a", "+6s update Node std-a", "+7s update Node std-a"},
		},
		{
			name: "what no virtual cluster stores, and what containers lived through, is neither",
			log: standing().add(5*sec, object("autoscaling/v2", "HorizontalPodAutoscaler"), object("v1", "LimitRange"), object("v1", "ResourceQuota"),
				object("autoscaling.k8s.io/v1", "VerticalPodAutoscaler"), object("keda.sh/v1alpha1", "ScaledObject"),
				object("machine.sapcloud.io/v1alpha1", "MachineDeployment"), object("scalehist.io/v1alpha1", "MetricQuery")).
				update(6*sec, with(bound(pod("web-1", rs), "std-a"), "status.containerStatuses", []fields{{"name": "main", "restartCount": 3}})),
			want: nil,
		},
		{
			name: "an evicted pod and its replacement are one demand, which ends as the first",
			log: standing().update(5*sec, evicted(bound(pod("web-1", rs), "std-a"), 5*sec)).
				add(5*sec, pod("web-2", rs)).remove(6*sec, pod("web-1", rs)).
				update(7*sec, evicted(bound(pod("web-2", rs), "std-a"), 7*sec)).
				remove(7*sec, pod("web-2", rs)).add(8*sec, pod("web-3", rs)).
				remove(20*sec, pod("web-3", rs)),
			want: []string{"+20s delete Pod web-1"},
		},
		{
			name: "a preempted pod by its event",
			log: standing().add(5*sec, event("e1", "Preempted", "Pod", "web-1", "Preempted by pod x")).
				add(5*sec, pod("web-2", rs)).remove(35*sec, pod("web-1", rs)),
			want: nil,
		},
		{
			name: "a preempted pod by an event that names no UID, and another of its name later",
			log: standing().add(5*sec, with(event("e1", "Preempted", "Pod", "web-1", "Preempted by pod x"), "involvedObject.uid", "")).
				add(5*sec, pod("web-2", rs)).remove(35*sec, pod("web-1", rs)).
				add(2*minute, with(pod("web-1", rs), "metadata.uid", "web-1b")).remove(3*minute, with(pod("web-1", rs), "metadata.uid", "web-1b")),
			want: []string{"+2m0s add Pod web-1", "+3m0s delete Pod web-1"},
		},
		{
			name: "a drained pod by the autoscaler's event",
			log: standing().add(5*sec, event("e1", "ScaleDown", "Pod", "web-1", "deleting pod for node scale down")).
				remove(6*sec, pod("web-1", rs)).add(6*sec, pod("web-2", rs)),
			want: nil,
		},
		{
			name: "a deletion on a node that is being removed",
			log: standing().update(5*sec, tainted(node("std-a", "std"), gone)).
				remove(6*sec, pod("web-1", rs)).add(6*sec, pod("web-2", rs)).remove(9*sec, node("std-a", "std")),
			want: nil,
		},
		{
			name: "a graceful eviction without condition: the replacement comes long before the end",
			log: standing().update(5*sec, tainted(node("std-a", "std"), gone)).
				update(6*sec, with(bound(pod("web-1", rs), "std-a"), "metadata.deletionTimestamp", epoch.Add(36*sec).Format(time.RFC3339))).
				add(6*sec, pod("web-2", rs)).remove(36*sec, pod("web-1", rs)).remove(40*sec, node("std-a", "std")),
			want: nil,
		},
		{
			name: "a node removed at the end of the window, not gone yet",
			log: standing().update(5*sec, tainted(node("std-a", "std"), gone)).
				remove(6*sec, pod("web-1", rs)).add(6*sec, pod("web-2", rs)),
			want: nil,
		},
		{
			name: "a taint that was taken back removes nothing",
			log: standing().update(5*sec, tainted(node("std-a", "std"), gone)).update(6*sec, node("std-a", "std")).
				remove(9*sec, pod("web-1", rs)).add(9*sec, pod("web-2", rs)),
			want: []string{"+9s delete Pod web-1", "+9s add Pod web-2"},
		},
		{
			name: "a kubelet's eviction leaves a failed pod behind",
			log: standing().update(5*sec, with(evicted(bound(pod("web-1", rs), "std-a"), 5*sec), "status.phase", "Failed")).
				add(6*sec, pod("web-2", rs)).remove(50*sec, pod("web-1", rs)),
			want: nil,
		},
		{
			name: "a rollout is a cause",
			log: standing().add(5*sec, pod("new-1", "ReplicaSet/new")).remove(6*sec, pod("web-1", rs)).
				add(7*sec, pod("web-2", rs)),
			want: []string{"+5s add Pod new-1", "+6s delete Pod web-1", "+7s add Pod web-2"},
		},
		{
			name: "an eviction nobody answers ended the demand",
			log: standing().update(5*sec, evicted(bound(pod("web-1", rs), "std-a"), 5*sec)).
				remove(6*sec, pod("web-1", rs)).add(6*sec+2*minute, pod("web-2", rs)),
			want: []string{"+6s delete Pod web-1", "+2m6s add Pod web-2"},
		},
		{
			name: "an evicted pod without owner is gone",
			log: newLog().add(0, bound(pod("bare", ""), "std-a")).
				update(5*sec, evicted(bound(pod("bare", ""), "std-a"), 5*sec)).remove(6*sec, pod("bare", "")),
			want: []string{"+6s delete Pod bare"},
		},
		{
			name: "a replica that stood already is no replacement",
			log: standing().add(0, bound(pod("web-2", rs), "std-a")).
				update(4*sec, evicted(bound(pod("web-1", rs), "std-a"), 4*sec)).
				remove(6*sec, pod("web-1", rs)).remove(30*sec, pod("web-2", rs)),
			from: 5 * sec,
			want: []string{"+6s delete Pod web-1", "+30s delete Pod web-2"},
		},
		{
			name: "a StatefulSet's pod is replaced under its name, a higher one is new",
			log: newLog().add(0, bound(pod("db-0", "StatefulSet/db"), "std-a")).
				update(5*sec, evicted(bound(pod("db-0", "StatefulSet/db"), "std-a"), 5*sec)).
				add(5*sec, pod("db-1", "StatefulSet/db")).
				remove(6*sec, pod("db-0", "StatefulSet/db")).
				add(7*sec, with(pod("db-0", "StatefulSet/db"), "metadata.uid", "db-0b")),
			want: []string{"+5s add Pod db-1"},
		},
		{
			name: "gates, resources, labels and tolerations are what a pod asks for",
			log: newLog().add(1*sec, with(pod("web-1", rs), "spec.schedulingGates", []fields{{"name": "g"}})).
				update(2*sec, pod("web-1", rs)).
				update(3*sec, with(pod("web-1", rs), "spec.containers", []fields{{"name": "c", "resources": fields{"requests": fields{"cpu": "2"}}}})).
				update(4*sec, with(pod("web-1", rs), "metadata.labels", fields{"a": "b"})).
				update(5*sec, with(pod("web-1", rs), "spec.tolerations", []fields{{"operator": "Exists"}})).
				update(6*sec, with(pod("web-1", rs), "spec.tolerations", []fields{{"operator": "Exists"}}, "status.phase", "Running", "spec.nodeName", "std-a")),
			want: []string{"+1s add Pod web-1", "+2s update Pod web-1", "+3s update Pod web-1", "+4s update Pod web-1", "+5s update Pod web-1"},
		},
		{
			name: "the claim of an ephemeral volume follows its pod",
			log: func() *objectLog {
				c := fields{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": with(meta("web-1-tmp"), "namespace", "default"),
					"spec": fields{"accessModes": []string{"ReadWriteOnce"}}}
				ephemeral := with(c, "metadata.ownerReferences", []fields{{"apiVersion": "v1", "kind": "Pod", "name": "web-1", "uid": "web-1", "controller": true}})
				own := with(c, "metadata.name", "data", "metadata.uid", "data")
				return newLog().add(1*sec, own, pod("web-1", rs), ephemeral).remove(9*sec, pod("web-1", rs), ephemeral, own)
			}(),
			want: []string{"+1s add PersistentVolumeClaim data", "+1s add Pod web-1", "+9s delete Pod web-1", "+9s delete PersistentVolumeClaim data"},
		},
		{
			name: "a budget's spec is a cause, its status an effect",
			log: func() *objectLog {
				b := fields{"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": with(meta("b"), "namespace", "default"),
					"spec": fields{"minAvailable": 1, "selector": fields{"matchLabels": fields{"a": "b"}}}}
				return newLog().add(1*sec, b).update(2*sec, with(b, "status.currentHealthy", 3)).
					update(3*sec, with(b, "spec.minAvailable", 2)).remove(4*sec, b)
			}(),
			want: []string{"+1s add PodDisruptionBudget b", "+3s update PodDisruptionBudget b", "+4s delete PodDisruptionBudget b"},
		},
		{
			name: "the autoscaler's own objects and a joining node's CSINode are effects",
			log: newLog().add(1*sec, deployment("--v=4")).
				add(2*sec, fields{"apiVersion": "v1", "kind": "ConfigMap", "metadata": with(meta("cluster-autoscaler-priority-expander"), "namespace", "kube-system"), "data": fields{"priorities": "10: [a]"}}).
				add(3*sec, node("std-b", "std"), fields{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta("std-b"), "spec": fields{"drivers": []fields{}}}),
			want: nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			// A last line past everything, so that the window never ends at a change.
			in := tt.log.add(5*minute, pod("last", "")).input(t, tt.from, 5*minute-sec)
			if diff := cmp.Diff(tt.want, lines(in), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("causes (-want +got):\n%s\nwarnings: %q", diff, in.Warnings)
			}
		})
	}
}

// TestInitialState: windows are half-open, so a change at exactly the start belongs to the start.
func TestInitialState(t *testing.T) {
	log := newLog().
		add(0, bound(pod("old", ""), "std-a"), bound(pod("lost", "ReplicaSet/web"), "nowhere")).
		add(10*sec, bound(pod("at-start", ""), "std-a"), pod("waits", "")).
		add(10*sec, pod("agent-x", "DaemonSet/agent"), bound(pod("agent-y", "DaemonSet/agent"), "std-a")).
		add(10*sec, with(bound(pod("done", ""), "std-a"), "status.phase", "Succeeded")).
		add(10*sec+time.Millisecond, pod("after", "")).
		remove(20*sec, pod("old", "")).
		add(20*sec+time.Millisecond, pod("too-late", ""))
	in := log.input(t, 10*sec, 20*sec)
	wantStood := []string{"Node std-a", "Pod old on std-a", "Pod at-start on std-a", "Pod agent-y on std-a"}
	if diff := cmp.Diff(wantStood, stood(in)); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	wantLines := []string{"+10s add Pod lost", "+10s add Pod waits", "+10.001s add Pod after", "+20s delete Pod old"}
	if diff := cmp.Diff(wantLines, lines(in)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if p := changedPod(t, in, scalehist.OpAdd, "lost"); p.Spec.NodeName != "" {
		t.Errorf("pod lost starts on %q, want pending", p.Spec.NodeName)
	}
	if !hasWarning(in, "pod default/lost stood on node nowhere") {
		t.Errorf("warnings %q, want one about the pod on a node that was not recorded", in.Warnings)
	}
	if got := in.RecordedNodes[changedPod(t, in, scalehist.OpAdd, "lost").UID]; got != "nowhere" {
		t.Errorf("recorded node %q, want nowhere", got)
	}
}

// TestNodesTakenOffBeforeTheStart: a node the autoscaler had deleted already is none of the replay's; one it had only
// marked is, without the mark.
func TestNodesTakenOffBeforeTheStart(t *testing.T) {
	rs := "ReplicaSet/web"
	log := newLog().add(0, node("std-b", "std"), node("std-c", "std")).
		add(0, bound(pod("web-1", rs), "std-b"), bound(pod("agent-b", "DaemonSet/agent"), "std-b")).
		update(1*sec, group("std", 3)).
		update(5*sec, tainted(node("std-b", "std"), gone), tainted(node("std-c", "std"), gone)).
		update(6*sec, group("std", 2)).
		remove(12*sec, node("std-b", "std")).
		update(13*sec, group("std", 4))
	in := log.input(t, 10*sec, 0)
	if diff := cmp.Diff([]string{"Node std-a", "Node std-c"}, stood(in)); diff != "" {
		t.Errorf("at the start (-want +got):\n%s", diff)
	}
	if got := in.NodeGroups[0].TargetSize; got != 2 {
		t.Errorf("target size %d, want the recorded 2", got)
	}
	if diff := cmp.Diff([]string{"+10s add Pod web-1"}, lines(in)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"std": 2}, in.Truth.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	if !hasWarning(in, "node std-b was being removed at the start") {
		t.Errorf("warnings %q, want one about std-b", in.Warnings)
	}
}

// TestTaintsOfJoiningNodes: a node outside every group comes without the taint the node lifecycle takes off later,
// unless it is not Ready yet.
func TestTaintsOfJoiningNodes(t *testing.T) {
	notReady := with(node("metal-2", ""), "status.conditions", []fields{{"type": "Ready", "status": "False"}})
	in := newLog().
		add(5*sec, tainted(node("metal-1", ""), unready, "mine"), tainted(notReady, unready)).
		update(6*sec, tainted(node("metal-1", ""), "mine"), node("metal-2", "")).
		input(t, 0, 0)
	if diff := cmp.Diff([]string{"+5s add Node metal-1", "+5s add Node metal-2", "+6s update Node metal-2"}, lines(in)); diff != "" {
		t.Fatalf("causes (-want +got):\n%s", diff)
	}
	var got [][]string
	for _, ch := range in.Changes {
		var keys []string
		for _, taint := range nodeOf(ch).Spec.Taints {
			keys = append(keys, taint.Key)
		}
		got = append(got, keys)
	}
	if diff := cmp.Diff([][]string{{"mine"}, {unready}, nil}, got); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}

// TestFinishedPodsRunAsLong: a pod that ended by itself carries how long it ran, through gates and evictions too.
func TestFinishedPodsRunAsLong(t *testing.T) {
	job := "Job/crunch"
	finished := func(p fields) fields { return with(bound(p, "std-a"), "status.phase", "Succeeded") }
	gated := with(pod("gated", job), "spec.schedulingGates", []fields{{"name": "g"}})
	in := newLog().
		add(0, bound(pod("standing", job), "std-a")).
		add(5*sec, pod("plain", job), gated, pod("instant", job), pod("first", "Job/other")).
		update(6*sec, pod("gated", job)).
		update(10*sec, bound(pod("plain", job), "std-a"), bound(pod("gated", job), "std-a"), bound(pod("first", "Job/other"), "std-a")).
		update(20*sec, evicted(bound(pod("first", "Job/other"), "std-a"), 20*sec)).
		remove(21*sec, pod("first", "Job/other")).
		add(21*sec, pod("second", "Job/other")).
		update(22*sec, bound(pod("second", "Job/other"), "std-a")).
		update(30*sec, finished(pod("instant", job))).
		update(40*sec, finished(pod("plain", job)), finished(pod("gated", job)), finished(pod("standing", job))).
		update(67*sec, finished(pod("second", "Job/other"))).
		add(90*sec, pod("last", "")).
		input(t, 2*sec, 80*sec)
	want := map[string]string{"plain": "30s", "gated": "30s", "instant": "1ms", "first": "45s", "standing": "38s"}
	got := map[string]string{}
	for _, ch := range append(in.Initial, in.Changes...) {
		if d, ok := ch.Object.GetAnnotations()[podlife.RunForAnnotation]; ok {
			got[ch.Object.GetName()] = d
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run for (-want +got):\n%s", diff)
	}
	if p := changedPod(t, in, scalehist.OpUpdate, "gated"); p.Annotations[podlife.RunForAnnotation] != "30s" {
		t.Errorf("ungated pod has annotations %v, want its run time kept", p.Annotations)
	}
	wantLines := []string{"+5s add Pod plain", "+5s add Pod gated", "+5s add Pod instant", "+5s add Pod first", "+6s update Pod gated"}
	if diff := cmp.Diff(wantLines, lines(in)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestLostNodes: a node of a group that went by itself goes again; one the autoscaler took, or that went with a smaller
// target size, does not.
func TestLostNodes(t *testing.T) {
	log := newLog().update(0, group("std", 4)).add(0, node("std-b", "std"), node("std-c", "std"), node("std-d", "std")).
		update(5*sec, tainted(node("std-b", "std"), gone)).update(5*sec, group("std", 3)).remove(6*sec, tainted(node("std-b", "std"), gone))
	if in := log.input(t, 0, 0); len(in.NodeFaults) != 0 || hasWarning(in, "without the autoscaler's mark") {
		t.Errorf("node faults %v, warnings %q, want none: the autoscaler took std-b", in.NodeFaults, in.Warnings)
	}
	in := log.add(6*sec, node("std-e", "std")).remove(7*sec, node("std-c", "std"), node("std-a", "std")).remove(8*sec, node("std-e", "std")).
		update(9*sec, group("std", 4)).update(10*sec, group("std", 3)).remove(11*sec, node("std-d", "std")).input(t, 0, 0)
	want := []NodeFault{
		{Kind: FaultSpotReclaim, Node: "std-c", Count: 1, From: epoch.Add(7 * sec), Recorded: true},
		{Kind: FaultSpotReclaim, Node: "std-a", Count: 1, From: epoch.Add(7 * sec), Recorded: true},
		{Kind: FaultSpotReclaim, NodeGroup: "std", Count: 1, From: epoch.Add(8 * sec), Recorded: true},
	}
	if diff := cmp.Diff(want, in.NodeFaults); diff != "" {
		t.Errorf("node faults (-want +got):\n%s", diff)
	}
	if !hasWarning(in, "node std-c went at 2026-03-02T09:00:07Z without the autoscaler's mark and goes again") {
		t.Errorf("warnings %q, want one about std-c", in.Warnings)
	}
}

// TestKarpentersDisruption: the taint that Karpenter puts on a node it is about to remove, under its key of today and under
// the one before, is an effect as the cluster-autoscaler's is: the node is fed in without it, its drained pods are one
// demand, and it did not go by itself. What else is on the node stays.
func TestKarpentersDisruption(t *testing.T) {
	for _, key := range []string{"karpenter.sh/disrupted", "karpenter.sh/disruption"} {
		t.Run(key, func(t *testing.T) {
			rs := "ReplicaSet/web"
			log := newLog().update(0, group("std", 2)).add(0, tainted(node("std-b", "std"), key, "dedicated"), bound(pod("web-1", rs), "std-b")).
				update(5*sec, tainted(node("std-a", "std"), key)).
				update(6*sec, with(tainted(node("std-a", "std"), key), "spec.unschedulable", true)).
				update(7*sec, tainted(node("std-a", "std"))).
				remove(8*sec, bound(pod("web-1", rs), "std-b")).add(8*sec, pod("web-2", rs)).
				remove(9*sec, tainted(node("std-b", "std"), key, "dedicated"))
			in := log.input(t, time.Millisecond, 0)
			// A person's cordon is a cause, also while Karpenter is at work.
			if diff := cmp.Diff([]string{"+6s update Node std-a", "+7s update Node std-a"}, lines(in)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			for _, ch := range in.Initial {
				if n := nodeOf(ch); n != nil && n.Name == "std-b" && (len(n.Spec.Taints) != 1 || n.Spec.Taints[0].Key != "dedicated") {
					t.Errorf("std-b stands with taints %v, want dedicated alone", n.Spec.Taints)
				}
			}
			for _, ch := range in.Changes {
				if n := nodeOf(ch); n != nil && len(n.Spec.Taints) > 0 {
					t.Errorf("fed in with taints %v, want none", n.Spec.Taints)
				}
			}
			if len(in.NodeFaults) != 0 {
				t.Errorf("node faults %v, want none: Karpenter took std-b", in.NodeFaults)
			}
		})
	}
}

// TestLostNodeOfAUsedName: a node that takes the name of one that was on its way out at the start is another node.
func TestLostNodeOfAUsedName(t *testing.T) {
	again := with(node("std-b", "std"), "metadata.uid", "std-b2")
	in := newLog().add(0, node("std-b", "std")).update(5*sec, tainted(node("std-b", "std"), gone)).
		remove(12*sec, tainted(node("std-b", "std"), gone)).add(60*sec, again).remove(90*sec, again).
		input(t, 10*sec, 0)
	want := []NodeFault{{Kind: FaultSpotReclaim, NodeGroup: "std", Count: 1, From: epoch.Add(90 * sec), Recorded: true}}
	if diff := cmp.Diff(want, in.NodeFaults); diff != "" {
		t.Errorf("node faults (-want +got):\n%s", diff)
	}
}

// TestFailedNodes: a node that came within the window and failed fails again, as one of its group; starting up and going
// away by the autoscaler are no failures.
func TestFailedNodes(t *testing.T) {
	down := func(n fields) fields {
		return with(n, "status.conditions", []fields{{"type": "Ready", "status": "Unknown"}})
	}
	log := newLog().add(5*sec, down(node("std-b", "std")), down(node("std-c", "std"))).
		update(6*sec, node("std-b", "std"), node("std-c", "std")).
		update(7*sec, tainted(node("std-c", "std"), gone)).update(8*sec, tainted(down(node("std-c", "std")), gone)).
		remove(9*sec, tainted(node("std-c", "std"), gone)).
		update(20*sec, down(node("std-b", "std"))).update(30*sec, node("std-b", "std")).
		update(40*sec, down(node("std-b", "std"))).remove(50*sec, down(node("std-b", "std")))
	in := log.input(t, 0, 0)
	want := []NodeFault{
		{Kind: FaultNotReady, NodeGroup: "std", Count: 1, From: epoch.Add(20 * sec), To: epoch.Add(30 * sec), Recorded: true},
		{Kind: FaultNotReady, NodeGroup: "std", Count: 1, From: epoch.Add(40 * sec), Recorded: true},
		{Kind: FaultSpotReclaim, NodeGroup: "std", Count: 1, From: epoch.Add(50 * sec), Recorded: true},
	}
	if diff := cmp.Diff(want, in.NodeFaults); diff != "" {
		t.Errorf("node faults (-want +got):\n%s", diff)
	}
	if !hasWarning(in, "a node of group std was not ready from 2026-03-02T09:00:20Z until 2026-03-02T09:00:30Z") {
		t.Errorf("warnings %q", in.Warnings)
	}
}
