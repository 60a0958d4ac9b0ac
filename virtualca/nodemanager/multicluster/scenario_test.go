package multicluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// TestBurst: more is asked for than there is. What can be had comes, the rest is out of resources, and free again when the autoscaler gives it back.
func TestBurst(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "4", 1), remote("b", "4", 2))
	r.grow("std", 4)
	r.want("std", "4, std-0@a creating, std-1@b creating, std-2@ creating NO_CLUSTER_FITS, std-3@ creating NO_CLUSTER_FITS")
	list, err := r.Instances(t.Context(), "std")
	if err != nil || list[2].Error.Class != externalgrpc.OutOfResources || !strings.Contains(list[2].Error.Message, "Insufficient cpu") {
		t.Errorf("got %+v, %v", list, err)
	}
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: ProviderID("std-2"), ProviderID: ProviderID("std-2")}, {ProviderID: ProviderID("std-3")}}); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Minute)
	r.want("std", "2, std-0@a running, std-1@b running")
	if err := r.IncreaseSize(t.Context(), "std", 2); !errors.Is(err, externalgrpc.ErrExhausted) {
		t.Errorf("nothing is left: %v", err)
	}
}

// TestRemoteVanishesWhileScaling: another cluster gives what the first had not yet; what it had given is lost.
func TestRemoteVanishesWhileScaling(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "8", 1), remote("b", "4", 2))
	r.grow("std", 1)
	r.pass(time.Minute)
	r.grow("std", 2)
	r.want("std", "3, std-0@a running, std-1@a creating, std-2@b creating")
	r.clusters.list = r.clusters.list[1:]
	r.pass(time.Second)
	r.want("std", "2, std-1@ creating NO_CLUSTER_FITS, std-2@b creating")
	if r.nodes["std-0"] != nil {
		t.Error("the node of a cluster that vanished is there")
	}
	if err := r.DecreaseTargetSize(t.Context(), "std", 1); err != nil {
		t.Fatal(err)
	}
	r.clusters.list = append(r.clusters.list, remote("c", "4", 3))
	r.grow("std", 1)
	r.clusters.list = r.clusters.list[:1]
	r.clusters.list = append(r.clusters.list, remote("d", "4", 3))
	r.pass(time.Second)
	r.want("std", "2, std-2@b creating, std-3@d creating")
	r.pass(time.Minute)
	r.want("std", "2, std-2@b running, std-3@d running")
}

// TestDiscoveryDown: nothing is asked for, nothing is lost, nothing panics.
func TestDiscoveryDown(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "8", 1))
	r.grow("std", 1)
	r.pass(time.Minute)
	r.clusters.list, r.clusters.err = nil, errors.New("connection refused")
	r.pass(time.Hour)
	r.want("std", "1, std-0@a running")
	for what, err := range map[string]error{"increase": r.IncreaseSize(t.Context(), "std", 1), "refresh": r.Refresh(t.Context())} {
		if !errors.Is(err, externalgrpc.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{Name: "std-0"}}); err != nil {
		t.Fatal(err)
	}
	r.pass(0)
	r.want("std", "0")
}

// TestSlowPeering: a peering that takes too long fails alone, is given back, and the cluster is not used up by it.
func TestSlowPeering(t *testing.T) {
	r := newRig(t, "provisionTimeout: 5m\n"+withPolicy("first-match"), remote("a", "8", 1), remote("b", "8", 2))
	r.peering = slow{r.peering, "a"}
	r.restart()
	r.grow("std", 2)
	r.pass(time.Minute)
	r.want("std", "2, std-0@a creating, std-1@b running")
	r.pass(4 * time.Minute)
	r.want("std", "2, std-0@a creating PEERING_TIMEOUT, std-1@b running")
	if err := r.DeleteNodes(t.Context(), "std", []externalgrpc.Node{{ProviderID: ProviderID("std-0")}}); err != nil {
		t.Fatal(err)
	}
	r.pass(0)
	r.grow("std", 1)
	r.want("std", "2, std-1@b running, std-2@a creating")
}

// slow never peers with one cluster.
type slow struct {
	Peering
	cluster string
}

func (s slow) Peer(ctx context.Context, share Share) (bool, error) {
	if share.Cluster.Name == s.cluster {
		return false, nil
	}
	return s.Peering.Peer(ctx, share)
}

// TestGPUOnlyRemote: what only one cluster has comes from there, with the label by which the autoscaler knows it.
func TestGPUOnlyRemote(t *testing.T) {
	const config = `
gpuLabel: gpu.example/type
groups:
- name: gpu
  maxSize: 2
  policy: cheapest
  select: {hasGPU: "true"}
  resources: {min: {cpu: "2", memory: 4Gi, nvidia.com/gpu: "1"}, max: {nvidia.com/gpu: "4"}}
  labels: {gpu.example/type: t4}
  taints: [{key: nvidia.com/gpu, effect: NoSchedule}]
`
	plain, gpus := remote("a", "64", 0.1), remote("b", "8", 1)
	gpus.Labels = map[string]string{"hasGPU": "true"}
	gpus.Resources["nvidia.com/gpu"] = resource.MustParse("3")
	gpus.Prices.GPU = 2
	r := newRig(t, config, plain, gpus)
	template, err := r.Template(t.Context(), "gpu")
	if err != nil {
		t.Fatal(err)
	}
	if q := template.Status.Allocatable["nvidia.com/gpu"]; q.Value() != 1 || template.Labels["gpu.example/type"] != "t4" || len(template.Spec.Taints) != 1 {
		t.Errorf("template %+v", template)
	}
	r.grow("gpu", 1)
	r.pass(time.Minute)
	r.want("gpu", "1, gpu-0@b running")
	if q := r.nodes["gpu-0"].Status.Allocatable["nvidia.com/gpu"]; q.Value() != 3 {
		t.Errorf("it has %s GPUs, want those that are free", q.String())
	}
	if err := r.IncreaseSize(t.Context(), "gpu", 1); !errors.Is(err, externalgrpc.ErrExhausted) {
		t.Errorf("there is no GPU left: %v", err)
	}
	if types, err := r.GPUTypes(t.Context()); err != nil || strings.Join(types, " ") != "t4" {
		t.Errorf("GPU types %v, %v", types, err)
	}
	price, err := r.NodePrice(t.Context(), externalgrpc.Node{ProviderID: ProviderID("gpu-0")}, start, start.Add(30*time.Minute))
	if err != nil || price != (2*1+3*2)/2.0 {
		t.Errorf("price %v, %v: want 2 cores and 3 GPUs for half an hour", price, err)
	}
}

// TestPriceChangeFlipsTheChoice: the same request goes elsewhere when prices change, and the template's price says so before.
func TestPriceChangeFlipsTheChoice(t *testing.T) {
	r := newRig(t, withPolicy("cheapest"), remote("a", "16", 1), remote("b", "16", 2))
	price := func() float64 {
		t.Helper()
		n, err := r.Template(t.Context(), "std")
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.NodePrice(t.Context(), externalgrpc.Node{Name: n.Name, Labels: n.Labels, Annotations: n.Annotations}, start, start.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if got := price(); got != 2 {
		t.Errorf("price %v, want 2 cores at 1", got)
	}
	r.grow("std", 1)
	r.clusters.list[0].Prices.CPU = 5
	if got := price(); got != 4 {
		t.Errorf("price %v, want 2 cores at 2", got)
	}
	r.grow("std", 1)
	r.want("std", "2, std-0@a creating, std-1@b creating")
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: list("cpu", "500m")}}}}}
	if got, err := r.PodPrice(t.Context(), pod, start, start.Add(2*time.Hour)); err != nil || got != 2 {
		t.Errorf("price of a pod %v, %v: want half a core at 2 for 2 hours", got, err)
	}
	if _, err := r.NodePrice(t.Context(), externalgrpc.Node{Name: "nobody"}, start, start.Add(time.Hour)); !errors.Is(err, externalgrpc.ErrNotFound) {
		t.Errorf("the price of a stranger: %v", err)
	}
}
