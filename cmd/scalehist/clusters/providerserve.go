package clusters

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/internal/restapi"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

type providerServeFlags struct {
	listen, manager string
	virtual         virtualFlags
	tls             tlsFlags
}

func newProviderServeCommand(s console.IO) *cobra.Command {
	f := &providerServeFlags{}
	cmd := &cobra.Command{
		Use:   "serve [FILE.db]",
		Short: "Serve virtual node groups to a cluster-autoscaler",
		Long: `Serve the node groups of a history, as of its start, or of a file (--node-groups) to cluster-autoscalers with --cloud-provider=externalgrpc, until
Ctrl-C or SIGTERM. Both wires are served: to autoscalers up to 1.34, and from 1.35 on. An instance takes as long to come as was recorded, else
--provision-delay, and to go as was recorded, else --deletion-delay.

With --kubeconfig the nodes of the instances are objects of that API server, Ready when they come and deleted when they go; nodes with the
annotation scalehist.io/node-group that are there already are taken over. Nothing runs on them, and nobody renews their leases: where a node
lifecycle controller runs, let a kubelet simulator such as kwok look after them.

With --node-manager it has no node groups of its own: those of a node manager (scalehist nodemanager serve) are served, with the same certificate on
both sides. While the node manager is restarted, calls wait for it.

Without certificates it listens on this machine only.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # The groups of a recording, whose nodes join a test cluster
  scalehist provider serve prod.db --kubeconfig ~/.kube/test

  # Those of a node manager, with mutual TLS on both sides
  scalehist provider serve --node-manager https://node-manager:9009 --listen :8086 --tls-cert tls.crt --tls-key tls.key --ca ca.crt

  # Groups of a file, with mutual TLS
  scalehist provider serve --node-groups groups.yaml --listen :8086 --tls-cert tls.crt --tls-key tls.key --ca ca.crt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	f.virtual.add(cmd)
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8086", "address of the provider; port 0 takes any that is free")
	flags.StringVar(&f.manager, "node-manager", "", "address (URL) of the node manager that has the node groups, in place of a history")
	f.tls.add(cmd, "an autoscaler's")
	return cmd
}

func (f *providerServeFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	files, err := f.tls.resolve(cmd)
	if err != nil {
		return err
	}
	var provider externalgrpc.Provider
	var work *beside.Beside
	what := "the node groups of " + f.manager
	if f.manager != "" {
		if provider, err = f.behind(cmd, args, files); err != nil {
			return err
		}
	} else {
		p, nodes, err := f.virtual.provider(cmd, args, nil)
		if err != nil {
			return err
		}
		work = beside.New(p, clock.RealClock{}, nodes)
		provider, what = nodegroups.New(p, work, nodegroups.Options{}), plural.Of(len(p.Groups()), "node group")
	}
	server, err := externalgrpc.NewServer(provider, externalgrpc.ServerOptions{TLS: files})
	if err != nil {
		return err
	}
	l, err := console.Listen(cmd, f.listen, files != nil, guardProvider)
	if err != nil {
		return err
	}
	s.Errf("serving %s on %s\n", what, l.Addr())
	return serveProvider(cmd.Context(), s, server, l, work)
}

// behind is the provider whose node groups a node manager has.
func (f *providerServeFlags) behind(cmd *cobra.Command, args []string, files *externalgrpc.TLSFiles) (externalgrpc.Provider, error) {
	if len(args) > 0 {
		return nil, console.UsageErrorf(cmd, "--node-manager has the node groups: give no history")
	}
	for _, name := range virtualNames {
		if cmd.Flags().Changed(name) {
			return nil, console.UsageErrorf(cmd, "--node-manager has the node groups: give --%s to it", name)
		}
	}
	client, err := httpClient(cmd, "node-manager", f.manager, files)
	if err != nil {
		return nil, err
	}
	return &nodemanager.Client{API: *client, Clock: clock.RealClock{}}, nil
}

// httpClient calls a service at an address that a flag gives, with the certificate of this process.
func httpClient(cmd *cobra.Command, flag, address string, files *externalgrpc.TLSFiles) (*restapi.Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.Path != "" && u.Path != "/" {
		return nil, console.UsageErrorf(cmd, "--%s %s: want an address such as https://host:9009", flag, address)
	}
	transport := &http.Transport{ResponseHeaderTimeout: time.Minute}
	if files != nil {
		if transport.TLSClientConfig, err = files.ClientConfig(); err != nil {
			return nil, err
		}
	} else if u.Scheme == "https" {
		return nil, console.UsageErrorf(cmd, "--%s %s: TLS needs a certificate of ours, its key and the authority", flag, address)
	}
	return &restapi.Client{HTTP: &http.Client{Transport: transport}, Base: strings.TrimSuffix(u.String(), "/")}, nil
}

// serveProvider serves until ctx ends; b is nil where somebody else has the nodes.
func serveProvider(ctx context.Context, s console.IO, server *externalgrpc.Server, l net.Listener, b *beside.Beside) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if b != nil {
		wg.Go(func() { b.Run(ctx, saying(ctx, s)) })
	}
	wg.Go(func() {
		<-ctx.Done()
		server.Stop()
	})
	err := server.Serve(l)
	cancel()
	wg.Wait()
	return err
}

// saying prints what becomes of nodes.
func saying(ctx context.Context, s console.IO) func(text string, err error) {
	return func(text string, err error) {
		if err != nil && ctx.Err() == nil {
			text += ": " + err.Error()
		}
		s.Errf("%s\n", text)
	}
}
