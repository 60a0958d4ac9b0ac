package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// Proxy stands between a cluster-autoscaler and a provider: it forwards every call with its deadline and metadata, whichever wire the two
// speak, and records it. Fields that are not in the contract are forwarded, and left out of the record.
type Proxy struct {
	conn *grpc.ClientConn
	log  *Log
}

// NewProxy forwards to the provider at an address (host:port); tls nil is plain text on its side. Close it.
func NewProxy(address string, tls *externalgrpc.TLSFiles, log *Log) (*Proxy, error) {
	conn, err := tls.Dial(address)
	if err != nil {
		return nil, err
	}
	return &Proxy{conn: conn, log: log}, nil
}

// Close ends the connection to the provider.
func (p *Proxy) Close() error { return p.conn.Close() }

// Server answers as the provider does; tls nil is plain text. The caller serves and stops it.
func (p *Proxy) Server(tls *externalgrpc.TLSFiles) (*grpc.Server, error) {
	creds, err := tls.Serve()
	if err != nil {
		return nil, err
	}
	return grpc.NewServer(creds, grpc.UnknownServiceHandler(p.forward)), nil
}

// methods of the contract, by their full names.
var methods = func() map[string]protoreflect.MethodDescriptor {
	out := map[string]protoreflect.MethodDescriptor{}
	for services, i := wire.File_externalgrpc_proto.Services(), 0; i < services.Len(); i++ {
		for list, j := services.Get(i).Methods(), 0; j < list.Len(); j++ {
			m := list.Get(j)
			out[fmt.Sprintf("/%s/%s", services.Get(i).FullName(), m.Name())] = m
		}
	}
	return out
}()

func (p *Proxy) forward(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method := methods[full]
	if method == nil {
		return status.Errorf(codes.Unimplemented, "%s is not of the contract of external gRPC providers", full)
	}
	request, response := proto.Message(dynamicpb.NewMessage(method.Input())), proto.Message(dynamicpb.NewMessage(method.Output()))
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	ctx := stream.Context()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, forwarded(md))
	}
	var header, trailer metadata.MD
	err := p.conn.Invoke(ctx, full, request, response, grpc.Header(&header), grpc.Trailer(&trailer))
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return err // the autoscaler did not wait for the answer
	}
	p.log.Called(string(method.Name()), request, response, err)
	stream.SetTrailer(trailer)
	if err != nil {
		return err
	}
	if err := stream.SetHeader(forwarded(header)); err != nil {
		return err
	}
	return stream.SendMsg(response)
}

// forwarded leaves out what gRPC says of a connection, not of a call.
func forwarded(md metadata.MD) metadata.MD {
	out := metadata.MD{}
	for k, v := range md {
		if k != "content-type" && k != "user-agent" && !strings.HasPrefix(k, ":") && !strings.HasPrefix(k, "grpc-") {
			out[k] = v
		}
	}
	return out
}
