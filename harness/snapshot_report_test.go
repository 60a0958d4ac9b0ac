package harness_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
)

// TestSnapshotsHaveTheSettingsOfTheirInstant: those in force, with what the scenario overrides.
func TestSnapshotsHaveTheSettingsOfTheirInstant(t *testing.T) {
	t.Parallel()
	in := small(t)
	in.Settings = scalehist.CASettings{Flags: []string{"--v=1"}, Priorities: "10: [.*]"}
	in.SettingsChanges = []scalehist.SettingsChange{
		{At: in.Start.Add(33 * time.Second), Settings: scalehist.CASettings{Flags: []string{"--v=2"}, Priorities: "20: [.*]"}},
		{At: in.End.Add(time.Second), Settings: scalehist.CASettings{Flags: []string{"--v=3"}}}, // after the end
	}
	got := replay(t, in, harness.WithFlags("--x=9"), harness.OnControlPlane(harness.Memory))
	if diff := cmp.Diff(scalehist.CASettings{Flags: []string{"--v=1", "--x=9"}, Priorities: "10: [.*]"}, got.Start.CASettings); diff != "" {
		t.Errorf("start (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(scalehist.CASettings{Flags: []string{"--v=2", "--x=9"}, Priorities: "20: [.*]"}, got.End.CASettings); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}
}

// TestSnapshotsHaveTheProvidersObjects: as recorded at the start, with the replay's sizes at the end.
func TestSnapshotsHaveTheProvidersObjects(t *testing.T) {
	t.Parallel()
	in := small(t)
	pool := scalehist.WorkerPool{Name: "workers", NodeGroups: []string{"std"}}
	of := func(replicas int) []scalehist.MachineDeployment {
		return []scalehist.MachineDeployment{
			{Name: "control", Namespace: "shoot", Replicas: 7},
			{Name: "std-z1", Namespace: "shoot", NodeGroup: "std", Replicas: replicas, MachineType: "std-4"},
		}
	}
	in.WorkerPools, in.MachineDeployments = []scalehist.WorkerPool{pool}, of(1)
	got := replay(t, in, harness.OnControlPlane(harness.Memory))
	for _, c := range []struct {
		name     string
		snapshot scalehist.ClusterSnapshot
		replicas int
	}{{"start", got.Start, 1}, {"end", got.End, got.NodeGroups[1].Final}} {
		if diff := cmp.Diff([]scalehist.WorkerPool{pool}, c.snapshot.WorkerPools); diff != "" {
			t.Errorf("worker pools of the %s (-want +got):\n%s", c.name, diff)
		}
		if diff := cmp.Diff(of(c.replicas), c.snapshot.MachineDeployments); diff != "" {
			t.Errorf("machine deployments of the %s (-want +got):\n%s", c.name, diff)
		}
	}
	if got.NodeGroups[1].Name != "std" || got.NodeGroups[1].Final < 2 {
		t.Errorf("%+v: want std to have grown", got.NodeGroups[1])
	}
}

// TestSnapshotsHaveDeletionTimes: of a pod that terminated when the window began.
func TestSnapshotsHaveDeletionTimes(t *testing.T) {
	t.Parallel()
	in := small(t)
	at := in.Start.Add(20 * time.Second)
	for i, ch := range in.Initial {
		if p, ok := ch.Object.(*corev1.Pod); ok && p.Name == "db-1" {
			p = p.DeepCopy()
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: at}, new(int64(30))
			in.Initial[i].Object = p
		}
	}
	got := replay(t, in, harness.OnControlPlane(harness.Memory))
	found := false
	for _, p := range got.Start.ScheduledPods {
		if want := p.Name == "db-1"; want != (p.DeletionTimestamp != nil) || want && !p.DeletionTimestamp.Equal(at) {
			t.Errorf("pod %s: deletion time %v", p.Name, p.DeletionTimestamp)
		}
		found = found || p.Name == "db-1"
	}
	if !found {
		t.Error("db-1 is not there")
	}
}
