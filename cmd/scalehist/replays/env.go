package replays

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recommender/vertical/env"
	"github.com/scalehist/scalehist/recorder/history"
)

func newEnvCommand(s console.IO) *cobra.Command {
	var listen string
	var step time.Duration
	var from, to console.TimeFlag
	cmd := &cobra.Command{
		Use:   "env FILE.db",
		Short: "Serve the workloads of a history as environments for learners of vertical scaling",
		Long: `env serves the workloads with usage in a history as environments: a learner resets one, steps it with bounds and a target of memory and
CPU, and gets an observation, a reward and what came of the step. Many step at once. docs/backtest.md describes the API, and
examples/vertical-env-python has a client for Gymnasium.

It listens on this machine only, until Ctrl-C or SIGTERM.`,
		Example: `  # Five-minute steps of a recorded week, on any free port
  scalehist env prod.db --step 5m --listen 127.0.0.1:0`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE: func(cmd *cobra.Command, args []string) error {
			if step < time.Second {
				return console.UsageErrorf(cmd, "env: --step %s: want 1s or more", step)
			}
			address, err := net.ResolveTCPAddr("tcp", listen)
			if err != nil {
				return console.UsageErrorf(cmd, "env: --listen %s: %w", listen, err)
			}
			if !address.IP.IsLoopback() {
				return console.UsageErrorf(cmd, "env: --listen %s: it serves this machine only: want an address such as 127.0.0.1:8700", listen)
			}
			workloads, err := environments(cmd.Context(), args[0], &from, &to, step)
			if err != nil {
				return fmt.Errorf("env %s: %w", args[0], err)
			}
			listener, err := net.ListenTCP("tcp", address)
			if err != nil {
				return fmt.Errorf("env: %w: choose another --listen", err)
			}
			s.Errf("%s: serving http://%s; Ctrl-C stops\n", plural.Of(len(workloads), "workload"), listener.Addr())
			return console.ServeHTTP(cmd.Context(), listener, &http.Server{Handler: env.NewServer(workloads).Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
				WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&listen, "listen", "127.0.0.1:8700", "address to listen on, of this machine")
	flags.DurationVar(&step, "step", time.Minute, "time of a step")
	flags.Var(&from, "from", "begin here (default: the start of the recording)")
	flags.Var(&to, "to", "end here (default: the end of the recording)")
	return cmd
}

func environments(ctx context.Context, path string, from, to *console.TimeFlag, step time.Duration) (out []env.Workload, err error) {
	db, err := history.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	first, last := db.Span()
	start, err := from.Resolve(first, last, first)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	end, err := to.Resolve(first, last, last)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	if n := end.Sub(start) / step; n > 1_000_000 {
		return nil, fmt.Errorf("%d steps: want at most 1000000: choose a window with --from and --to, or a longer --step", n)
	}
	workloads, _, err := backtest.Read(ctx, db, start, end)
	if err != nil {
		return nil, err
	}
	if out = backtest.Environments(workloads, start, end, step); len(out) == 0 {
		return nil, errors.New("no workload has two steps of usage in this window: record usage, import it, or make some with 'scalehist generate'")
	}
	return out, nil
}
