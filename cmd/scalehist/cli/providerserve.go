package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodegroups"
	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
)

type providerServeFlags struct {
	groups, listen, kubeconfig string
	delay, deletion            time.Duration
	tls                        tlsFlags
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

Without certificates it listens on this machine only.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # The groups of a recording, whose nodes join a test cluster
  scalehist provider serve prod.db --kubeconfig ~/.kube/test

  # Groups of a file, with mutual TLS
  scalehist provider serve --node-groups groups.yaml --listen :8086 --tls-cert tls.crt --tls-key tls.key --ca ca.crt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.groups, "node-groups", "", "file (YAML) with a list of NodeGroup objects of scalehist.io/v1alpha1, in place of a history")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8086", "address of the provider; port 0 takes any that is free")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "API server in which the nodes are objects; default: none")
	flags.DurationVar(&f.delay, "provision-delay", cloudprovider.DefaultProvisionDelay, "time from a request to the Ready node, for groups whose delay was not recorded")
	flags.DurationVar(&f.deletion, "deletion-delay", cloudprovider.DefaultDeletionDelay, "time from the deletion of a node to the node being gone, if it was not recorded")
	f.tls.add(cmd, "an autoscaler's")
	if err := cmd.MarkFlagFilename("node-groups", "yaml", "yml", "json"); err != nil {
		panic(fmt.Sprintf("completion of --node-groups: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

func (f *providerServeFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	if (len(args) == 1) == (f.groups != "") {
		return console.UsageErrorf(cmd, "give either a history (FILE.db) or --node-groups FILE")
	}
	if f.delay < 0 || f.deletion < 0 {
		return console.UsageErrorf(cmd, "--provision-delay %s and --deletion-delay %s must not be negative", f.delay, f.deletion)
	}
	files, err := f.tls.resolve(cmd)
	if err != nil {
		return err
	}
	real := clock.RealClock{}
	o := cloudprovider.Options{Start: real.Now().UTC(), DefaultDelay: &f.delay, DeletionDelay: &f.deletion}
	groups, err := f.read(cmd.Context(), args, &o)
	if err != nil {
		return err
	}
	p, err := cloudprovider.New(groups, o)
	if err != nil {
		return err
	}
	nodes, err := f.nodes(cmd.Context(), p)
	if err != nil {
		return err
	}
	b := beside.New(p, real, nodes)
	server, err := externalgrpc.NewServer(nodegroups.New(p, b, nodegroups.Options{}), externalgrpc.ServerOptions{TLS: files})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if a, ok := l.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() && files == nil {
		return errors.Join(console.UsageErrorf(cmd, "--listen %s is reached by others: give --tls-cert, --tls-key and --ca", f.listen), l.Close())
	}
	s.Errf("serving %s on %s\n", plural.Of(len(groups), "node group"), l.Addr())
	return serveProvider(cmd.Context(), s, server, l, b)
}

// serveProvider serves until ctx ends.
func serveProvider(ctx context.Context, s console.IO, server *externalgrpc.Server, l net.Listener, b *beside.Beside) error {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		b.Run(ctx, func(text string, err error) {
			if err != nil && ctx.Err() == nil {
				text += ", which the API server could not be told: " + err.Error()
			}
			s.Errf("%s\n", text)
		})
	})
	wg.Go(func() {
		<-ctx.Done()
		server.Stop()
	})
	err := server.Serve(l)
	cancel()
	wg.Wait()
	return err
}

// read reads the node groups, and of a history how long nodes take.
func (f *providerServeFlags) read(ctx context.Context, args []string, o *cloudprovider.Options) (groups []scalehist.NodeGroup, err error) {
	if f.groups == "" {
		db, err := history.Open(ctx, args[0])
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		in, err := trace.FromHistory(ctx, db, trace.Window{})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", args[0], err)
		}
		o.ProvisionDelay, o.GroupOptions, o.TemplatePods = in.ProvisionDelays, in.GroupOptions, in.StaticPods
		if in.DeletionDelay != nil {
			o.DeletionDelay = in.DeletionDelay
		}
		if len(in.NodeGroups) == 0 {
			return nil, fmt.Errorf("%s: no node groups at its start: nothing could be served", args[0])
		}
		return in.NodeGroups, nil
	}
	data, err := os.ReadFile(f.groups)
	if err != nil {
		return nil, fmt.Errorf("--node-groups: %w", err)
	}
	var list []v1alpha1.NodeGroup
	if err := decode.YAML(data, &list); err != nil {
		return nil, fmt.Errorf("--node-groups %s: %w", f.groups, err)
	}
	for i := range list {
		groups = append(groups, history.NodeGroup(&list[i]))
	}
	if len(groups) == 0 {
		return nil, fmt.Errorf("--node-groups %s: there are no node groups in it", f.groups)
	}
	return groups, nil
}

// apiNodes are the nodes of an API server.
type apiNodes struct{ client kubernetes.Interface }

func (a apiNodes) Create(ctx context.Context, n *corev1.Node) error {
	n = n.DeepCopy()
	n.UID, n.ResourceVersion, n.CreationTimestamp = "", "", metav1.Time{}
	_, err := a.client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (a apiNodes) Delete(ctx context.Context, name string) error {
	err := a.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// nodes reaches the API server, nil where there is none, and takes its nodes over.
func (f *providerServeFlags) nodes(ctx context.Context, p *cloudprovider.Provider) (beside.Nodes, error) {
	if f.kubeconfig == "" {
		return nil, nil
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		n := &list.Items[i]
		if _, ours := p.GroupForNode(n); !ours {
			continue
		}
		if err := p.Adopt(n); err != nil {
			return nil, err
		}
	}
	return apiNodes{client}, nil
}
