package clusters

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/recorder/web"
	"github.com/scalehist/scalehist/virtualca/discovery"
)

func newDiscoveryCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discovery",
		Short: "A registry of clusters that share capacity",
		Long: `A registry of clusters that share capacity, from which 'scalehist nodemanager serve' borrows nodes. docs/capacity.md shows how provider, node manager and
discovery work together.`,
		Example: `  # Keep a registry
  openssl rand -hex 32 > key
  scalehist discovery serve --db discovery.db --key key`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDiscoveryServeCommand(s))
	return cmd
}

type discoveryServeFlags struct {
	access                         console.AccessFlags
	db, key, kubeconfig, namespace string
	readerTokens                   string
	readers                        []string
	ttl                            time.Duration
}

func newDiscoveryServeCommand(s console.IO) *cobra.Command {
	f := &discoveryServeFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a registry of clusters that share capacity",
		Long: `Keep a list of clusters that share capacity: who shares how much, where, at what price, and how it is reached. Clusters register through the API
(/openapi.json, docs/discovery.openapi.json) and are taken out of the list when they are silent for --ttl. With --secrets-namespace the Secrets of a
namespace with the label autoscaling=true are clusters too, as long as they are there.

Kubeconfigs are encrypted in --db with the key of --key, are in no list and no log, and are given to readers alone: who shows a client certificate with
a name of --reader, or sends a token of --reader-token-file.

Without credentials it listens on this machine only; others reach it over TLS alone.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # For a node manager that shows the certificate of node-manager
  openssl rand -hex 32 > key
  scalehist discovery serve --db discovery.db --key key --listen :9010 --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt --reader node-manager

  # Clusters from Secrets as well
  scalehist discovery serve --db discovery.db --key key --secrets-namespace demo --kubeconfig ~/.kube/config

  # A cluster registers itself
  curl -X PUT http://127.0.0.1:9010/v1/clusters/turin -d '{"resources": {"cpu": "8", "memory": "32Gi"}, "prices": {"cpu": 0.03}}'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	f.access.Add(cmd, "127.0.0.1:9010", "discovery")
	flags.StringVar(&f.db, "db", "", "file (SQLite) of the registry; it is made if it is not there (required)")
	flags.StringVar(&f.key, "key", "", "file with the key of kubeconfigs: 32 bytes, or 64 hexadecimal digits (required)")
	flags.DurationVar(&f.ttl, "ttl", discovery.DefaultTTL, "how long a cluster that registered itself may be silent")
	flags.StringSliceVar(&f.readers, "reader", nil, "name in the client certificate of somebody who may read kubeconfigs")
	flags.StringVar(&f.readerTokens, "reader-token-file", "", "file with tokens of those who may read kubeconfigs, one a line")
	flags.StringVar(&f.namespace, "secrets-namespace", "", "namespace whose Secrets with the label autoscaling=true are clusters")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "API server of --secrets-namespace; default: that of the pod")
	for _, name := range []string{"db", "key", "reader-token-file", "kubeconfig"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a flag that does not exist fails
		}
	}
	return cmd
}

func (f *discoveryServeFlags) run(cmd *cobra.Command, s console.IO) error {
	const command = "discovery serve"
	switch {
	case f.db == "" || f.key == "":
		return console.UsageErrorf(cmd, "give --db FILE and --key FILE")
	case f.ttl <= 0:
		return console.UsageErrorf(cmd, "--ttl %s must be positive", f.ttl)
	case f.kubeconfig != "" && f.namespace == "":
		return console.UsageErrorf(cmd, "--kubeconfig goes with --secrets-namespace")
	}
	web, err := newService(cmd, command, &f.access)
	if err != nil {
		return err
	}
	o, err := f.options(web)
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	key, err := discovery.ReadKey(f.key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	client, err := f.client()
	if err != nil {
		return err
	}
	return withStore(cmd, f.db, discovery.Kind, func(ctx context.Context, store *docstore.Store, work *sync.WaitGroup) error {
		registry, err := discovery.NewRegistry(ctx, discovery.RegistryOptions{Store: store, Key: key, Clock: clock.RealClock{}, TTL: f.ttl})
		if err != nil {
			return err
		}
		work.Go(func() { registry.Run(ctx, saying(ctx, s)) })
		if client != nil {
			work.Go(func() {
				if err := discovery.Secrets(ctx, client, f.namespace, registry, saying(ctx, s)); err != nil {
					s.Errf("%s: %v\n", command, err)
				}
			})
		}
		return web.serve(ctx, s, discovery.NewServer(registry, o))
	})
}

func (f *discoveryServeFlags) options(service *httpService) (discovery.ServerOptions, error) {
	o := discovery.ServerOptions{Gate: service.gate, ReaderNames: f.readers}
	if f.readerTokens == "" {
		return o, nil
	}
	tokens, err := web.ReadTokens(f.readerTokens)
	if err != nil {
		return o, err
	}
	o.ReaderTokens = tokens
	if o.Tokens != nil { // who may read more may come in
		o.Tokens = anyToken{o.Tokens, tokens}
	}
	return o, nil
}

// anyToken matches what one of two does.
type anyToken [2]interface{ Match(token string) bool }

func (a anyToken) Match(token string) bool {
	first, second := a[0].Match(token), a[1].Match(token) // both: it takes the same time
	return first || second
}

func (f *discoveryServeFlags) client() (kubernetes.Interface, error) {
	if f.namespace == "" {
		return nil, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return client, nil
}
