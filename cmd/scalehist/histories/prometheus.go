package histories

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/promserve"
)

func newPrometheusCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "prometheus",
		Short:   "Serve recorded metrics as a Prometheus does",
		Long:    "Serve the metrics of a recording by the query API of Prometheus, for dashboards and for autoscalers that ask a Prometheus (docs/horizontal.md).",
		Example: "  scalehist prometheus serve prod.db",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPrometheusServeCommand(s))
	return cmd
}

func newPrometheusServeCommand(s console.IO) *cobra.Command {
	var listen string
	var at console.TimeFlag
	cmd := &cobra.Command{
		Use:   "serve FILE.db",
		Short: "Answer PromQL from a recording until Ctrl-C",
		Long: `Answer /api/v1/query, query_range, series, labels, label/NAME/values and metadata with Prometheus' own query engine over what was recorded:
series (record --series), and the values of queries (record --queries) where their text is asked for, whole or as a part, and by their names.
What was not recorded, a series or a time, is an error that says what was (400, bad_data), never an empty answer.

Times are those of the recording; a query without one is for its end. With --at the recording runs as if it were now: that instant of it is now when
the server starts, time passes from there, and times in requests and answers are those of this machine's clock. So Grafana shows it live, and a
scaler that asks for the present gets the recorded past.

It listens on this machine only. Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.`,
		Example: `  # For Grafana, with the times of the recording
  scalehist prometheus serve prod.db

  # For an autoscaler, from an hour into the recording on
  scalehist prometheus serve prod.db --at +1h --listen 127.0.0.1:9091`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return servePrometheus(cmd, s, args[0], listen, &at) },
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:9090", "address to listen on, of this machine; port 0 takes any that is free")
	cmd.Flags().Var(&at, "at", "instant of the recording that is now when the server starts (default: times are those of the recording)")
	return cmd
}

func servePrometheus(cmd *cobra.Command, s console.IO, path, listen string, at *console.TimeFlag) (err error) {
	db, err := history.Open(cmd.Context(), path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	start, end := db.Span()
	now, real := promserve.Clock{Now: func() time.Time { return end }}, clock.RealClock{}
	if at.IsSet() {
		from, err := at.Resolve(start, end, end)
		if err != nil {
			return fmt.Errorf("%s: --at: %w", path, err)
		}
		now = promserve.Clock{Now: real.Now, Behind: real.Now().Sub(from).Round(time.Millisecond)}
	}
	server, err := promserve.New(cmd.Context(), db, now)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	names := server.Names()
	if len(names) == 0 {
		return fmt.Errorf("%s: no metrics are recorded in it: record with --series or --queries", path)
	}
	l, err := console.Listen(cmd, listen, false, ", and nobody has to log in: listen on 127.0.0.1")
	if err != nil {
		return err
	}
	s.Errf("serving %s of %s on http://%s\n", plural.Of(len(names), "recorded metric"), path, l.Addr())
	return console.ServeHTTP(cmd.Context(), l, &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: 3 * time.Minute, IdleTimeout: 2 * time.Minute}) // a query may take two minutes
}
