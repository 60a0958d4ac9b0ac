package clusters

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
	"github.com/scalehist/scalehist/virtualca/nodemanager/liqo"
	"github.com/scalehist/scalehist/virtualca/nodemanager/multicluster"
	"github.com/scalehist/scalehist/virtualca/nodemanager/virtual"
)

func newNodeManagerCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodemanager",
		Short: "Node groups behind an external gRPC provider",
		Long: `Node groups behind an external gRPC provider ('scalehist provider serve --node-manager'): virtual ones, or capacity borrowed from other clusters.
docs/capacity.md shows how provider, node manager and discovery work together.`,
		Example: `  # Borrow nodes from the clusters of a registry
  scalehist nodemanager serve --db nodes.db --backend multicluster --borrow groups.yaml --discovery http://127.0.0.1:9010`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNodeManagerServeCommand(s))
	return cmd
}

// The back-ends.
const (
	backendVirtual      = "virtual"
	backendMulticluster = "multicluster"
	backendExec         = "exec"
)

var backendNames = []string{backendVirtual, backendMulticluster, backendExec}

type nodeManagerServeFlags struct {
	access                     console.AccessFlags
	virtual                    virtualFlags
	db, backend                string
	borrow, discovery, liqoctl string
	dryRun                     bool
	timeout                    time.Duration
}

// borrowNames are the flags of borrowed capacity, execNames those of liqoctl.
var borrowNames, execNames = []string{"borrow", "discovery"}, []string{"liqoctl", "dry-run", "timeout"}

func newNodeManagerServeCommand(s console.IO) *cobra.Command {
	f := &nodeManagerServeFlags{}
	cmd := &cobra.Command{
		Use:   "serve [FILE.db]",
		Short: "Serve node groups to an external gRPC provider over HTTP",
		Long: `Serve node groups over HTTP, with the paths of the Liqo node manager (/openapi.json, docs/nodemanager.openapi.json). What is asked for is in --db before
it is answered: nothing is lost when the process is killed, and nothing is done twice when a request is sent again.

--backend says whose nodes they are:
  virtual       virtual node groups of a history, or of --node-groups
  multicluster  shares of the clusters that --discovery lists, for the groups of --borrow: which cluster, and how much of it, is decided by fit, labels,
                regions and price, under the policy of the group. Their nodes are objects of --kubeconfig, --provision-delay after they were asked for
  exec          the same, with Liqo: liqoctl peers with the cluster, and a ResourceSlice becomes the node. --dry-run prints what would be done

Without credentials it listens on this machine only; others reach it over TLS alone. --discovery is called with the same certificate, and must have
one of --client-ca.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # The groups of a recording
  scalehist nodemanager serve prod.db --db nodes.db

  # Borrow nodes from the clusters of a registry, with mutual TLS on both sides
  scalehist nodemanager serve --db nodes.db --backend multicluster --borrow groups.yaml --discovery https://discovery:9010 --kubeconfig ~/.kube/test --listen :9009 --tls-cert tls.crt --tls-key tls.key --client-ca ca.crt

  # What would Liqo be asked for?
  scalehist nodemanager serve --db nodes.db --backend exec --borrow groups.yaml --discovery http://127.0.0.1:9010 --kubeconfig ~/.kube/config --dry-run`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	f.access.Add(cmd, "127.0.0.1:9009", "the node manager")
	f.virtual.add(cmd)
	flags.StringVar(&f.db, "db", "", "file (SQLite) of what was asked for; it is made if it is not there (required)")
	flags.StringVar(&f.backend, "backend", backendVirtual, "whose nodes they are: "+strings.Join(backendNames, ", "))
	flags.StringVar(&f.borrow, "borrow", "", "file (YAML) with the groups of borrowed capacity")
	flags.StringVar(&f.discovery, "discovery", "", "address (URL) of the registry of clusters that share capacity")
	flags.StringVar(&f.liqoctl, "liqoctl", "liqoctl", "the program that peers clusters")
	flags.DurationVar(&f.timeout, "timeout", liqo.DefaultTimeout, "longest time for a run of liqoctl")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what liqoctl and the API server would be asked for, and change nothing")
	if err := cmd.RegisterFlagCompletionFunc("backend", cobra.FixedCompletions(backendNames, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --backend: %v", err)) // only a second registration of the same flag fails
	}
	for _, name := range []string{"db", "borrow", "liqoctl"} {
		if err := cmd.MarkFlagFilename(name); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a flag that does not exist fails
		}
	}
	return cmd
}

// check refuses flags of another back-end.
func (f *nodeManagerServeFlags) check(cmd *cobra.Command, args []string) error {
	refuse := func(names ...string) error {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return console.UsageErrorf(cmd, "--%s does not go with --backend %s", name, f.backend)
			}
		}
		return nil
	}
	if f.db == "" {
		return console.UsageErrorf(cmd, "give --db FILE")
	}
	switch f.backend {
	case backendVirtual:
		return refuse(append(borrowNames, execNames...)...)
	case backendMulticluster, backendExec:
		if f.borrow == "" || f.discovery == "" || len(args) > 0 {
			return console.UsageErrorf(cmd, "--backend %s: give --borrow FILE and --discovery URL, and no history", f.backend)
		}
		if f.timeout <= 0 || f.virtual.delay < 0 {
			return console.UsageErrorf(cmd, "--timeout %s must be positive, --provision-delay %s not negative", f.timeout, f.virtual.delay)
		}
	default:
		return console.UsageErrorf(cmd, "--backend %s: want %s", f.backend, strings.Join(backendNames, ", "))
	}
	if err := refuse("node-groups", "deletion-delay", "prices", "region", "price-model", "price-model-of"); err != nil {
		return err
	}
	if f.backend == backendMulticluster {
		return refuse(execNames...)
	}
	if f.virtual.kubeconfig == "" {
		return console.UsageErrorf(cmd, "--backend exec: give --kubeconfig FILE: Liqo's nodes are objects there")
	}
	return refuse("provision-delay")
}

func (f *nodeManagerServeFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	if err := f.check(cmd, args); err != nil {
		return err
	}
	web, err := newService(cmd, "nodemanager serve", &f.access)
	if err != nil {
		return err
	}
	if f.backend == backendVirtual {
		return withStore(cmd, f.db, virtual.Kind, func(ctx context.Context, store *docstore.Store, work *sync.WaitGroup) error {
			p, nodes, err := f.virtual.provider(cmd, args, func(p *cloudprovider.Provider) (bool, error) { return virtual.Restore(ctx, store, p) })
			if err != nil {
				return err
			}
			b := beside.New(p, clock.RealClock{}, nodes)
			work.Go(func() { b.Run(ctx, saying(ctx, s)) })
			return web.serve(ctx, s, nodemanager.NewServer(virtual.New(p, b, store), web.gate))
		})
	}
	return withStore(cmd, f.db, multicluster.Kind, func(ctx context.Context, store *docstore.Store, work *sync.WaitGroup) error {
		pool, err := f.pool(cmd, s, web, store)
		if err != nil {
			return err
		}
		work.Go(func() { pool.Run(ctx) })
		return web.serve(ctx, s, nodemanager.NewServer(pool, web.gate))
	})
}

// pool is the groups of borrowed capacity.
func (f *nodeManagerServeFlags) pool(cmd *cobra.Command, s console.IO, web *httpService, store *docstore.Store) (*multicluster.Pool, error) {
	data, err := os.ReadFile(f.borrow)
	if err != nil {
		return nil, fmt.Errorf("--borrow: %w", err)
	}
	config, err := multicluster.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--borrow %s: %w", f.borrow, err)
	}
	api, err := httpClient(cmd, "discovery", f.discovery, web.outbound)
	if err != nil {
		return nil, err
	}
	registry := &discovery.Client{API: *api}
	peering, err := f.peering(s, registry)
	if err != nil {
		return nil, err
	}
	return multicluster.New(cmd.Context(), multicluster.Options{Config: config, Clusters: registry, Peering: peering, Store: store, Clock: clock.RealClock{}, Said: saying(cmd.Context(), s)})
}

func (f *nodeManagerServeFlags) peering(s console.IO, registry *discovery.Client) (multicluster.Peering, error) {
	client, err := f.virtual.client()
	if err != nil {
		return nil, err
	}
	if f.backend == backendMulticluster {
		o := multicluster.Objects{Clock: clock.RealClock{}, Delay: f.virtual.delay}
		if client != nil { // a nil pointer is not a nil interface
			o.Nodes = apiNodes{client}
		}
		return o, nil
	}
	return f.withLiqo(s, registry, client)
}

func (f *nodeManagerServeFlags) withLiqo(s console.IO, registry *discovery.Client, client kubernetes.Interface) (multicluster.Peering, error) {
	config, err := f.virtual.config()
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	local := f.virtual.kubeconfig
	if local == inCluster {
		local = "" // liqoctl finds the account of the pod itself
	}
	return liqo.New(liqo.Options{Liqoctl: f.liqoctl, Kubeconfig: local, Kubeconfigs: registry, Client: client, Dynamic: objects, Timeout: f.timeout, DryRun: f.dryRun,
		Said: func(text string) { s.Errf("%s\n", text) }}), nil
}
