package realca

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// TestRealAutoscalerScalesUp plays three pods that need two nodes, and one that is preempted out of the way of none.
func TestRealAutoscalerScalesUp(t *testing.T) {
	binary := realtest.ClusterAutoscaler(t, "../..")
	b := newBuilder("smoke", "three pods need two more nodes")
	b.group("std", "std-4", "z1", 1, 5, 1, 3*time.Second)
	b.daemonSet("node-agent", "100m", "128Mi")
	web := b.replicaSet("web", podShape{cpu: "3", memory: "1Gi"})
	for i := range 3 {
		b.at(time.Duration(i)*10*time.Millisecond, web)
	}
	b.s.Idle, b.s.Duration = time.Second, 15*time.Second
	b.s.Flags = shortTimers("--scan-interval=3s")
	o := Options{Binary: binary, Verbosity: 4, Runs: 1, Parallel: 1, Dir: t.TempDir(), Ran: func(line string) { t.Log(line) }}
	if err := Record(t.Context(), b.s, o); err != nil {
		t.Fatal(err)
	}
	seen, err := truth.Read(filepath.Join(o.Dir, TruthName))
	if err != nil {
		t.Fatal(err)
	}
	r := seen.Runs[0]
	if r.ScaledUp["std"] != 2 || r.FinalSizes["std"] != 3 || len(r.UnschedulableAtEnd) != 0 || r.ScheduledAtEnd != 6 || r.NodesAtEnd != 3 {
		t.Errorf("the run came to %+v", r)
	}
	if got := seen.RecordedWith["clusterAutoscaler"]; !strings.HasPrefix(got, "1.") {
		t.Errorf("the truth is of version %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Dir, "run-1", "*")); len(left) != 2 {
		t.Errorf("more than two logs are left of the run: %v", left)
	}
	// What it leaves is a recording like any other.
	s, err := FromRecording(t.Context(), filepath.Join(o.Dir, HistoryName))
	if err != nil {
		t.Fatal(err)
	}
	arrive := 0
	for _, ch := range s.Changes {
		if ch.Op == scalehist.OpAdd {
			arrive++
		}
	}
	if arrive != 3 || len(s.Groups) != 1 || s.Groups[0].TargetSize != 1 {
		t.Errorf("the recording says that %d pods arrived, and has the groups %+v", arrive, s.Groups)
	}
}
