package clusters

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recommender/vertical"
	verticalapi "github.com/scalehist/scalehist/recommender/vertical/remote/serve"
)

func newVerticalServeCommand(s console.IO) *cobra.Command {
	var access console.AccessFlags
	var recommender string
	var workloads int
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Answer the API of recommenders of requests over HTTP",
		Long: `Answer the API that 'url:http://HOST:PORT' names as a recommender, with one of the built-in ones, until Ctrl-C or SIGTERM: what containers
used goes in, many samples at once, and what they should request comes out. docs/backtest.md and /openapi.json describe it;
examples/vertical-recommender-python is a recommender of your own.

A workload that nobody asks about for a day is forgotten once there is another one.

Without credentials it listens on this machine only; others reach it over TLS alone.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # On any free port
  scalehist vertical serve --recommender holt-winters --listen 127.0.0.1:0

  # Try it on a history
  scalehist backtest prod.db --vertical url:http://127.0.0.1:8610 --vertical vpa`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			const command = "vertical serve"
			if workloads < 1 {
				return console.UsageErrorf(cmd, "--max-workloads %d: want 1 or more", workloads)
			}
			spec, err := vertical.Parse(recommender)
			if err != nil {
				return console.UsageErrorf(cmd, "--recommender: %w", err)
			}
			web, err := newService(cmd, command, &access)
			if err != nil {
				return err
			}
			server, err := verticalapi.New(verticalapi.Options{Gate: web.gate, Recommender: spec, Workloads: workloads})
			if err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
			return web.serve(cmd.Context(), s, server)
		},
	}
	access.Add(cmd, "127.0.0.1:8610", "the API")
	recommenderFlag(cmd, &recommender)
	cmd.Flags().IntVar(&workloads, "max-workloads", verticalapi.DefaultWorkloads, "most workloads at once; more are refused with 503")
	return cmd
}
