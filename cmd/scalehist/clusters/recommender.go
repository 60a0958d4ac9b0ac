package clusters

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/recommender"
	"github.com/scalehist/scalehist/recommender/api"
	"github.com/scalehist/scalehist/recorder/web"
)

func newRecommenderCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recommender",
		Short: "The recommender as a service",
		Long: `The recommender as a service. What it answers for one snapshot, 'scalehist recommend' prints; what it would have done with a recording,
'scalehist replay --autoscaler recommender' tells, or, for one behind the API, 'scalehist replay --autoscaler URL'.`,
		Example: `  # Serve the API of docs/recommender.md
  scalehist recommender serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRecommenderServeCommand(s))
	return cmd
}

// recommenderFlags are the flags of `scalehist recommender serve`.
type recommenderFlags struct {
	access                     console.AccessFlags
	maxBody                    string
	maxConcurrent, parallelism int
	timeout                    time.Duration
	prices                     replays.PriceFlags
}

func newRecommenderServeCommand(s console.IO) *cobra.Command {
	var f recommenderFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the recommender API over HTTP",
		Long: `Answer POST /v1/recommend with a recommendation for the snapshot in the body, until Ctrl-C or SIGTERM; requests under way are
answered before it ends. docs/recommender.md and /openapi.json describe the API. GET /v1/strategies, /healthz, /readyz and /metrics
are there as well.

At most --max-concurrent recommendations are made at once; what is beyond is refused with 429 and Retry-After. A request is read before
it takes one of these places. It listens to names of this machine only where it listens on this machine; --allowed-host adds one.

Without credentials it listens on this machine only. Another address needs --token-file or --client-ca, best with --tls-cert.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # On any free port
  scalehist recommender serve --listen 127.0.0.1:0

  # For others, with what nodes cost
  openssl rand -hex 32 > token
  scalehist recommender serve --listen :8443 --tls-cert tls.crt --tls-key tls.key --token-file token --prices public --region aws/eu-west-1

  # Replay a history through it
  scalehist replay prod.db --autoscaler http://127.0.0.1:8600`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, s) },
	}
	flags := cmd.Flags()
	f.access.Add(cmd, "127.0.0.1:8600", "the API")
	flags.IntVar(&f.maxConcurrent, "max-concurrent", api.DefaultMaxConcurrent, "most recommendations at once")
	flags.IntVar(&f.parallelism, "parallelism", 0, "simulations that a recommendation runs at once; 0: one per processor")
	flags.StringVar(&f.maxBody, "max-body", "64Mi", "largest request, unpacked")
	flags.DurationVar(&f.timeout, "timeout", api.DefaultTimeout, "longest time for a request")
	f.prices.Add(cmd)
	return cmd
}

// options are the server's, and the TLS files if there are any. Who listens to others must tell them apart.
func (f *recommenderFlags) options(cmd *cobra.Command, address *net.TCPAddr) (api.Options, *web.TLSFiles, error) {
	v := console.CurrentVersion()
	o := api.Options{Recommender: recommender.New(), MaxConcurrent: f.maxConcurrent, Parallelism: f.parallelism, Timeout: f.timeout, Version: v.Scalehist, Commit: v.Commit,
		ClientCertificates: f.access.ClientCA != "", LocalHosts: f.access.LocalHosts(address), Hosts: f.access.Hosts}
	limit, err := resource.ParseQuantity(f.maxBody)
	if err != nil || limit.Value() <= 0 {
		return o, nil, console.UsageErrorf(cmd, "--max-body %s: write a size such as 64Mi", f.maxBody)
	}
	o.MaxBody = limit.Value()
	if f.maxConcurrent <= 0 || f.timeout <= 0 || f.parallelism < 0 {
		return o, nil, console.UsageErrorf(cmd, "--max-concurrent and --timeout must be more than 0, --parallelism not negative")
	}
	if err := f.access.Check(cmd, "", address); err != nil {
		return o, nil, err
	}
	if o.Prices, err = f.prices.Table(cmd); err != nil {
		return o, nil, err
	}
	tokens, files, err := f.access.Credentials()
	if err != nil {
		return o, nil, fmt.Errorf("recommender serve: %w", err)
	}
	if tokens != nil { // a nil pointer is not a nil interface
		o.Tokens = tokens
	}
	return o, files, nil
}

func (f *recommenderFlags) run(cmd *cobra.Command, s console.IO) error {
	address, err := net.ResolveTCPAddr("tcp", f.access.Listen)
	if err != nil {
		return console.UsageErrorf(cmd, "--listen %s: %w", f.access.Listen, err)
	}
	options, files, err := f.options(cmd, address)
	if err != nil {
		return err
	}
	app, err := api.NewServer(options)
	if err != nil {
		return err
	}
	server := app.HTTPServer()
	listener, url, err := console.ListenFor(cmd.Context(), "recommender serve", server, address, files)
	if err != nil {
		return err
	}
	s.Errf("serving %s; Ctrl-C stops\n", url)
	return console.ServeUntil(cmd.Context(), "recommender serve", app.Drain, server, listener, f.timeout)
}
