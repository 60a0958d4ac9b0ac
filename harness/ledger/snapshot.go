package ledger

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
)

// snapshot is the cluster of the replay at an instant, with the settings in force then and the provider's objects as far as
// they were recorded.
func (l *Ledger) snapshot(at time.Time, o *scalehist.Objects, s scalehist.CASettings) scalehist.ClusterSnapshot {
	groups := l.provider.Groups()
	out := scalehist.NewSnapshot(at, o, groups, s)
	out.WorkerPools = slices.Clone(l.in.WorkerPools)
	out.MachineDeployments = machineDeployments(l.in.MachineDeployments, groups)
	l.terminating(&out)
	return out
}

// inForce are the settings of the autoscaler that runs now.
func (l *Ledger) inForce() scalehist.CASettings {
	if n := len(l.changes); n > 0 {
		return l.changes[n-1].Settings
	}
	return l.engineStart
}

// machineDeployments are the recorded ones with the sizes that the replay gave their node groups.
func machineDeployments(recorded []scalehist.MachineDeployment, groups []scalehist.NodeGroup) []scalehist.MachineDeployment {
	out := slices.Clone(recorded)
	for i := range out {
		for _, g := range groups {
			if g.Name == out[i].NodeGroup {
				out[i].Replicas = g.TargetSize
			}
		}
	}
	return out
}

// terminating notes the deletion of pods that were recorded as terminating at the start and are the same ones still: no API
// server lets a pod be created with a deletion timestamp, so the virtual cluster's pods may be without.
func (l *Ledger) terminating(s *scalehist.ClusterSnapshot) {
	if l.deletions == nil {
		l.deletions = map[types.UID]time.Time{}
		for _, ch := range l.in.Initial {
			if p, ok := ch.Object.(*corev1.Pod); ok && p.DeletionTimestamp != nil {
				l.deletions[p.UID] = p.DeletionTimestamp.UTC()
			}
		}
	}
	if len(l.deletions) == 0 {
		return
	}
	for _, pods := range [][]scalehist.PodInfo{s.ScheduledPods, s.UnscheduledPods, s.NominatedPods} {
		for i := range pods {
			if at, known := l.deletions[pods[i].Pod.UID]; known && pods[i].DeletionTimestamp == nil {
				pods[i].DeletionTimestamp = &at
			}
		}
	}
}
