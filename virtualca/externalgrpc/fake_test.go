package externalgrpc_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// bare is a provider without anything optional: groups with a bound, whose nodes are there at once.
type bare struct {
	mu     sync.Mutex
	max    map[string]int
	size   map[string]int
	hang   chan struct{} // TargetSize waits for it, if set
	panics bool
}

func newBare() *bare {
	return &bare{max: map[string]int{"a": 1000, "b": 3}, size: map[string]int{"a": 1, "b": 0}}
}

func (p *bare) NodeGroups(context.Context) ([]externalgrpc.NodeGroup, error) {
	if p.panics {
		panic("no groups")
	}
	return []externalgrpc.NodeGroup{{ID: "a", MinSize: 1, MaxSize: 1000, Debug: "first"}, {ID: "b", MaxSize: 3}}, nil
}

func (p *bare) NodeGroupForNode(_ context.Context, n externalgrpc.Node) (externalgrpc.NodeGroup, error) {
	if n.Labels["pool"] != "b" {
		return externalgrpc.NodeGroup{}, nil
	}
	return externalgrpc.NodeGroup{ID: "b", MaxSize: 3}, nil
}

func (p *bare) TargetSize(ctx context.Context, group string) (int, error) {
	if p.hang != nil {
		<-p.hang // takes no notice of ctx, as a provider should
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, ok := p.size[group]
	if !ok {
		return 0, fmt.Errorf("node group %s: %w", group, externalgrpc.ErrNotFound)
	}
	return n, nil
}

func (p *bare) IncreaseSize(_ context.Context, group string, delta int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size[group]+delta > p.max[group] {
		return fmt.Errorf("node group %s: %w: %d is the most", group, externalgrpc.ErrExhausted, p.max[group])
	}
	p.size[group] += delta
	return nil
}

func (p *bare) DecreaseTargetSize(_ context.Context, group string, delta int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.size[group]-delta < 1 {
		return fmt.Errorf("node group %s: %w: nodes would have to go", group, externalgrpc.ErrPrecondition)
	}
	p.size[group] -= delta
	return nil
}

func (p *bare) Instances(context.Context, string) ([]externalgrpc.Instance, error) {
	return []externalgrpc.Instance{
		{ID: "v://1", State: externalgrpc.Running},
		{ID: "v://2", State: externalgrpc.Creating, Error: &externalgrpc.InstanceError{Code: "STOCKOUT", Message: "none left", Class: externalgrpc.OutOfResources}},
		{ID: "v://3", State: externalgrpc.Deleting},
	}, nil
}

func (p *bare) DeleteNodes(_ context.Context, group string, nodes []externalgrpc.Node) error {
	return fmt.Errorf("node %s of %s: %w", nodes[0].Name, group, externalgrpc.ErrUnavailable)
}

// full has all that is optional.
type full struct {
	*bare
	refreshed, cleaned int
	from, to           time.Time
	pod                *corev1.Pod
	defaults           externalgrpc.Options
}

func (p *full) Template(context.Context, string) (*corev1.Node, error) {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "template", Labels: map[string]string{"pool": "a"}},
		Status:     corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}},
	}, nil
}

func (p *full) NodePrice(_ context.Context, _ externalgrpc.Node, from, to time.Time) (float64, error) {
	p.from, p.to = from, to
	return 0.5 * to.Sub(from).Hours(), nil
}

func (p *full) PodPrice(_ context.Context, pod *corev1.Pod, from, to time.Time) (float64, error) {
	p.pod, p.from, p.to = pod, from, to
	return 0.1, nil
}

func (p *full) GroupOptions(_ context.Context, _ string, d externalgrpc.Options) (*externalgrpc.Options, error) {
	p.defaults = d
	d.ScaleDownUtilizationThreshold = 0.7
	return &d, nil
}

func (p *full) GPULabel(context.Context) (string, error)   { return "gpu", nil }
func (p *full) GPUTypes(context.Context) ([]string, error) { return []string{"t4"}, nil }

func (p *full) Refresh(context.Context) error { p.refreshed++; return nil }
func (p *full) Cleanup(context.Context) error { p.cleaned++; return nil }

// serve serves p over TCP until the test ends, and returns the address.
func serve(t *testing.T, p externalgrpc.Provider, o externalgrpc.ServerOptions) string {
	t.Helper()
	s, err := externalgrpc.NewServer(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return listen(t, s)
}

// listen serves until the test ends.
func listen(t testing.TB, s *externalgrpc.Server) string {
	t.Helper()
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
	return l.Addr().String()
}

func insecureDial() grpc.DialOption {
	return grpc.WithTransportCredentials(insecure.NewCredentials())
}

// isParseError: gRPC answers so to bytes that are no message.
func isParseError(err error) bool {
	return strings.Contains(err.Error(), "error unmarshalling request")
}

func dial(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(address, append([]grpc.DialOption{insecureDial()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func client(t *testing.T, p externalgrpc.Provider, o externalgrpc.ServerOptions) wire.CloudProviderClient {
	t.Helper()
	return wire.NewCloudProviderClient(dial(t, serve(t, p, o)))
}
