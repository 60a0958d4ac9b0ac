package nodemanager_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
	"github.com/scalehist/scalehist/virtualca/nodemanager/virtual"
)

// fixed is a list of clusters that does not change.
type fixed []discovery.Cluster

func (f fixed) Clusters(context.Context) ([]discovery.Cluster, error) { return f, nil }

func resources(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("512Gi"), "nvidia.com/gpu": resource.MustParse("64")}
}

const groups = `
gpuLabel: gpu
groups:
- {name: a, minSize: 1, maxSize: 80, policy: cheapest, labels: {gpu: t4}, resources: {min: {cpu: "1", memory: 1Gi, nvidia.com/gpu: "1"}}}
- {name: b, maxSize: 2, policy: cheapest, labels: {gpu: t4}, resources: {min: {cpu: "1", memory: 1Gi, nvidia.com/gpu: "1"}}}
`

func openStore(t testing.TB, path, kind string) *docstore.Store {
	t.Helper()
	s, err := docstore.Open(t.Context(), path, kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// borrowed is a pool over one large cluster, whose nodes are there after a moment.
func borrowed(t testing.TB, path string) *multicluster.Pool {
	t.Helper()
	c, err := multicluster.Parse([]byte(groups))
	if err != nil {
		t.Fatal(err)
	}
	real := clock.RealClock{}
	p, err := multicluster.New(t.Context(), multicluster.Options{Config: c, Store: openStore(t, path, multicluster.Kind), Clock: real, Peering: multicluster.Objects{Clock: real},
		Clusters: fixed{{Name: "large", Resources: resources("64"), Prices: &prices.PodPrices{CPU: 1, MemoryGiB: 0.5, GPU: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run works until the test ends.
func run(t testing.TB, work func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// ours is a back-end with virtual node groups.
func ours(t testing.TB, path string) *virtual.Backend {
	t.Helper()
	template := &corev1.Node{Status: corev1.NodeStatus{Allocatable: resources("4")}}
	template.Labels = map[string]string{"gpu": "t4", corev1.LabelInstanceTypeStable: "std"}
	zero := time.Duration(0)
	real := clock.RealClock{}
	p, err := cloudprovider.New([]scalehist.NodeGroup{
		{Name: "a", MinSize: 1, MaxSize: 80, TargetSize: 2, MachineType: "std", Template: template}, {Name: "b", MaxSize: 2, MachineType: "std", Template: template},
	}, cloudprovider.Options{Start: real.Now(), GPULabel: "gpu", DefaultDelay: &zero, DeletionDelay: &zero,
		Prices: &prices.Table{MachineTypes: map[string]float64{"std": 0.2}, Pods: prices.PodPrices{CPU: 0.03}}})
	if err != nil {
		t.Fatal(err)
	}
	store := openStore(t, path, virtual.Kind)
	if _, err := virtual.Restore(t.Context(), store, p); err != nil {
		t.Fatal(err)
	}
	b := beside.New(p, real, nil)
	run(t, func(ctx context.Context) { b.Run(ctx, func(string, error) {}) })
	return virtual.New(p, b, store)
}

// backends are all, with two nodes in group a.
func backends(t *testing.T) map[string]nodemanager.Backend {
	pool := borrowed(t, filepath.Join(t.TempDir(), "borrowed.db"))
	run(t, pool.Run)
	if err := pool.IncreaseSize(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	return map[string]nodemanager.Backend{"virtual": ours(t, filepath.Join(t.TempDir(), "virtual.db")), "multicluster": pool}
}

// client reaches a back-end through the node manager's API.
func client(t *testing.T, b nodemanager.Backend) *nodemanager.Client {
	t.Helper()
	s := httptest.NewServer(nodemanager.NewServer(b, restapi.Gate{}))
	t.Cleanup(s.Close)
	return &nodemanager.Client{API: restapi.Client{HTTP: http.DefaultClient, Base: s.URL}, Clock: clock.RealClock{}, Patience: 200 * time.Millisecond}
}

// dial serves a provider as autoscalers see it.
func dial(t *testing.T, p externalgrpc.Provider) *grpc.ClientConn {
	t.Helper()
	s, err := externalgrpc.NewServer(p, externalgrpc.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}
