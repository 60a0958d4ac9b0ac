package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// at is when the loops of these tests began, in virtual time and on the autoscaler's clock.
var (
	at   = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)
	wall = time.Date(2026, time.November, 23, 3, 7, 2, 232066849, time.UTC)
)

// logged are lines as cluster-autoscaler 1.36.1 wrote them.
func logged(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&b, "I1123 03:07:02.241050   13881 static_autoscaler.go:1091] %s\n", text)
	}
	return b.String()
}

const event = `Event(v1.ObjectReference{Kind:"Pod", Namespace:"default", Name:"%s", UID:"720faf66", APIVersion:"v1", ResourceVersion:"81", FieldPath:""}): type: 'Normal' reason: 'TriggeredScaleUp' pod triggered scale-up: [{first 1->4 (max: 8)}]`

func TestReading(t *testing.T) {
	for name, c := range map[string]struct {
		calls scalehist.Decision // what is known from calls
		speed float64
		lines []string
		want  scalehist.Decision
	}{
		"nothing to do": {
			lines: []string{
				"0 pods marked as unschedulable can be scheduled.", "No schedulable pods", "No unschedulable pods", "Calculating unneeded nodes",
				"Skipping first-1 - node group min size reached (current: 1, min: 1)",
				"Scale down status: lastScaleUpTime=2026-11-23 01:50:45.7 +0000 UTC m=-3599.9 lastScaleDownFailTime=2026 scaleDownForbidden=false scaleDownInCooldown=false",
				"Starting scale down: no scale down candidates. skipping...",
			},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpNotNeeded, ScaleDown: scalehist.ScaleDownNoCandidates,
				Unremovable: []scalehist.NodeReason{{Node: "first-1", Reason: "node group min size reached"}},
			},
		},
		"pods that are new": {
			lines: []string{
				"failed to find place for default/web-4: can't schedule pod default/web-4: couldn't find a matching Node with passing predicates",
				"failed to find place for default/web-5 based on similar pods scheduling", "Unschedulable pods are very new, waiting one iteration for more",
				"Scale down status: lastScaleUpTime=x scaleDownForbidden=true scaleDownInCooldown=false",
			},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpInCooldown, UnschedulablePods: []string{"default/web-4", "default/web-5"}, ScaleDown: scalehist.ScaleDownInCooldown,
			},
		},
		"a scale-up": {
			calls: scalehist.Decision{ScaleUps: []scalehist.ScaleUp{{NodeGroup: "first", From: 1, To: 4, Max: 8}}},
			lines: []string{
				"2 pods marked as unschedulable can be scheduled.", "Pod default/web-4 is unschedulable", "Pod default/web-6 is unschedulable",
				"Pod default/web-4 can't be scheduled on tiny, predicate checking error: can't schedule pod: reasons: Insufficient cpu, debugInfo=",
				"Pod default/web-6 can't be scheduled on tiny, predicate checking error: can't schedule pod: reasons: Insufficient cpu, debugInfo=",
				"No pod can fit to tiny", "Skipping node group full - max size reached", "Node group sick is not ready for scaleup - unhealthy",
				"Expanding Node Group first would waste 10.00% CPU, 19.43% Memory, 14.72% Blended", "Expanding Node Group second would waste 32.50% CPU, 69.79% Memory, 51.14% Blended",
				"Best option to resize: first", "Estimated 3 nodes needed in first", "Final scale-up plan: [{first 1->4 (max: 8)}]", fmt.Sprintf(event, "web-4"),
			},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpSuccessful, UnschedulablePods: []string{"default/web-4", "default/web-6"}, FilteredSchedulable: 2,
				ScaleUps: []scalehist.ScaleUp{{NodeGroup: "first", From: 1, To: 4, Max: 8}}, PodsTriggered: 1,
				Options: []scalehist.Option{{
					NodeGroup: "first", NodeCount: 3, Pods: 1, PodNames: []string{"default/web-4"}, Chosen: true, Reason: "best option to resize",
					Scores: map[string]float64{"least-waste": 0.2943},
				}},
				Notes:    []string{"another option was second, least-waste 1.023"},
				Rejected: []scalehist.GroupReason{{NodeGroup: "tiny", Reason: "2 pods: Insufficient cpu"}},
				Skipped:  []scalehist.GroupReason{{NodeGroup: "full", Reason: "max node group size reached"}, {NodeGroup: "sick", Reason: "not ready for scale-up"}},
				Events:   []scalehist.Event{{Reason: "TriggeredScaleUp", Object: "Pod/default/web-4", Message: "pod triggered scale-up: [{first 1->4 (max: 8)}]"}},
			},
		},
		"no room anywhere": {
			lines: []string{
				"Pod default/web-4 is unschedulable", "There were also 7 other logs from HintingSimulator.TrySchedulePods func that were capped.",
				"Node group first is not ready for scaleup - backoff with status: {true {OutOfResource STOCKOUT out of stock: std-4}}", "No expansion options",
			},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpNoOptionsAvailable, UnschedulablePods: []string{"default/web-4"},
				Skipped: []scalehist.GroupReason{{NodeGroup: "first", Reason: "in backoff after failed scale-up"}},
				Notes:   []string{"7 more pods asked for room than the autoscaler named"},
			},
		},
		"a refused scale-up": {
			calls: scalehist.Decision{Failed: []scalehist.FailedScaleUp{{NodeGroup: "first", Delta: 3, Reason: "out of quota"}}},
			lines: []string{"Failed to scale up: failed to increase node group size: out of quota"},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpError, Failed: []scalehist.FailedScaleUp{{NodeGroup: "first", Delta: 3, Reason: "out of quota"}},
				Notes: []string{"failed to scale up: failed to increase node group size: out of quota"},
			},
		},
		"the cluster is full": {
			lines: []string{"Max total nodes in cluster reached: 4. Current number of ready nodes: 4"},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpLimitedByMaxNodesTotal, Notes: []string{"Max total nodes in cluster reached: 4. Current number of ready nodes: 4"},
			},
		},
		"removals, ten times as fast": {
			speed: 10,
			lines: []string{
				"No unschedulable pods", "Pod default/free-1 can be moved to std-3", "Pod shop/api-7 can be moved to std-3",
				"Node std-2 cannot be removed: not enough pod disruption budget to move default/guarded-2", "Node std-3 is not suitable for removal: can reschedule only 2 out of 5 pods",
				"Node std-4 unremovable: cpu requested (95.6633% of allocatable) is above the scale-down utilization threshold",
				"std-1 is unneeded since 2026-11-23 03:08:27.703364015 +0000 UTC m=+19.370307467 duration 6.116871909s", "std-5 is unneeded since 2026-11-23 03:08:27.7 +0000 UTC m=+19.3 duration 1s",
				"Scale down status: lastScaleUpTime=x scaleDownForbidden=false scaleDownInCooldown=false", "Starting scale down",
				"Scale-down: removing node std-1, utilization: {0.21683673469387754 0.12594594594594594 0 0 cpu 0.21683673469387754}, pods to reschedule: free-1,api-7",
				`Scale-down: removing empty node "std-5"`,
			},
			want: scalehist.Decision{
				Outcome: scalehist.ScaleUpNotNeeded, ScaleDown: scalehist.ScaleDownNodeDeleteStarted, Unneeded: []string{"std-1", "std-5"},
				Deleting: []scalehist.NodeDeletion{
					{NodeGroup: "std", Node: "std-1", UnneededSince: at.Add(-61169 * time.Millisecond), Utilization: 0.21683673469387754, Pods: []string{"default/free-1", "shop/api-7"}},
					{NodeGroup: "std", Node: "std-5", UnneededSince: at.Add(-10 * time.Second)},
				},
				Unremovable: []scalehist.NodeReason{
					{Node: "std-2", Reason: "not enough pod disruption budget to move default/guarded-2"}, {Node: "std-3", Reason: "can reschedule only 2 out of 5 pods"},
					{Node: "std-4", Reason: "cpu requested (95.6633% of allocatable) is above the scale-down utilization threshold"},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := c.calls
			d.At, d.Outcome = at, scalehist.ScaleUpNotTried
			r := reading{d: &d, groupOf: func(string) string { return "std" }, wall: wall, speed: max(1, c.speed)}
			r.read(c.lines)
			c.want.At = at
			if diff := cmp.Diff(c.want, d); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadingOfBackoff(t *testing.T) {
	d := scalehist.Decision{At: at}
	r := reading{d: &d, groupOf: func(string) string { return "" }, wall: wall, speed: 10}
	r.read([]string{
		"Disabling scale-up for node group first until 2026-11-23 03:08:02.232066849 +0000 UTC m=+96.399227011; errorClass=OutOfResource; errorCode=OutOfStock",
		"Deleting 3 from first node group because of create errors",
	})
	want := []scalehist.GroupBackoff{{NodeGroup: "first", Until: at.Add(10 * time.Minute), Reason: "OutOfResource.OutOfStock"}}
	if diff := cmp.Diff(want, r.backoff); diff != "" {
		t.Errorf("backoff (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"3 instances of first could not be created, and are deleted"}, d.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// FuzzReading: whatever a log says, reading it does not fail.
func FuzzReading(f *testing.F) {
	f.Add("Scale-down: removing node n, utilization: {}, pods to reschedule: ")
	f.Add("Disabling scale-up for node group a until 2026-11-23 03:08:02 +0000 UTC; errorClass=; errorCode=")
	f.Add(fmt.Sprintf(event, "x"))
	f.Fuzz(func(_ *testing.T, line string) {
		d := scalehist.Decision{At: at}
		r := reading{d: &d, groupOf: func(string) string { return "" }, wall: wall, speed: 1}
		r.read([]string{line, line})
	})
}

func TestLogIsReadLoopByLoop(t *testing.T) {
	l := &logReader{path: filepath.Join(t.TempDir(), LogFile)}
	f, err := os.Create(l.path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write := func(text string) {
		t.Helper()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	block := func(all bool, want ...string) {
		t.Helper()
		got, err := l.block(all)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]string{loopBegins}, want...), append([]string{loopBegins}, got...)); diff != "" {
			t.Errorf("block (-want +got):\n%s", diff)
		}
	}
	write("panic: not a line of klog\n" + logged("starting", loopBegins) + logged("first")[:20])
	block(false, "starting", loopBegins)
	write(logged("first")[20:] + logged(loopBegins, "second"))
	block(false, "first", loopBegins)
	block(true, "second")
	block(true)
}
