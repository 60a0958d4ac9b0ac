package trace

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestLoadByOwner: what pods used is shared by the replicas of a workload, and each node's own in a DaemonSet; a pod that nobody owns has no part in either.
func TestLoadByOwner(t *testing.T) {
	const at = time.Minute
	used := func(pod string, milli, bytes int) fields {
		return fields{"apiVersion": "scalehist.io/v1alpha1", "kind": "Usage", "metadata": fields{"namespace": "default", "name": pod},
			"spec": fields{"container": "c", "cpuMilli": milli, "memoryBytes": bytes}}
	}
	log := newLog().add(0, node("std-b", "std"))
	for _, name := range []string{"a", "b"} {
		on := "std-" + name
		log.add(0, bound(pod("agent-"+name, "DaemonSet/agent"), on), bound(pod("web-"+name, "ReplicaSet/web"), on), bound(pod("alone-"+name, ""), on))
	}
	log.add(at, used("agent-a", 100, 1000), used("agent-b", 200, 2000), used("web-a", 100, 1000), used("web-b", 200, 2000), used("alone-a", 500, 500))
	log.remove(2*at, pod("agent-b", "DaemonSet/agent"), pod("web-b", "ReplicaSet/web"))
	log.add(3*at, used("agent-a", 100, 1000), used("web-a", 100, 1000))

	series, _, err := Of(log.history(t)).Load(t.Context(), Window{From: epoch, To: epoch.Add(3 * at)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range series {
		text := fmt.Sprintf("%s %s %s:", s.Workload, s.Metric, s.Sharing)
		for _, p := range s.Points {
			text += fmt.Sprintf(" %s %g", p.At.Sub(epoch), p.Value)
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{
		"DaemonSet/default/agent cpu each: 1m0s 0.15 2m0s 0.1",
		"DaemonSet/default/agent memory each: 1m0s 1500 2m0s 1000",
		"ReplicaSet/default/web cpu divided: 1m0s 0.3 2m0s 0.1",
		"ReplicaSet/default/web memory each: 1m0s 1500 2m0s 1000",
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
