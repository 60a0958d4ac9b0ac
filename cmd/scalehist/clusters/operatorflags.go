package clusters

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
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/httproute"
	"github.com/scalehist/scalehist/internal/leader"
	"github.com/scalehist/scalehist/recorder/service"
)

// operatorFlags are the flags of commands that act on a cluster until they are stopped.
type operatorFlags struct {
	// command is for errors; lease is the name of the Lease.
	command, lease string

	kubeconfig, context, namespace string
	interval                       time.Duration
	elect                          bool
	leaseNamespace, identity       string
	health, logFormat              string
}

// add adds the flags; objects are what is looked at.
func (f *operatorFlags) add(cmd *cobra.Command, objects string, interval time.Duration) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config, else the cluster it runs in)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig (default: its current one)")
	flags.StringVar(&f.namespace, "namespace", "", "namespace whose "+objects+" are looked at (default: all)")
	flags.DurationVar(&f.interval, "interval", interval, "how often "+objects+" are looked at")
	flags.BoolVar(&f.elect, "leader-elect", true, "act only while this process holds the Lease, for several of them")
	flags.StringVar(&f.leaseNamespace, "lease-namespace", "", "namespace of the Lease (default: that of the pod, else default)")
	flags.StringVar(&f.identity, "identity", "", "name of this process in the Lease (default: its host and a random text)")
	flags.StringVar(&f.health, "health-listen", "", "address that answers /healthz and /readyz (default: none)")
	flags.StringVar(&f.logFormat, "log-format", "text", "format of the log on standard error: text or json")
	if err := cmd.RegisterFlagCompletionFunc("log-format", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --log-format: %v", err)) // only a flag that does not exist fails
	}
}

// start checks the flags, and gives the context with the log, and the way to the API server.
func (f *operatorFlags) start(cmd *cobra.Command, s console.IO) (context.Context, *rest.Config, error) {
	if f.interval <= 0 {
		return nil, nil, console.UsageErrorf(cmd, "--interval %s: must be more than 0", f.interval)
	}
	ctx, err := f.log(cmd, s)
	if err != nil {
		return nil, nil, err
	}
	config, err := service.Kubeconfig(f.kubeconfig, f.context)
	if errors.Is(err, service.ErrNoKubeconfig) {
		return nil, nil, fmt.Errorf("%s: kubeconfig: none found: give --kubeconfig, or set KUBECONFIG", f.command)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: kubeconfig: %w: give another --kubeconfig or --context, or set KUBECONFIG", f.command, err)
	}
	return ctx, config, nil
}

// namespaceFile is where a pod finds the namespace that it is in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// election is how processes agree; nil without.
func (f *operatorFlags) election() (*leader.Election, error) {
	if !f.elect {
		return nil, nil //nolint:nilnil // no election is what is asked for
	}
	if f.leaseNamespace == "" {
		own, err := os.ReadFile(namespaceFile)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: namespace of this pod: %w", f.command, err)
		}
		f.leaseNamespace = cmp.Or(strings.TrimSpace(string(own)), "default")
	}
	if f.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("%s: name of this host: %w: give --identity", f.command, err)
		}
		f.identity = host + "_" + string(uuid.NewUUID())
	}
	return &leader.Election{Namespace: f.leaseNamespace, Name: f.lease, Identity: f.identity}, nil
}

// log puts a structured log on standard error into the context. A --log-file has it as other commands' have.
func (f *operatorFlags) log(cmd *cobra.Command, s console.IO) (context.Context, error) {
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

// serveHealth answers probes until ctx ends. What is returned gives how that ended.
func (f *operatorFlags) serveHealth(ctx context.Context, s console.IO, stuck func() error) (<-chan error, error) {
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
			if err := stuck(); err != nil {
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
