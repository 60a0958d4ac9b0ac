package externalgrpc_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// raw lets a test send and read bytes as an autoscaler up to 1.34 would: Kubernetes' own messages, embedded.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(b []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), b...)
	return nil
}

// marshaler is any Kubernetes API type.
type marshaler interface{ Marshal() ([]byte, error) }

func embed(t *testing.T, b []byte, field protowire.Number, m marshaler) []byte {
	t.Helper()
	data, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), data)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// fields are the length-delimited fields of a message.
func fields(b []byte) (map[protowire.Number][]byte, error) {
	out := map[protowire.Number][]byte{}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return nil, protowire.ParseError(n)
			}
			out[num], b = v, b[n:]
			continue
		}
		n = protowire.ConsumeFieldValue(num, typ, b)
		if n < 0 {
			return nil, fmt.Errorf("field %d: %w", num, protowire.ParseError(n))
		}
		b = b[n:]
	}
	return out, nil
}

func TestLegacyWire(t *testing.T) {
	p := &full{bare: newBare()}
	conn := dial(t, serve(t, p, externalgrpc.ServerOptions{}), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	call := func(method string, req []byte) map[protowire.Number][]byte {
		t.Helper()
		var resp []byte
		if err := conn.Invoke(t.Context(), "/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"+method, &req, &resp); err != nil {
			t.Fatal(err)
		}
		f, err := fields(resp)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		return f
	}
	from := metav1.NewTime(time.Unix(7200, 0).UTC())
	to := metav1.NewTime(from.Add(time.Hour))

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}
	call("PricingPodPrice", embed(t, embed(t, embed(t, nil, 1, pod), 2, &from), 3, &to))
	if p.pod.Name != "old" || !p.from.Equal(from.Time) || !p.to.Equal(to.Time) {
		t.Errorf("the price of pod %v from %s to %s was asked for", p.pod, p.from, p.to)
	}
	node := text(nil, 2, "n")
	call("PricingNodePrice", embed(t, embed(t, protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), node), 2, &from), 3, &to))
	if !p.from.Equal(from.Time) || !p.to.Equal(to.Time) {
		t.Errorf("the price of a node from %s to %s was asked for", p.from, p.to)
	}

	template := call("NodeGroupTemplateNodeInfo", text(nil, 1, "a"))
	for _, field := range []protowire.Number{1, 2} { // legacy nodeInfo, and nodeBytes
		var n corev1.Node
		if err := n.Unmarshal(template[field]); err != nil || n.Name != "template" || n.Status.Capacity.Cpu().Value() != 4 {
			t.Errorf("field %d is the node %s with %s cpu, %v", field, n.Name, n.Status.Capacity.Cpu(), err)
		}
	}

	unneeded := metav1.Duration{Duration: 10 * time.Minute}
	defaults := embed(t, nil, 3, &unneeded)
	options := call("NodeGroupGetOptions", protowire.AppendBytes(protowire.AppendTag(text(nil, 1, "a"), 2, protowire.BytesType), defaults))
	if p.defaults.ScaleDownUnneededTime != unneeded.Duration {
		t.Errorf("the provider saw an unneeded time of %s", p.defaults.ScaleDownUnneededTime)
	}
	inner, err := fields(options[1])
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.Duration
	if err := got.Unmarshal(inner[3]); err != nil || got.Duration != unneeded.Duration {
		t.Errorf("the unneeded time came back as %s, %v", got.Duration, err)
	}
}
