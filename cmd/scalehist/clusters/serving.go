package clusters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/recorder/web"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// httpService is an HTTP API that a command serves until it is stopped.
type httpService struct {
	access  *console.AccessFlags
	command string
	address *net.TCPAddr
	gate    restapi.Gate
	files   *web.TLSFiles
	// outbound is the same certificate for calls of others; nil where there is none.
	outbound *externalgrpc.TLSFiles
}

// newService reads what the flags of access say. Others reach it over TLS alone.
func newService(cmd *cobra.Command, command string, access *console.AccessFlags) (*httpService, error) {
	s := &httpService{access: access, command: command}
	var err error
	if s.address, err = net.ResolveTCPAddr("tcp", access.Listen); err != nil {
		return nil, console.UsageErrorf(cmd, "--listen %s: %w", access.Listen, err)
	}
	if err := access.Check(cmd, "", s.address); err != nil {
		return nil, err
	}
	cert, key, ca := access.Files()
	if !s.address.IP.IsLoopback() && cert == "" {
		return nil, console.UsageErrorf(cmd, "--listen %s is reached by others: give --tls-cert and --tls-key", access.Listen)
	}
	tokens, files, err := access.Credentials()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	s.files = files
	s.gate = restapi.Gate{LocalHosts: access.LocalHosts(s.address), Hosts: access.Hosts, ClientCertificates: access.ClientCA != ""}
	if tokens != nil { // a nil pointer is not a nil interface
		s.gate.Tokens = tokens
	}
	if cert != "" && ca != "" {
		s.outbound = &externalgrpc.TLSFiles{Cert: cert, Key: key, CACert: ca}
	}
	return s, nil
}

// endPatience is how long what is under way may take when a service is stopped.
const endPatience = 10 * time.Second

// serve serves until ctx ends. Requests without an end, such as watches, end then.
func (s *httpService) serve(ctx context.Context, out console.IO, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	requests, end := context.WithCancel(klog.NewContext(context.Background(), klog.FromContext(ctx)))
	defer end()
	server.BaseContext = func(net.Listener) context.Context { return requests }
	listener, url, err := console.ListenFor(ctx, s.command, server, s.address, s.files)
	if err != nil {
		return err
	}
	out.Errf("serving %s; Ctrl-C stops\n", url)
	watched := func() { // answers under way are given, then watches end
		timer := time.AfterFunc(endPatience/10, end)
		context.AfterFunc(requests, func() { timer.Stop() })
	}
	return console.ServeUntil(ctx, s.command, watched, server, listener, endPatience)
}

// withStore opens the store of --db for as long as serve runs. What serve starts beside itself ends with the context, before the store is closed.
func withStore(cmd *cobra.Command, file, kind string, serve func(ctx context.Context, store *docstore.Store, work *sync.WaitGroup) error) (err error) {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	store, err := docstore.Open(ctx, file, kind)
	if err != nil {
		return fmt.Errorf("--db: %w", err)
	}
	var work sync.WaitGroup
	defer func() {
		cancel()
		work.Wait()
		err = errors.Join(err, store.Close())
	}()
	return serve(ctx, store, &work)
}
