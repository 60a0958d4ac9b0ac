package externalgrpc_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// FuzzMessages: whatever bytes a caller sends, the server answers, and no provider panics over them.
func FuzzMessages(f *testing.F) {
	p := &full{bare: newBare()}
	s, err := externalgrpc.NewServer(p, externalgrpc.ServerOptions{})
	if err != nil {
		f.Fatal(err)
	}
	conn, err := grpc.NewClient(listen(f, s), insecureDial(), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	methods := wire.CloudProvider_ServiceDesc.Methods
	for i := range methods {
		f.Add(uint8(i), []byte(nil))                                //nolint:gosec // there are 15
		f.Add(uint8(i), text(text(nil, 1, "a"), 2, "\x08\xff\x01")) //nolint:gosec // there are 15
	}
	f.Fuzz(func(t *testing.T, method uint8, req []byte) {
		var resp []byte
		m := methods[int(method)%len(methods)].MethodName
		err := conn.Invoke(t.Context(), "/"+wire.CloudProvider_ServiceDesc.ServiceName+"/"+m, &req, &resp)
		// Bytes that are no message are refused with Internal by gRPC itself; a panic says so.
		if status.Code(err) == codes.Internal && !isParseError(err) {
			t.Errorf("%s: %v", m, err)
		}
	})
}
