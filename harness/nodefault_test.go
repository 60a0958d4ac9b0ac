package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
)

// batchesWith lists "+offset: names" of the batches in which something is in a list.
func batchesWith(r *scalehist.ReplayReport, list func(scalehist.Batch) []string) []string {
	var out []string
	for _, b := range r.Batches {
		for _, name := range list(b) {
			out = append(out, "+"+b.At.Sub(r.StartTime).String()+": "+name)
		}
	}
	slices.Sort(out)
	return out
}

// idle is an engine that never does anything.
type idle struct{}

func (idle) Name() string { return "idle" }

func (idle) RunOnce(_ context.Context, now time.Time) (scalehist.Decision, error) {
	return scalehist.Decision{At: now, Outcome: scalehist.ScaleUpNotNeeded}, nil
}

func idleEngine(harness.Env) (scalehist.Autoscaler, error) { return idle{}, nil }

func faults(t *testing.T, texts ...string) harness.Option {
	t.Helper()
	var out []trace.Fault
	for _, text := range texts {
		f, err := trace.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return harness.WithFaults(out...)
}

// web is two nodes with four pods each and room for no more.
func web(t *testing.T, length time.Duration) *trace.Input {
	t.Helper()
	pods := func(name string) workload.Pods {
		return workload.Pods{Workload: name, Count: 3, CPU: "1200m", Memory: "1Gi"}
	}
	in, err := workload.Script{
		Name: "web", Duration: length,
		Groups:   []workload.Group{{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: 5, Nodes: 2, Delay: 20 * time.Second}},
		Standing: []workload.Standing{{Node: "std-0", Pods: pods("a")}, {Node: "std-1", Pods: pods("b")}},
	}.Input()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestSpotReclaim: the node is removed at its instant with its pods, which come back pending; the group replaces it by itself.
func TestSpotReclaim(t *testing.T) {
	t.Parallel()
	r := replay(t, web(t, 2*time.Minute), harness.WithAutoscaler(idleEngine), faults(t, "spot-reclaim:std@+33s"))
	if diff := cmp.Diff([]string{"+33s: std-0"}, batchesWith(r, func(b scalehist.Batch) []string { return b.NodesGone })); diff != "" {
		t.Errorf("gone (-want +got):\n%s", diff)
	}
	want := []string{"+33s: default/a-1", "+33s: default/a-2", "+33s: default/a-3"}
	if diff := cmp.Diff(want, batchesWith(r, func(b scalehist.Batch) []string { return b.Returned })); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"+53s: std-2"}, batchesWith(r, func(b scalehist.Batch) []string { return b.NodesJoined })); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
	if r.Pending.Pods != 3 || r.Pending.Max != 20 || len(r.UnschedulableAtEnd) != 0 || len(r.Steps) != 0 {
		t.Errorf("pending %+v, steps %v, want three pods to have waited 20 s, and no step", r.Pending, r.Steps)
	}
}

// TestNotReady: pods leave after five minutes, and a node that is back takes pods again.
func TestNotReady(t *testing.T) {
	t.Parallel()
	r := replay(t, web(t, 10*time.Minute), harness.WithAutoscaler(idleEngine), faults(t, "not-ready:node/std-0@+30s..+6m", "not-ready:node/std-1@+40s..+1m"))
	want := []string{"+5m30s: default/a-1", "+5m30s: default/a-2", "+5m30s: default/a-3"}
	if diff := cmp.Diff(want, batchesWith(r, func(b scalehist.Batch) []string { return b.Returned })); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
	if r.Pending.Pods != 3 || r.Pending.Max != 30 || len(r.UnschedulableAtEnd) != 0 {
		t.Errorf("pending %+v, want three pods to have waited for their node to be back", r.Pending)
	}
	for _, n := range r.End.Nodes {
		if !n.Ready || len(n.Taints) != 0 || n.Pods != 3 {
			t.Errorf("node %+v, want it to be back", n)
		}
	}
}

// TestFaultsThatHitNothing are reported.
func TestFaultsThatHitNothing(t *testing.T) {
	t.Parallel()
	r := replay(t, web(t, time.Minute), harness.WithAutoscaler(idleEngine), faults(t, "spot-reclaim:node/std-9@+30s", "not-ready:std@+40s..,count=3"))
	for _, want := range []string{
		"fault spot-reclaim at 2026-01-05T08:00:30Z: node std-9 has 0 of the 1 nodes it should hit",
		"fault not-ready at 2026-01-05T08:00:40Z: node group std has 2 of the 3 nodes it should hit",
	} {
		if !slices.Contains(r.Warnings, want) {
			t.Errorf("warnings %q lack %q", r.Warnings, want)
		}
	}
}
