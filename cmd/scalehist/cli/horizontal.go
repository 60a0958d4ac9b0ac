package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/httproute"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti/operator"
	"github.com/scalehist/scalehist/recorder/service"
)

func init() { register(newHorizontalCommand) }

func newHorizontalCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "horizontal",
		Short: "Scale workloads of a cluster to zero and back",
		Long: `Scale workloads of a cluster to zero while nobody needs them, and back, as ElastiServices of KubeElasti say (docs/horizontal.md). What a
horizontal autoscaler would have done with a recording, 'scalehist replay --horizontal' shows.`,
		Example: `  # Serve ElastiServices in the current cluster
  scalehist horizontal crd | kubectl apply -f -
  scalehist horizontal serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHorizontalServeCommand(s), &cobra.Command{
		Use:     "crd",
		Short:   "Print the definition of ElastiService, for kubectl apply",
		Long:    "crd prints the CustomResourceDefinition of ElastiService. Objects of KubeElasti's own are valid in it; targets of any kind with a scale subresource are as well.",
		Example: "  scalehist horizontal crd | kubectl apply -f -",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(elastiv1alpha1.Definition)
			return err
		},
	})
	return cmd
}

// horizontalFlags are the flags of `scalehist horizontal serve`.
type horizontalFlags struct {
	kubeconfig, context, namespace string
	interval                       time.Duration
	wakeOnUnknown                  bool
	prometheus                     string
	allowed                        []string
	elect                          bool
	leaseNamespace, identity       string
	health, logFormat              string
}

func newHorizontalServeCommand(s console.IO) *cobra.Command {
	var f horizontalFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Scale the targets of ElastiServices until Ctrl-C",
		Long: `Look at every ElastiService once an --interval, until Ctrl-C or SIGTERM, and scale its target: to zero when all triggers say that nobody
has needed it for the cooldown, in its enabled period; to its minimum when one says that somebody needs it. What cannot be decided scales
nothing, and is in the condition Ready of the ElastiService and in an event.

It takes the place of the scaling of KubeElasti's operator: run one of them. Requests to a target at zero are not held; a trigger must see them,
at an ingress or a queue.

Triggers that name no address ask --prometheus. Its credentials, the environment variable ` + elasti.EnvAuthorization + ` (an Authorization
header), are sent nowhere else. KubeElasti's ` + elasti.EnvServer + ` and ` + elasti.EnvAllowed + ` are read too.
Where no addresses are listed (--allowed-prometheus), triggers may name any but those of this machine and this link.

One process acts at a time (--leader-elect), by the Lease ` + operator.Name + `.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # In the current context
  scalehist horizontal serve --prometheus http://prometheus.monitoring:9090

  # One namespace, looked at every ten seconds, logs as JSON
  scalehist horizontal serve --namespace shop --interval 10s --log-format json

  # At home, with a Prometheus behind a port-forward
  scalehist horizontal serve --leader-elect=false --allowed-prometheus localhost:9090 --prometheus http://localhost:9090`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config, else the cluster it runs in)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&f.namespace, "namespace", "", "namespace whose ElastiServices are looked at (default: all)")
	flags.DurationVar(&f.interval, "interval", elasti.DefaultInterval, "how often each ElastiService is looked at")
	flags.BoolVar(&f.wakeOnUnknown, "wake-on-unknown", false, "give targets at zero their minimum when no trigger can say whether somebody needs them, which may start everything at once")
	flags.StringVar(&f.prometheus, "prometheus", "", "address of the Prometheus that triggers without serverAddress ask")
	flags.StringSliceVar(&f.allowed, "allowed-prometheus", nil, "HOST or HOST:PORT that triggers may name (default: any)")
	flags.BoolVar(&f.elect, "leader-elect", true, "act only while this process holds the Lease, for several of them")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", "", "namespace of the Lease (default: that of the pod, else default)")
	flags.StringVar(&f.identity, "identity", "", "name of this process in the Lease (default: its host and a random text)")
	flags.StringVar(&f.health, "health-listen", "", "address that answers /healthz and /readyz (default: none)")
	flags.StringVar(&f.logFormat, "log-format", "text", "format of the log on standard error: text or json")
	if err := cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --log-format: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

// namespaceFile is where a pod finds the namespace that it is in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// election is how processes agree; nil without.
func (f *horizontalFlags) election() (*operator.Election, error) {
	if !f.elect {
		return nil, nil //nolint:nilnil // no election is what is asked for
	}
	if f.leaseNamespace == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("namespace of this pod: %w", err)
		}
		f.leaseNamespace = cmp.Or(strings.TrimSpace(string(own)), "default")
	}
	if f.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("name of this host: %w: give --identity", err)
		}
		f.identity = host + "_" + string(uuid.NewUUID())
	}
	return &operator.Election{Namespace: f.leaseNamespace, Name: operator.Name, Identity: f.identity}, nil
}

// log puts a structured log on standard error into the context. A --log-file has it as other commands' have.
func (f *horizontalFlags) log(cmd *cobra.Command, s console.IO) (context.Context, error) {
	verbosity, err := cmd.Flags().GetCount("verbose")
	if err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: slog.Level(-verbosity)} // logr's V(1) is one below slog's Info
	var handler slog.Handler
	switch f.logFormat {
	case "text":
		handler = slog.NewTextHandler(s.Err, options)
	case "json":
		handler = slog.NewJSONHandler(s.Err, options)
	default:
		return nil, console.UsageErrorf(cmd, "--log-format %s: want text or json", f.logFormat)
	}
	if file := cmd.Flags().Lookup("log-file"); file != nil && file.Changed {
		return cmd.Context(), nil
	}
	return logr.NewContext(cmd.Context(), logr.FromSlogHandler(handler)), nil
}

func (f *horizontalFlags) run(cmd *cobra.Command, s console.IO) (err error) {
	if f.interval <= 0 {
		return console.UsageErrorf(cmd, "--interval %s: must be more than 0", f.interval)
	}
	ctx, err := f.log(cmd, s)
	if err != nil {
		return err
	}
	config, err := service.Kubeconfig(f.kubeconfig, f.context)
	if errors.Is(err, service.ErrNoKubeconfig) {
		return errors.New("horizontal serve: kubeconfig: none found: give --kubeconfig, or set KUBECONFIG")
	}
	if err != nil {
		return fmt.Errorf("horizontal serve: kubeconfig: %w: give another --kubeconfig or --context, or set KUBECONFIG", err)
	}
	election, err := f.election()
	if err != nil {
		return fmt.Errorf("horizontal serve: %w", err)
	}
	servers := elasti.ServersFromEnv(s.Env)
	servers.Default = cmp.Or(f.prometheus, servers.Default)
	servers.Allowed = append(servers.Allowed, f.allowed...)
	handler, err := operator.New(operator.Options{Config: config, Namespace: f.namespace, Interval: f.interval, WakeOnUnknown: f.wakeOnUnknown, Election: election,
		Registry: elasti.Registry{elasti.PrometheusType: servers.Factory(clock.RealClock{})}})
	if err != nil {
		return fmt.Errorf("horizontal serve: %w", err)
	}
	defer func() { err = errors.Join(err, handler.Close(context.WithoutCancel(ctx))) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	answered, err := f.serveHealth(ctx, s, handler)
	if err != nil {
		return fmt.Errorf("horizontal serve: %w", err)
	}
	s.Errf("scaling the targets of ElastiServices of %s; Ctrl-C stops\n", cmp.Or(f.namespace, "all namespaces"))
	err = handler.Run(ctx)
	stop()
	return errors.Join(err, <-answered)
}

// serveHealth answers probes until ctx ends. What is returned gives how that ended.
func (f *horizontalFlags) serveHealth(ctx context.Context, s console.IO, h *operator.Handler) (<-chan error, error) {
	ended := make(chan error, 1)
	if f.health == "" {
		ended <- nil
		return ended, nil
	}
	listener, err := net.Listen("tcp", f.health)
	if err != nil {
		return nil, fmt.Errorf("%w: choose another --health-listen", err)
	}
	s.Errf("probes at http://%s/healthz\n", listener.Addr())
	mux := http.NewServeMux()
	for _, path := range []string{"GET /healthz", "GET /readyz"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err := h.Stuck(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(w, "ok")
		})
	}
	refuse := func(w http.ResponseWriter, _ *http.Request, code int) { http.Error(w, http.StatusText(code), code) }
	server := &http.Server{Handler: httproute.Refuse(mux, refuse), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		err := server.Serve(listener)
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		ended <- err
	}()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return ended, nil
}
