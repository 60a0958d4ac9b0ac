package harness_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report"
)

// greedy is an engine of a few lines: while pods are unschedulable it asks one group for one node a loop.
type greedy struct {
	env   harness.Env
	group string
	loops int
}

func (g *greedy) Name() string { return "greedy" }

func (g *greedy) RunOnce(ctx context.Context, now time.Time) (scalehist.Decision, error) {
	g.loops++
	d := scalehist.Decision{At: now, Loop: g.loops, Outcome: scalehist.ScaleUpNotNeeded}
	for _, p := range g.env.Cluster.Objects().Pods {
		if p.Spec.NodeName == "" {
			d.UnschedulablePods = append(d.UnschedulablePods, p.Namespace+"/"+p.Name)
		}
	}
	group, _ := g.env.Provider.Group(g.group)
	if len(d.UnschedulablePods) == 0 || group.TargetSize >= group.MaxSize {
		return d, nil
	}
	if err := g.env.Provider.IncreaseSize(ctx, now, g.group, 1); err != nil {
		return d, err
	}
	d.Outcome = scalehist.ScaleUpSuccessful
	d.ScaleUps = []scalehist.ScaleUp{{NodeGroup: g.group, From: group.TargetSize, To: group.TargetSize + 1, Max: group.MaxSize}}
	return d, nil
}

func greedyOn(group string) harness.NewAutoscaler {
	return func(env harness.Env) (scalehist.Autoscaler, error) { return &greedy{env: env, group: group}, nil }
}

// replayScript replays a script of the fixtures with the greedy engine.
func replayScript(t *testing.T, name, group string, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	script, err := workload.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	in, err := script.Input()
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewInputReplayer(t.Context(), in, append([]harness.Option{harness.WithAutoscaler(greedyOn(group))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	out, err := r.Replay(t.Context(), script.Duration)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReplayBringsNodesUntilPodsFit(t *testing.T) {
	r := replayScript(t, "max-size-reached", "std")
	t.Log(report.Text(r))

	if diff := cmp.Diff(map[string]int{"std": 2}, r.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	// 3 std-4 nodes with 3.92 allocatable cores take 3 pods of 1.2 each.
	if got := len(r.UnschedulableAtEnd); got != 15-9 {
		t.Errorf("unschedulable at end: want 6, got %d", got)
	}
	for _, n := range r.ScaledUpNodes {
		if got := n.ReadyAt.Sub(n.RequestedAt); got != 20*time.Second {
			t.Errorf("node %s: ready %s after the request, want the script's 20s", n.Name, got)
		}
		if len(n.Pods) != 3 {
			t.Errorf("node %s: want 3 pods, got %v", n.Name, n.Pods)
		}
	}
}

func TestReplayTwiceGivesTheSameBytes(t *testing.T) {
	var first []byte
	for i := range 2 {
		b, err := report.Canonical(replayScript(t, "expendable-pods", "std"))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
			continue
		}
		if !bytes.Equal(first, b) {
			t.Errorf("the second report differs (-first +second):\n%s", cmp.Diff(string(first), string(b)))
		}
	}
}
