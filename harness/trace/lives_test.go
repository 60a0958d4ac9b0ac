package trace

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// object is one of a kind, with nothing in it.
func object(apiVersion, kind string) fields {
	return fields{"apiVersion": apiVersion, "kind": kind, "metadata": fields{"name": "x", "namespace": "default", "uid": kind}}
}

// TestStandingPodsComeWithoutLives: restarts are of the recorded cluster. A pod with container statuses would also take the
// scheduler off its quick ways.
func TestStandingPodsComeWithoutLives(t *testing.T) {
	crashing := with(bound(pod("web-1", "ReplicaSet/web"), "std-a"), "status.containerStatuses", []fields{{"name": "main", "restartCount": 3}})
	log := newLog().add(0, crashing).add(sec, object("v1", "LimitRange"))
	db := log.history(t)
	recorded, err := db.ObjectsAt(t.Context(), epoch, "Pod")
	if err != nil || len(recorded) != 1 || len(recorded[0].(*corev1.Pod).Status.ContainerStatuses) != 1 {
		t.Fatalf("recorded %v, %v; want a pod with a restart", recorded, err)
	}
	for _, ch := range log.input(t, 0, 0).Initial {
		if p, ok := ch.Object.(*corev1.Pod); ok && len(p.Status.ContainerStatuses) > 0 {
			t.Errorf("%s comes with %d container statuses", p.Name, len(p.Status.ContainerStatuses))
		}
	}
}
