package engines_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/engines/calls"
	"github.com/scalehist/scalehist/engines/program"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/recorder/history"
)

func recordedBy(name string) string { return filepath.Join("..", "fixtures", name, "recording.db") }

// played replays a fixture with a binary, some times faster than real time.
func played(t *testing.T, binary, fixture, dir string, change func(*harness.Settings)) *scalehist.ReplayReport {
	t.Helper()
	engine, err := engines.Engine("exec:" + binary)
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.Play(t.Context(), recordedBy(fixture), nil, engine, harness.WithFiles(dir), harness.With(change))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRealAutoscalerFallsBack plays a stock-out with the real binary: it grows one group, hears that its nodes cannot be had, and grows another, as
// it did when it was recorded. Nothing but times can differ.
func TestRealAutoscalerFallsBack(t *testing.T) {
	binary, dir := realtest.ClusterAutoscaler(t, ".."), t.TempDir()
	r := played(t, binary, "ca-stockout-fallback", dir, func(s *harness.Settings) { s.For, s.Speed = 100*time.Second, 10 })
	grown, shrunk := r.ScaledUpNodeGroups, r.ScaledDownNodeGroups
	if grown["first"] != 3 || grown["second"] != 2 || shrunk["first"] != 3 || len(r.End.UnscheduledPods) != 0 {
		t.Errorf("up %v, down %v, %d pods without a node: want first +3 -3, second +2, and none", grown, shrunk, len(r.End.UnscheduledPods))
	}
	i := slices.IndexFunc(r.Decisions, func(d scalehist.Decision) bool { return len(d.ScaleUps) > 0 })
	if i < 0 {
		t.Fatalf("no scale-up among %d decisions", len(r.Decisions))
	}
	up := r.Decisions[i]
	// A pod that the scheduler looks at again at that instant may be left out of the option, in real time.
	if len(up.Options) != 1 || !up.Options[0].Chosen || up.Options[0].NodeCount != 3 || up.Options[0].Pods < 7 || up.Options[0].Pods != len(up.Options[0].PodNames) ||
		len(up.UnschedulablePods) < up.Options[0].Pods || up.Outcome != scalehist.ScaleUpSuccessful {
		t.Errorf("the first scale-up does not explain itself: %+v", up)
	}
	if !slices.ContainsFunc(r.Steps, func(s scalehist.SizeStep) bool {
		return s.Loop == up.Loop && len(s.Changes) == 1 && s.Changes[0] == scalehist.SizeChange{NodeGroup: "first", From: 1, To: 4}
	}) {
		t.Errorf("no step of loop %d among %+v", up.Loop, r.Steps)
	}
	if !slices.ContainsFunc(r.Decisions, func(d scalehist.Decision) bool {
		return slices.ContainsFunc(d.Skipped, func(g scalehist.GroupReason) bool {
			return g.NodeGroup == "first" && strings.Contains(g.Reason, "backoff")
		}) && len(d.Backoff) == 1
	}) {
		t.Errorf("no decision shows the backoff of first: %+v", r.Decisions)
	}
	log, err := os.ReadFile(filepath.Join(dir, program.LogFile))
	if err != nil || !strings.Contains(string(log), "Final scale-up plan: [{first 1->4 (max: 8)}]") {
		t.Errorf("the log of the autoscaler (%v) is not that of this run", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("want the log and the calls: %v", left)
	}
	db, err := history.Open(t.Context(), filepath.Join(dir, program.CallsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	asked, err := calls.Read(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if changes := calls.Changes(asked); len(changes) < 2 || changes[0].Method != "NodeGroupIncreaseSize" || calls.Short(changes[0].Request) != "delta=3 id=first" {
		t.Errorf("what it asked of its provider is not what it did: %+v", changes)
	}
	if !slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "ran in real time") && strings.Contains(w, "10 times as fast")
	}) {
		t.Errorf("the report does not say how time ran: %q", r.Warnings)
	}
}

// TestRealAutoscalerDrains plays a drain with the real binary: its taints, cordons and evictions come about in the virtual cluster, the
// pods come back on other nodes, and the node is gone.
func TestRealAutoscalerDrains(t *testing.T) {
	binary := realtest.ClusterAutoscaler(t, "..")
	evicted := 0
	r := played(t, binary, "ca-pdb-blocks-drain", "", func(s *harness.Settings) {
		if err := s.Window.From.Set("+150s"); err != nil {
			t.Fatal(err)
		}
		s.For, s.Speed = 260*time.Second, 20
	})
	i := slices.IndexFunc(r.Decisions, func(d scalehist.Decision) bool { return len(d.Deleting) > 0 })
	j := slices.IndexFunc(r.Decisions, func(d scalehist.Decision) bool { return len(d.ScaleDowns) > 0 })
	if i < 0 || j < i {
		t.Fatalf("no removal began and ended among %+v", r.Decisions)
	}
	began, done := r.Decisions[i].Deleting[0], r.Decisions[j].ScaleDowns[0]
	if began.NodeGroup != "std4" || len(began.Pods) == 0 || done.Node != began.Node || done.Reason != "unneeded and drained" || done.From != 4 || done.To != 3 {
		t.Errorf("it began to remove %+v, and removed %+v", began, done)
	}
	for _, b := range r.Batches {
		evicted += len(b.Returned)
	}
	if evicted < len(began.Pods) || len(r.End.UnscheduledPods) > 0 {
		t.Errorf("%d pods came back, and %d are left without a node: want the %d of the node, and none", evicted, len(r.End.UnscheduledPods), len(began.Pods))
	}
	if slices.ContainsFunc(r.End.Nodes, func(n scalehist.NodeInfo) bool { return n.Name == began.Node }) {
		t.Errorf("%s is still there", began.Node)
	}
}

// TestBinariesThatFail: what goes wrong with a program ends the replay with an error that says so.
func TestBinariesThatFail(t *testing.T) {
	const help = `#!/bin/sh
if [ "$1" = --help ]; then
echo '      --cloud-config string     path'
echo '      --cloud-provider string   Cloud provider type. Available values: [externalgrpc]'
exit
fi
`
	for name, c := range map[string]struct{ script, want string }{
		"it dies":             {"echo 'F1123 no informers'; exit 7", "it ended within the replay (exit status 7); it wrote last:\nF1123 no informers"},
		"it is no autoscaler": {"", "exec format error"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ca")
			text := help + c.script
			if c.script == "" {
				text = "\x00"
			}
			if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			engine, err := engines.Engine("exec:" + path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = harness.Play(t.Context(), recordedBy("ca-stockout-fallback"), nil, engine)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := engines.Engine("exec:" + filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a binary that is not there: %v", err)
	}
}

// TestWhatDoesNotGoWithABinary: it is said before anything starts.
func TestWhatDoesNotGoWithABinary(t *testing.T) {
	exec := engines.Exec("/bin/true")
	for want, opts := range map[string][]harness.Option{
		"cannot be put back to single moments": {exec, harness.With(func(s *harness.Settings) { s.Playback = string(scalehist.PlaybackPerEvent) })},
		"leave signs out":                      {exec, harness.With(func(s *harness.Settings) { s.Signs = true })},
		"speed 0.5: want 1 to 100":             {exec, harness.With(func(s *harness.Settings) { s.Speed = 0.5 })},
		"leave them out with a free-running":   {exec, harness.With(func(s *harness.Settings) { s.Horizontal = harness.Recorded })},
		"others are played in virtual time":    {harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.With(func(s *harness.Settings) { s.Speed = 2 })},
	} {
		if _, err := harness.Play(t.Context(), recordedBy("ca-stockout-fallback"), nil, opts...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := engines.Named("exec:/bin/true"); err == nil {
		t.Error("a binary is named as an engine that is stepped")
	}
}
