package externalgrpc_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

func TestAnswers(t *testing.T) {
	p := &full{bare: newBare()}
	c := client(t, p, externalgrpc.ServerOptions{})
	ctx := t.Context()

	groups, err := c.NodeGroups(ctx, &wire.NodeGroupsRequest{})
	wantGroups := &wire.NodeGroupsResponse{NodeGroups: []*wire.NodeGroup{{Id: "a", MinSize: 1, MaxSize: 1000, Debug: "first"}, {Id: "b", MaxSize: 3}}}
	same(t, wantGroups, groups, err)

	of, err := c.NodeGroupForNode(ctx, &wire.NodeGroupForNodeRequest{Node: &wire.ExternalGrpcNode{Name: "n", Labels: map[string]string{"pool": "b"}}})
	same(t, &wire.NodeGroupForNodeResponse{NodeGroup: &wire.NodeGroup{Id: "b", MaxSize: 3}}, of, err)
	of, err = c.NodeGroupForNode(ctx, &wire.NodeGroupForNodeRequest{Node: &wire.ExternalGrpcNode{Name: "n"}})
	same(t, &wire.NodeGroupForNodeResponse{NodeGroup: &wire.NodeGroup{}}, of, err)

	_, err = c.NodeGroupIncreaseSize(ctx, &wire.NodeGroupIncreaseSizeRequest{Id: "b", Delta: 3})
	size, err2 := c.NodeGroupTargetSize(ctx, &wire.NodeGroupTargetSizeRequest{Id: "b"})
	if err != nil {
		t.Error(err)
	}
	same(t, &wire.NodeGroupTargetSizeResponse{TargetSize: 3}, size, err2)
	_, err = c.NodeGroupDecreaseTargetSize(ctx, &wire.NodeGroupDecreaseTargetSizeRequest{Id: "b", Delta: -2})
	size, err2 = c.NodeGroupTargetSize(ctx, &wire.NodeGroupTargetSizeRequest{Id: "b"})
	if err != nil {
		t.Error(err)
	}
	same(t, &wire.NodeGroupTargetSizeResponse{TargetSize: 1}, size, err2)

	nodes, err := c.NodeGroupNodes(ctx, &wire.NodeGroupNodesRequest{Id: "b"})
	same(t, &wire.NodeGroupNodesResponse{Instances: []*wire.Instance{
		{Id: "v://1", Status: &wire.InstanceStatus{InstanceState: wire.InstanceStatus_instanceRunning}},
		{Id: "v://2", Status: &wire.InstanceStatus{InstanceState: wire.InstanceStatus_instanceCreating,
			ErrorInfo: &wire.InstanceErrorInfo{ErrorCode: "STOCKOUT", ErrorMessage: "none left", InstanceErrorClass: 1}}},
		{Id: "v://3", Status: &wire.InstanceStatus{InstanceState: wire.InstanceStatus_instanceDeleting}},
	}}, nodes, err)

	label, err := c.GPULabel(ctx, &wire.GPULabelRequest{})
	same(t, &wire.GPULabelResponse{Label: "gpu"}, label, err)
	types, err := c.GetAvailableGPUTypes(ctx, &wire.GetAvailableGPUTypesRequest{})
	if _, ok := types.GetGpuTypes()["t4"]; err != nil || !ok || len(types.GetGpuTypes()) != 1 {
		t.Errorf("GPU types are %v, %v: want t4", types, err)
	}
	if _, err := c.Refresh(ctx, &wire.RefreshRequest{}); err != nil || p.refreshed != 1 {
		t.Errorf("Refresh: %v, the provider heard of %d", err, p.refreshed)
	}
	if _, err := c.Cleanup(ctx, &wire.CleanupRequest{}); err != nil || p.cleaned != 1 {
		t.Errorf("Cleanup: %v, the provider heard of %d", err, p.cleaned)
	}
}

// same compares the answer of a call that must not fail.
func same[M any](t *testing.T, want, got M, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
		t.Errorf("answer (-want +got):\n%s", d)
	}
}

func TestStatusCodes(t *testing.T) {
	now := timestamppb.New(time.Unix(1000, 0))
	node := &wire.ExternalGrpcNode{Name: "n"}
	for _, tt := range []struct {
		name string
		call func(context.Context, wire.CloudProviderClient) error
		want codes.Code
		says string
	}{
		{"unknown group", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupTargetSize(ctx, &wire.NodeGroupTargetSizeRequest{Id: "x"})
			return err
		}, codes.NotFound, "node group x"},
		{"above the maximum", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupIncreaseSize(ctx, &wire.NodeGroupIncreaseSizeRequest{Id: "b", Delta: 4})
			return err
		}, codes.ResourceExhausted, "3 is the most"},
		{"increase by nothing", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupIncreaseSize(ctx, &wire.NodeGroupIncreaseSizeRequest{Id: "b"})
			return err
		}, codes.InvalidArgument, "positive"},
		{"decrease by a positive delta", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupDecreaseTargetSize(ctx, &wire.NodeGroupDecreaseTargetSizeRequest{Id: "a", Delta: 1})
			return err
		}, codes.InvalidArgument, "negative"},
		{"decrease below the nodes", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupDecreaseTargetSize(ctx, &wire.NodeGroupDecreaseTargetSizeRequest{Id: "a", Delta: -1})
			return err
		}, codes.FailedPrecondition, "nodes would have to go"},
		{"provider down", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupDeleteNodes(ctx, &wire.NodeGroupDeleteNodesRequest{Id: "a", Nodes: []*wire.ExternalGrpcNode{node}})
			return err
		}, codes.Unavailable, "node n of a"},
		{"delete nothing", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupDeleteNodes(ctx, &wire.NodeGroupDeleteNodesRequest{Id: "a"})
			return err
		}, codes.InvalidArgument, "none is named"},
		{"no node", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupForNode(ctx, &wire.NodeGroupForNodeRequest{})
			return err
		}, codes.InvalidArgument, "without name"},
		{"no prices", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.PricingNodePrice(ctx, &wire.PricingNodePriceRequest{Node: node, StartTimestamp: now, EndTimestamp: now})
			return err
		}, codes.Unimplemented, "no prices"},
		{"no options", func(ctx context.Context, c wire.CloudProviderClient) error {
			_, err := c.NodeGroupGetOptions(ctx, &wire.NodeGroupAutoscalingOptionsRequest{Id: "a"})
			return err
		}, codes.Unimplemented, "options"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.call(t.Context(), client(t, newBare(), externalgrpc.ServerOptions{}))
			if status.Code(err) != tt.want || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want code %s saying %q", err, tt.want, tt.says)
			}
		})
	}
}

func TestOptionalMethodsAreSwitchable(t *testing.T) {
	c := client(t, &full{bare: newBare()}, externalgrpc.ServerOptions{Without: externalgrpc.Optional()})
	_, template := c.NodeGroupTemplateNodeInfo(t.Context(), &wire.NodeGroupTemplateNodeInfoRequest{Id: "a"})
	_, options := c.NodeGroupGetOptions(t.Context(), &wire.NodeGroupAutoscalingOptionsRequest{Id: "a"})
	_, node := c.PricingNodePrice(t.Context(), &wire.PricingNodePriceRequest{})
	_, pod := c.PricingPodPrice(t.Context(), &wire.PricingPodPriceRequest{})
	for _, err := range []error{template, options, node, pod} {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("got %v, want Unimplemented", err)
		}
	}
	if _, err := c.NodeGroups(t.Context(), &wire.NodeGroupsRequest{}); err != nil {
		t.Error(err)
	}
	if _, err := externalgrpc.NewServer(newBare(), externalgrpc.ServerOptions{Without: []string{"Refresh"}}); err == nil {
		t.Error("Refresh could be left out, which no autoscaler survives")
	}
}

func TestDeadlineBoundsAProviderThatHangs(t *testing.T) {
	p := newBare()
	p.hang = make(chan struct{})
	t.Cleanup(func() { close(p.hang) })
	c := client(t, p, externalgrpc.ServerOptions{CallTime: 20 * time.Millisecond})
	_, err := c.NodeGroupTargetSize(t.Context(), &wire.NodeGroupTargetSizeRequest{Id: "a"})
	if status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "did not answer in time") {
		t.Errorf("got %v, want DeadlineExceeded by the server", err)
	}
}

func TestPanicIsAnAnswer(t *testing.T) {
	p := newBare()
	p.panics = true
	c := client(t, p, externalgrpc.ServerOptions{})
	if _, err := c.NodeGroups(t.Context(), &wire.NodeGroupsRequest{}); status.Code(err) != codes.Internal {
		t.Errorf("got %v, want Internal", err)
	}
	if _, err := c.NodeGroupTargetSize(t.Context(), &wire.NodeGroupTargetSizeRequest{Id: "a"}); err != nil {
		t.Errorf("the server does not go on: %v", err)
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	p := newBare()
	c := client(t, p, externalgrpc.ServerOptions{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 5 {
				if _, err := c.NodeGroupIncreaseSize(t.Context(), &wire.NodeGroupIncreaseSizeRequest{Id: "a", Delta: 1}); err != nil {
					t.Error(err)
				}
				if _, err := c.NodeGroupNodes(t.Context(), &wire.NodeGroupNodesRequest{Id: "a"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got, err := c.NodeGroupTargetSize(t.Context(), &wire.NodeGroupTargetSizeRequest{Id: "a"})
	same(t, &wire.NodeGroupTargetSizeResponse{TargetSize: 1 + 64*5}, got, err)
}

func TestHealth(t *testing.T) {
	c := healthpb.NewHealthClient(dial(t, serve(t, newBare(), externalgrpc.ServerOptions{})))
	r, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"})
	if err != nil || r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health is %v, %v", r, err)
	}
}

func TestPricesOfThePeriodAsked(t *testing.T) {
	p := &full{bare: newBare()}
	c := client(t, p, externalgrpc.ServerOptions{})
	from := time.Unix(3600, 500).UTC()
	r, err := c.PricingNodePrice(t.Context(), &wire.PricingNodePriceRequest{
		Node: &wire.ExternalGrpcNode{Name: "n"}, StartTimestamp: timestamppb.New(from), EndTimestamp: timestamppb.New(from.Add(2 * time.Hour)),
	})
	same(t, &wire.PricingNodePriceResponse{Price: 1}, r, err)
	b, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.PricingPodPrice(t.Context(), &wire.PricingPodPriceRequest{PodBytes: b, StartTimestamp: timestamppb.New(from), EndTimestamp: timestamppb.New(from.Add(time.Hour))})
	if err != nil || p.pod.Name != "web" || !p.from.Equal(from) {
		t.Errorf("%v: the provider was asked for pod %v from %s", err, p.pod, p.from)
	}
	_, err = c.PricingNodePrice(t.Context(), &wire.PricingNodePriceRequest{
		Node: &wire.ExternalGrpcNode{Name: "n"}, StartTimestamp: timestamppb.New(from), EndTimestamp: timestamppb.New(from.Add(-time.Second)),
	})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("a period that ends before it starts: %v", err)
	}
}
