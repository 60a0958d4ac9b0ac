package clusters

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti"
	"github.com/scalehist/scalehist/recommender/horizontal/elasti/operator"
)

func newHorizontalCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "horizontal",
		Short: "Scale workloads of a cluster to zero and back, and judge forecasts of load",
		Long: `Scale workloads of a cluster to zero while nobody needs them, and back, as ElastiServices of KubeElasti say (docs/horizontal.md). What a
horizontal autoscaler would have done with a recording, 'scalehist replay --horizontal' shows; whether its load could have been
predicted, 'scalehist horizontal forecast'.`,
		Example: `  # Serve ElastiServices in the current cluster
  scalehist horizontal crd | kubectl apply -f -
  scalehist horizontal serve

  # Could the load of a recording have been predicted?
  scalehist horizontal forecast prod.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newHorizontalServeCommand(s), newHorizontalForecastCommand(s), &cobra.Command{
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
	operatorFlags
	wakeOnUnknown bool
	prometheus    string
	allowed       []string
}

func newHorizontalServeCommand(s console.IO) *cobra.Command {
	f := horizontalFlags{operatorFlags: operatorFlags{command: "horizontal serve", lease: operator.Name}}
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
	f.operatorFlags.add(cmd, "ElastiServices", elasti.DefaultInterval)
	flags.BoolVar(&f.wakeOnUnknown, "wake-on-unknown", false, "give targets at zero their minimum when no trigger can say whether somebody needs them, which may start everything at once")
	flags.StringVar(&f.prometheus, "prometheus", "", "address of the Prometheus that triggers without serverAddress ask")
	flags.StringSliceVar(&f.allowed, "allowed-prometheus", nil, "HOST or HOST:PORT that triggers may name (default: any)")
	return cmd
}

func (f *horizontalFlags) run(cmd *cobra.Command, s console.IO) (err error) {
	ctx, config, err := f.start(cmd, s)
	if err != nil {
		return err
	}
	election, err := f.election()
	if err != nil {
		return err
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
	answered, err := f.serveHealth(ctx, s, handler.Stuck)
	if err != nil {
		return fmt.Errorf("horizontal serve: %w", err)
	}
	s.Errf("scaling the targets of ElastiServices of %s; Ctrl-C stops\n", cmp.Or(f.namespace, "all namespaces"))
	err = handler.Run(ctx)
	stop()
	return errors.Join(err, <-answered)
}
