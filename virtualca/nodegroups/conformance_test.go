package nodegroups_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/prices"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/conformance"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
)

const priceFile = `
currency: USD
machineTypes: {std: 0.2}
pods: {cpu: 0.03, memoryGiB: 0.004}
`

// whole is a provider with all that the contract has.
func whole(t *testing.T) *nodegroups.Groups {
	t.Helper()
	unneeded := time.Minute
	table, err := prices.Parse([]byte(priceFile))
	if err != nil {
		t.Fatal(err)
	}
	template := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"gpu": "t4", corev1.LabelInstanceTypeStable: "std"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), "nvidia.com/gpu": resource.MustParse("1"),
		}},
	}
	p, err := cloudprovider.New([]scalehist.NodeGroup{
		{Name: "a", MinSize: 1, MaxSize: 4, TargetSize: 2, MachineType: "std", Template: template}, {Name: "b", MaxSize: 2, MachineType: "std", Template: template},
	}, cloudprovider.Options{
		Start: start, GPULabel: "gpu", Prices: table, GroupOptions: map[string]cloudprovider.GroupOptions{"a": {ScaleDownUnneededTime: &unneeded}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a-0", "a-1"} {
		if err := p.Adopt(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"scalehist.io/node-group": "a"}}}); err != nil {
			t.Fatal(err)
		}
	}
	return nodegroups.New(p, &clock{now: start}, nodegroups.Options{})
}

// behind serves a provider behind something that changes its answers, and connects to it.
func behind(t *testing.T, change grpc.UnaryServerInterceptor) *grpc.ClientConn {
	t.Helper()
	inner, err := externalgrpc.NewServer(whole(t), externalgrpc.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := serveOn(t, inner.Serve, inner.Stop)
	if change == nil {
		return first
	}
	// A proxy: each method is called at the provider, and its answer changed.
	proxy := grpc.NewServer(grpc.UnaryInterceptor(change))
	wire.RegisterCloudProviderServer(proxy, forward{client: wire.NewCloudProviderClient(first)})
	return serveOn(t, proxy.Serve, proxy.Stop)
}

func serveOn(t *testing.T, serve func(net.Listener) error, stop func()) *grpc.ClientConn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	t.Cleanup(func() {
		stop()
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

// forward answers what another provider answers.
type forward struct {
	wire.UnimplementedCloudProviderServer
	client wire.CloudProviderClient
}

func (f forward) NodeGroups(ctx context.Context, q *wire.NodeGroupsRequest) (*wire.NodeGroupsResponse, error) {
	return f.client.NodeGroups(ctx, q)
}

func (f forward) NodeGroupForNode(ctx context.Context, q *wire.NodeGroupForNodeRequest) (*wire.NodeGroupForNodeResponse, error) {
	return f.client.NodeGroupForNode(ctx, q)
}

func (f forward) PricingNodePrice(ctx context.Context, q *wire.PricingNodePriceRequest) (*wire.PricingNodePriceResponse, error) {
	return f.client.PricingNodePrice(ctx, q)
}

func (f forward) PricingPodPrice(ctx context.Context, q *wire.PricingPodPriceRequest) (*wire.PricingPodPriceResponse, error) {
	return f.client.PricingPodPrice(ctx, q)
}

func (f forward) GPULabel(ctx context.Context, q *wire.GPULabelRequest) (*wire.GPULabelResponse, error) {
	return f.client.GPULabel(ctx, q)
}

func (f forward) GetAvailableGPUTypes(ctx context.Context, q *wire.GetAvailableGPUTypesRequest) (*wire.GetAvailableGPUTypesResponse, error) {
	return f.client.GetAvailableGPUTypes(ctx, q)
}

func (f forward) Cleanup(ctx context.Context, q *wire.CleanupRequest) (*wire.CleanupResponse, error) {
	return f.client.Cleanup(ctx, q)
}

func (f forward) Refresh(ctx context.Context, q *wire.RefreshRequest) (*wire.RefreshResponse, error) {
	return f.client.Refresh(ctx, q)
}

func (f forward) NodeGroupTargetSize(ctx context.Context, q *wire.NodeGroupTargetSizeRequest) (*wire.NodeGroupTargetSizeResponse, error) {
	return f.client.NodeGroupTargetSize(ctx, q)
}

func (f forward) NodeGroupIncreaseSize(ctx context.Context, q *wire.NodeGroupIncreaseSizeRequest) (*wire.NodeGroupIncreaseSizeResponse, error) {
	return f.client.NodeGroupIncreaseSize(ctx, q)
}

func (f forward) NodeGroupDeleteNodes(ctx context.Context, q *wire.NodeGroupDeleteNodesRequest) (*wire.NodeGroupDeleteNodesResponse, error) {
	return f.client.NodeGroupDeleteNodes(ctx, q)
}

func (f forward) NodeGroupDecreaseTargetSize(ctx context.Context, q *wire.NodeGroupDecreaseTargetSizeRequest) (*wire.NodeGroupDecreaseTargetSizeResponse, error) {
	return f.client.NodeGroupDecreaseTargetSize(ctx, q)
}

func (f forward) NodeGroupNodes(ctx context.Context, q *wire.NodeGroupNodesRequest) (*wire.NodeGroupNodesResponse, error) {
	return f.client.NodeGroupNodes(ctx, q)
}

func (f forward) NodeGroupTemplateNodeInfo(ctx context.Context, q *wire.NodeGroupTemplateNodeInfoRequest) (*wire.NodeGroupTemplateNodeInfoResponse, error) {
	return f.client.NodeGroupTemplateNodeInfo(ctx, q)
}

func (f forward) NodeGroupGetOptions(ctx context.Context, q *wire.NodeGroupAutoscalingOptionsRequest) (*wire.NodeGroupAutoscalingOptionsResponse, error) {
	return f.client.NodeGroupGetOptions(ctx, q)
}

// fault changes requests before and answers after a call.
type fault func(req any, next func() (any, error)) (any, error)

func judge(t *testing.T, f fault) map[string]conformance.Result {
	t.Helper()
	var change grpc.UnaryServerInterceptor
	if f != nil {
		change = func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			return f(req, func() (any, error) { return next(ctx, req) })
		}
	}
	list, err := conformance.Run(t.Context(), behind(t, change), conformance.Options{Change: "a"})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]conformance.Result{}
	for _, r := range list {
		if _, twice := out[r.Check]; twice {
			t.Errorf("check %s ran twice", r.Check)
		}
		out[r.Check] = r
	}
	return out
}

func TestOursConforms(t *testing.T) {
	for name, r := range judge(t, nil) {
		if r.Outcome != conformance.Honoured {
			t.Errorf("%s is %s: %s", name, r.Outcome, r.Text)
		}
	}
	// A proxy that changes nothing breaks nothing: what is found behind the others is theirs.
	for name, r := range judge(t, func(_ any, next func() (any, error)) (any, error) { return next() }) {
		if r.Outcome != conformance.Honoured {
			t.Errorf("behind a proxy, %s is %s: %s", name, r.Outcome, r.Text)
		}
	}
}

func TestNothingIsChangedUnasked(t *testing.T) {
	list, err := conformance.Run(t.Context(), behind(t, func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		resp, err := next(ctx, req)
		switch req.(type) {
		case *wire.NodeGroupIncreaseSizeRequest, *wire.NodeGroupDecreaseTargetSizeRequest, *wire.NodeGroupDeleteNodesRequest:
			if err == nil {
				t.Errorf("%T was granted", req)
			}
		}
		return resp, err
	}), conformance.Options{})
	if err != nil {
		t.Fatal(err)
	}
	skipped := 0
	for _, r := range list {
		if r.Outcome == conformance.Skipped {
			skipped++
		}
	}
	if skipped != 5 {
		t.Errorf("%d checks were skipped, want the 5 that change something", skipped)
	}
}

func TestNobodyAnswers(t *testing.T) {
	c, err := grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := conformance.Run(t.Context(), c, conformance.Options{CallTime: time.Second}); err == nil {
		t.Error("where nobody answers there is a result")
	}
}

// TestBrokenProviders: each fault of a provider is found by the checks that are about it, and by no others.
func TestBrokenProviders(t *testing.T) {
	// answered changes answers of one type.
	answered := func(change func(resp any)) fault {
		return func(_ any, next func() (any, error)) (any, error) {
			resp, err := next()
			if err == nil {
				change(resp)
			}
			return resp, err
		}
	}
	for name, c := range map[string]struct {
		fault func() fault
		want  []string
	}{
		"unknown groups have no nodes and size 0, as Liqo's": {func() fault {
			return func(req any, next func() (any, error)) (any, error) {
				resp, err := next()
				if status.Code(err) != codes.NotFound {
					return resp, err
				}
				switch req.(type) {
				case *wire.NodeGroupTargetSizeRequest:
					return &wire.NodeGroupTargetSizeResponse{}, nil
				case *wire.NodeGroupNodesRequest:
					return &wire.NodeGroupNodesResponse{}, nil
				}
				return resp, err
			}
		}, []string{"nodes/unknown-group", "target-size/unknown-group"}},
		"every error is Unknown": {func() fault {
			return func(_ any, next func() (any, error)) (any, error) {
				resp, err := next()
				if err != nil {
					err = errors.New(status.Convert(err).Message())
				}
				return resp, err
			}
		}, []string{"decrease/nodes", "decrease/nothing", "decrease/unknown-group", "delete/foreign", "delete/unknown-group", "increase/above-max", "increase/nothing",
			"increase/unknown-group", "nodes/unknown-group", "target-size/unknown-group", "template/unknown-group"}},
		"templates in the old wire alone": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupTemplateNodeInfoResponse); ok {
					r.NodeBytes = nil
				}
			})
		}, []string{"template/current-wire"}},
		"templates in the new wire alone": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupTemplateNodeInfoResponse); ok {
					r.NodeInfo = nil
				}
			})
		}, []string{"template/legacy-wire"}},
		"templates without devices": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupTemplateNodeInfoResponse); ok {
					n := &corev1.Node{}
					_ = n.Unmarshal(r.GetNodeBytes())
					delete(n.Status.Allocatable, "nvidia.com/gpu")
					b, _ := n.Marshal()
					r.NodeBytes, r.NodeInfo = b, b
				}
			})
		}, []string{"template/devices"}},
		"every node is of the first group": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupForNodeResponse); ok {
					r.NodeGroup = &wire.NodeGroup{Id: "b"}
				}
			})
		}, []string{"nodegroup-for-node/foreign", "nodegroup-for-node/own"}},
		"a machine that was asked for is forgotten": {func() fault {
			var refreshed atomic.Bool
			return func(req any, next func() (any, error)) (any, error) {
				resp, err := next()
				switch r := resp.(type) {
				case *wire.NodeGroupIncreaseSizeResponse:
					refreshed.Store(false)
				case *wire.RefreshResponse:
					refreshed.Store(true)
				case *wire.NodeGroupNodesResponse:
					if n := len(r.GetInstances()); err == nil && refreshed.Load() && n > 2 {
						r.Instances = r.GetInstances()[:n-1]
					}
				}
				return resp, err
			}
		}, []string{"increase/kept-next-loop"}},
		"the target size is that of the nodes": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupTargetSizeResponse); ok && r.GetTargetSize() > 2 {
					r.TargetSize = 2
				}
			})
		}, []string{"delete", "increase"}},
		"creating machines are not listed": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupNodesResponse); ok {
					var keep []*wire.Instance
					for _, i := range r.GetInstances() {
						if i.GetStatus().GetInstanceState() == wire.InstanceStatus_instanceRunning {
							keep = append(keep, i)
						}
					}
					r.Instances = keep
				}
			})
		}, []string{"increase"}},
		"states are not set": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupNodesResponse); ok {
					for _, i := range r.GetInstances() {
						i.Status = nil
					}
				}
			})
		}, []string{"nodes"}},
		"deletes nothing, and says it did": {func() fault {
			return func(req any, next func() (any, error)) (any, error) {
				if _, ok := req.(*wire.NodeGroupDeleteNodesRequest); ok {
					return &wire.NodeGroupDeleteNodesResponse{}, nil
				}
				return next()
			}
		}, []string{"delete", "delete/foreign", "delete/unknown-group"}},
		"options with fields that are not set": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupAutoscalingOptionsResponse); ok && r.GetNodeGroupAutoscalingOptions() != nil {
					r.NodeGroupAutoscalingOptions.MaxNodeProvisionDuration = nil
				}
			})
		}, []string{"get-options"}},
		"prices of no period": {func() fault {
			return answered(func(resp any) {
				switch r := resp.(type) {
				case *wire.PricingNodePriceResponse:
					r.Price = 1
				case *wire.PricingPodPriceResponse:
					r.Price = 1
				}
			})
		}, []string{"node-price", "pod-price"}},
		"answers depend on who asks": {func() fault {
			var asked atomic.Int64
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupsResponse); ok && asked.Add(1) > 2 {
					r.NodeGroups[1].MaxSize += int32(asked.Load())
				}
			})
		}, []string{"concurrency"}},
		"a group is there twice": {func() fault {
			return answered(func(resp any) {
				if r, ok := resp.(*wire.NodeGroupsResponse); ok {
					r.NodeGroups = append(r.NodeGroups, r.GetNodeGroups()[1])
				}
			})
		}, []string{"node-groups"}},
		"it does not answer again after Cleanup": {func() fault {
			var over atomic.Bool
			return func(req any, next func() (any, error)) (any, error) {
				if over.Load() {
					return nil, errors.New("it is over")
				}
				if _, ok := req.(*wire.CleanupRequest); ok {
					over.Store(true)
				}
				return next()
			}
		}, []string{"cleanup"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			results := judge(t, c.fault())
			for _, check := range keys(results) {
				if r := results[check]; r.Outcome == conformance.Broken {
					got = append(got, check)
					if r.Text == "" {
						t.Errorf("%s does not say what is wrong", check)
					}
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("broken checks (-want +got):\n%s", diff)
				for _, check := range got {
					t.Logf("%s: %s", check, results[check].Text)
				}
			}
		})
	}
}

func keys(m map[string]conformance.Result) []string { return slices.Sorted(maps.Keys(m)) }
