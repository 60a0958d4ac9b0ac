package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// steps reads "10 std 1 3" as std going from 1 to 3 ten seconds after epoch.
func steps(lines ...string) []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, line := range lines {
		var at int
		var s scalehist.RecordedStep
		if _, err := fmt.Sscanf(line, "%d %s %d %d", &at, &s.NodeGroup, &s.From, &s.To); err != nil {
			panic(err)
		}
		s.At = epoch.Add(time.Duration(at) * sec)
		out = append(out, s)
	}
	return out
}

// TestRecordedWaits: waits run from when a pod was first seen to its node or its end; an evicted pod and its replacement are one;
// pods of DaemonSets and those that have their node all along are none.
func TestRecordedWaits(t *testing.T) {
	moved := bound(pod("web-1", "ReplicaSet/web"), "std-a")
	in := newLog().add(0, deployment("--v=4"), bound(pod("old", ""), "std-a"), pod("agent", "DaemonSet/agent"), moved).
		add(10*sec, pod("slow", ""), pod("never", ""), pod("short", "")).
		update(40*sec, bound(pod("slow", ""), "std-a")).
		remove(70*sec, pod("short", "")).
		update(75*sec, evicted(moved, 75*sec)).add(76*sec, pod("web-2", "ReplicaSet/web")).remove(77*sec, moved).
		update(96*sec, bound(pod("web-2", "ReplicaSet/web"), "std-a")).
		add(5*minute, pod("last", "")).input(t, 0, 4*minute)
	if len(in.waits) != 4 {
		t.Fatalf("%d demands had to wait, want 4", len(in.waits))
	}
	got, left := recordedUntil(in.waits, in.Start.Add(100*time.Second))
	if got.Max != 90 || got.P50 != 30 || got.PodSeconds != 30+60+90+20 || left != 1 || got.StillWaiting != 1 || got.Of != 4 {
		t.Errorf("%+v, %d left", got, left)
	}
}

// TestTruthUntil: a replay that ends before the recording is held against what had happened by then.
func TestTruthUntil(t *testing.T) {
	in := &Input{
		NodeGroups: []scalehist.NodeGroup{{Name: "a", TargetSize: 1}, {Name: "b"}},
		Truth:      &scalehist.RecordedTruth{Source: "target sizes", Steps: steps("10 a 1 3", "20 b 0 1", "30 a 3 2"), UnschedulableAtEnd: 4},
	}
	want := &scalehist.RecordedTruth{
		Source: "target sizes", Steps: steps("10 a 1 3", "20 b 0 1"),
		ScaledUpNodeGroups: map[string]int{"a": 2, "b": 1}, ScaledDownNodeGroups: map[string]int{}, FinalSizes: map[string]int{"a": 3, "b": 1},
	}
	if diff := cmp.Diff(want, in.TruthUntil(epoch.Add(20*sec))); diff != "" {
		t.Errorf("truth without waits (-want +got):\n%s", diff)
	}
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * sec) }
	in.waits = []recordedDemand{
		{{from: at(2), to: at(12)}}, // waited 10 s
		{{from: at(5)}},             // still waits
		{{from: at(5), to: at(6)}, {from: at(18), to: at(25)}}, // waited, was evicted and waits again
		{{from: at(21), to: at(22)}},                           // came later
		{{from: at(7), to: at(7)}},                             // had a node at once
	}
	got, p99 := in.TruthUntil(at(20)), 15.
	if diff := cmp.Diff(&scalehist.PendingStats{Pods: 3, Of: 4, StillWaiting: 2, PodSeconds: 28, P50: 3, P95: 15, P99: &p99, Max: 15}, got.Pending); diff != "" || got.UnschedulableAtEnd != 2 {
		t.Errorf("%d left; waits (-want +got):\n%s", got.UnschedulableAtEnd, diff)
	}
}
