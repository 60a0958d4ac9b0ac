package externalgrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/scalehist/scalehist/virtualca/externalgrpc/wire"
)

// Optional are the methods that a provider may do without, by the names that ServerOptions.Without takes.
func Optional() []string {
	return []string{"NodeGroupGetOptions", "NodeGroupTemplateNodeInfo", "PricingNodePrice", "PricingPodPrice"}
}

// defaultCallTime bounds a call; the autoscaler itself waits 5 s unless its cloud config says otherwise.
const defaultCallTime = time.Minute

// ServerOptions of a Server. The zero value serves in plain text all that the provider has.
type ServerOptions struct {
	// TLS asks clients for a certificate; nil is plain text.
	TLS *TLSFiles
	// Without names optional methods that answer Unimplemented although the provider has them.
	Without []string
	// CallTime bounds every call, whatever deadline the caller has; zero is a minute.
	CallTime time.Duration
	// Called, if any, hears of every call that was answered, with a status as error; from many goroutines at once.
	Called func(method string, request, response proto.Message, err error)
}

// Server serves a provider. Use NewServer.
type Server struct {
	grpc   *grpc.Server
	health *health.Server
}

// NewServer makes a server of a provider, with the health and reflection services beside it.
func NewServer(p Provider, o ServerOptions) (*Server, error) {
	for _, m := range o.Without {
		if !slices.Contains(Optional(), m) {
			return nil, fmt.Errorf("serve provider: method %q cannot be left out: choose among %s", m, strings.Join(Optional(), ", "))
		}
	}
	if o.CallTime == 0 {
		o.CallTime = defaultCallTime
	}
	guard := guard{without: o.Without, limit: o.CallTime, called: o.Called}
	creds, err := o.TLS.Serve()
	if err != nil {
		return nil, fmt.Errorf("serve provider: %w", err)
	}
	s := &Server{grpc: grpc.NewServer(creds, grpc.UnaryInterceptor(guard.call)), health: health.NewServer()}
	wire.RegisterCloudProviderServer(s.grpc, &service{provider: p})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus(wire.CloudProvider_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	reflection.Register(s.grpc)
	return s, nil
}

// Serve answers on l until Stop, then returns nil. It closes l.
func (s *Server) Serve(l net.Listener) error {
	if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve provider on %s: %w", l.Addr(), err)
	}
	return nil
}

// Stop ends connections and calls under way, and waits for them.
func (s *Server) Stop() {
	s.health.Shutdown()
	s.grpc.Stop()
}

// guard checks every call first.
type guard struct {
	without []string
	limit   time.Duration
	called  func(method string, request, response proto.Message, err error)
}

// call answers, and hands the call to who records it.
func (g guard) call(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	method := info.FullMethod[strings.LastIndexByte(info.FullMethod, '/')+1:]
	resp, err := g.answer(ctx, method, req, next)
	if request, ok := req.(proto.Message); ok && g.called != nil && strings.HasPrefix(info.FullMethod, "/"+wire.CloudProvider_ServiceDesc.ServiceName+"/") {
		response, _ := resp.(proto.Message)
		g.called(method, request, response, err)
	}
	return resp, err
}

// answer comes within the deadline, whether or not the provider keeps to it, and after its panics too.
func (g guard) answer(ctx context.Context, method string, req any, next grpc.UnaryHandler) (any, error) {
	if slices.Contains(g.without, method) {
		return nil, status.Errorf(codes.Unimplemented, "%s is switched off", method)
	}
	ctx, cancel := context.WithTimeout(ctx, g.limit)
	defer cancel()
	type answer struct {
		resp any
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a = answer{err: status.Errorf(codes.Internal, "%s: the provider panicked: %v", method, r)}
			}
			done <- a
		}()
		a.resp, a.err = next(ctx, req)
	}()
	select {
	case a := <-done:
		return a.resp, toStatus(a.err)
	case <-ctx.Done():
		return nil, toStatus(fmt.Errorf("%s: the provider did not answer in time: %w", method, ctx.Err()))
	}
}
