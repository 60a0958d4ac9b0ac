package virtualca

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/simulator/nodetemplate"
	"github.com/scalehist/scalehist/virtualca/status"
)

const wantStatus = `autoscalerStatus: Running
clusterWide:
  health:
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    nodeCounts:
      longUnregistered: 0
      registered:
        beingDeleted: 0
        notStarted: 0
        ready: 2
        suspended: 0
        total: 2
        unready:
          resourceUnready: 0
          total: 0
      unregistered: 1
    status: Healthy
  scaleDown:
    candidates: 1
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: CandidatesPresent
  scaleUp:
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: InProgress
nodeGroups:
- health:
    cloudProviderTarget: 2
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    maxSize: 5
    minSize: 0
    nodeCounts:
      longUnregistered: 0
      registered:
        beingDeleted: 0
        notStarted: 0
        ready: 1
        suspended: 0
        total: 1
        unready:
          resourceUnready: 0
          total: 0
      unregistered: 1
    status: Healthy
  name: a
  scaleDown:
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: NoCandidates
  scaleUp:
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: InProgress
- health:
    cloudProviderTarget: 1
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    maxSize: 5
    minSize: 0
    nodeCounts:
      longUnregistered: 0
      registered:
        beingDeleted: 0
        notStarted: 0
        ready: 1
        suspended: 0
        total: 1
        unready:
          resourceUnready: 0
          total: 0
      unregistered: 0
    status: Healthy
  name: b
  scaleDown:
    candidates: 1
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: CandidatesPresent
  scaleUp:
    lastProbeTime: "2026-03-01T10:00:30Z"
    lastTransitionTime: "2026-03-01T10:00:00Z"
    status: NoActivity
time: 2026-03-01 10:00:30 +0000 UTC
`

func TestStatus(t *testing.T) {
	pods := append(cpuPods(1, "4"), on("a-0", testPod("p", "web", "3", "1Gi")))
	c := &testCluster{objects: scalehist.Objects{Nodes: append(nodesOf("a", 1), nodesOf("b", 1)...), Pods: pods}}
	c.objects.Nodes[1].Spec.Taints = append(c.objects.Nodes[1].Spec.Taints, nodetemplate.DeletionTaint(testStart.Add(-time.Hour)))
	c.objects.Nodes[1].Spec.Taints[0].Key = "team"
	r := start(t, c, []scalehist.NodeGroup{smallGroup("b", 1, 5), smallGroup("a", 1, 5)}, quick(), cloudprovider.Options{})
	if r.a.Status() != nil {
		t.Error("there is a status before the first loop")
	}
	r.at(0)
	r.at(30 * time.Second)
	got := r.a.Status()
	if diff := cmp.Diff("kube-system/cluster-autoscaler-status", got.Namespace+"/"+got.Name); diff != "" {
		t.Error(diff)
	}
	if got.Annotations[status.LastUpdatedAnnotation] != "2026-03-01 10:00:30 +0000 UTC" {
		t.Errorf("annotations: %v", got.Annotations)
	}
	if diff := cmp.Diff(wantStatus, got.Data["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	r.a.settings.WriteStatus = false
	if r.a.Status() != nil {
		t.Error("--write-status-configmap=false writes a status")
	}
}

func TestStatusOfBackoff(t *testing.T) {
	c := &testCluster{objects: scalehist.Objects{Pods: cpuPods(1, "3")}}
	r := start(t, c, []scalehist.NodeGroup{smallGroup("a", 0, 5)}, quick(), cloudprovider.Options{Faults: []cloudprovider.Fault{{Kind: cloudprovider.FaultRefuse, Message: strings.Repeat("é", 300)}}})
	r.at(0)
	var got status.Cluster
	if err := yaml.Unmarshal([]byte(r.a.Status().Data["status"]), &got); err != nil {
		t.Fatal(err)
	}
	up := got.NodeGroups[0].ScaleUp
	if up.Status != status.InBackoff || up.BackoffInfo == nil || up.BackoffInfo.ErrorCode != "cloudProviderError" {
		t.Fatalf("got %+v", up)
	}
	if m := up.BackoffInfo.ErrorMessage; len(m) > status.MaxStatusMessage || !strings.HasSuffix(m, "é"+status.Truncated) {
		t.Errorf("message of %d bytes: %s", len(m), m)
	}
}
