package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/realprogram/realtest"
	"github.com/scalehist/scalehist/recorder/history"
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
	dir := t.TempDir()
	r, err := runOnce(t.Context(), b.s, runOptions{binary: binary, verbosity: 4, dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if r.ScaledUp["std"] != 2 || r.FinalSizes["std"] != 3 || len(r.UnschedulableAtEnd) != 0 || r.ScheduledAtEnd != 6 || r.NodesAtEnd != 3 {
		t.Errorf("the run came to %+v", r)
	}
	// What it leaves is a recording like any other.
	f, err := os.Open(filepath.Join(dir, "recording.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := history.Import(t.Context(), f, filepath.Join(dir, "recording.db"), history.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	s, err := fromRecording(t.Context(), filepath.Join(dir, "recording.db"))
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
