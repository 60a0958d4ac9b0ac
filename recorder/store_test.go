package recorder

import (
	"bytes"
	"testing"

	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// newStore is a client of what the API server stores, whether that runs or not.
func newStore(tb testing.TB) *etcd.Client {
	tb.Helper()
	c, err := etcd.New(etcd.Config{Endpoints: []string{server.EtcdURL()}, Logger: zap.NewNop()})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// podKey is where the API server stores a pod; with no name, all of a namespace.
func podKey(namespace, name string) string { return "/registry/pods/" + namespace + "/" + name }

// changedPod is a stored pod with a change, as the API server stores it.
func changedPod(tb testing.TB, stored []byte, change func(*corev1.Pod)) string {
	tb.Helper()
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	p := &corev1.Pod{}
	if _, _, err := codec.Decode(stored, nil, p); err != nil {
		tb.Fatal(err)
	}
	change(p)
	var out bytes.Buffer
	if err := codec.Encode(p, &out); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}
