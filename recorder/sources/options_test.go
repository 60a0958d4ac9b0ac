package sources

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/api/v1alpha1"
)

// TestGroupOptions: a worker pool's or a MachineDeployment's own autoscaling options are its groups'.
func TestGroupOptions(t *testing.T) {
	share := func(v float64) *float64 { return &v }
	minutes := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Minute} }
	pool := gardenerWorker + `    clusterAutoscaler: {scaleDownUtilizationThreshold: "0.3", scaleDownGpuUtilizationThreshold: "0.8", scaleDownUnneededTime: 5m0s, scaleDownUnreadyTime: 7m0s, maxNodeProvisionTime: 25m0s}
`
	annotated := func(d string, annotations string) string {
		return strings.Replace(d, "namespace: shoot--dev--web}", "namespace: shoot--dev--web, annotations: {"+annotations+"}}", 1)
	}
	z1 := machineDeployment("1", "2")
	capi := func(annotations string) string {
		return `
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: md-0
  namespace: fleet
  annotations: {cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "1", cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "3"` + annotations + `}
spec: {clusterName: one, replicas: 1}
`
	}
	for name, tc := range map[string]struct {
		source Source
		docs   []string
		want   *v1alpha1.NodeGroupOptions
	}{
		"none": {Gardener(), []string{gardenerWorker, z1}, nil},
		"a worker's pool": {Gardener(), []string{pool, z1}, &v1alpha1.NodeGroupOptions{ScaleDownUtilizationThreshold: share(0.3), ScaleDownGPUUtilizationThreshold: share(0.8),
			ScaleDownUnneededTime: minutes(5), ScaleDownUnreadyTime: minutes(7), MaxNodeProvisionTime: minutes(25)}},
		"annotations before the pool": {Gardener(), []string{pool, annotated(z1, `autoscaler.gardener.cloud/scale-down-utilization-threshold: "0.6", autoscaler.gardener.cloud/scale-down-gpu-utilization-threshold: "", `+
			`autoscaler.gardener.cloud/scale-down-unneeded-time: 1m, autoscaler.gardener.cloud/scale-down-unready-time: "", autoscaler.gardener.cloud/max-node-provision-time: ""`)},
			&v1alpha1.NodeGroupOptions{ScaleDownUtilizationThreshold: share(0.6), ScaleDownUnneededTime: minutes(1)}},
		"annotations without a worker": {Gardener(), []string{annotated(z1, `autoscaler.gardener.cloud/max-node-provision-time: 30m`)}, &v1alpha1.NodeGroupOptions{MaxNodeProvisionTime: minutes(30)}},
		"what is no value":             {Gardener(), []string{annotated(z1, `autoscaler.gardener.cloud/scale-down-unneeded-time: soon, autoscaler.gardener.cloud/scale-down-utilization-threshold: "-1"`)}, nil},
		"cluster API, none":            {ClusterAPI(), []string{capi("")}, nil},
		"cluster API": {ClusterAPI(), []string{capi(`, cluster.x-k8s.io/autoscaling-options-scaledownunneededtime: 3m, cluster.x-k8s.io/autoscaling-options-maxnodestartuptime: 9m,
    cluster.x-k8s.io/autoscaling-options-scaledowngpuutilizationthreshold: "0.1"`)},
			&v1alpha1.NodeGroupOptions{ScaleDownGPUUtilizationThreshold: share(0.1), ScaleDownUnneededTime: minutes(3), MaxNodeStartupTime: minutes(9)}},
	} {
		groups := tc.source.Groups(State{Custom: custom(t, tc.docs...)})
		if len(groups) != 1 {
			t.Fatalf("%s: %d groups, want 1", name, len(groups))
		}
		if diff := cmp.Diff(tc.want, groups[0].Spec.Options); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
