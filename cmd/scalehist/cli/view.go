package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/view"
)

func newViewCommand(s console.IO) *cobra.Command {
	return &cobra.Command{
		Use:   "view REPORT",
		Short: "Step through the decisions of a report in the terminal",
		Long: `view shows a saved report (report.json, or the directory of replay --report-dir) step by step: what the autoscaler did, the
option it chose with its score and the ones it did not, the groups that were left out with their reasons, the nodes that went and
those that were unremovable, and how the cluster stood at that moment. '?' lists the keys; docs/view.md has a tour.

Where standard output is no terminal, it prints the steps as text.`,
		Example: `  # Keep a report, and look at it
  scalehist replay prod.db --report-dir gen/prod
  scalehist view gen/prod

  # The steps as text
  scalehist view gen/prod | less`,
		Args:              console.ExactArgs("REPORT"),
		ValidArgsFunction: console.CompleteReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := console.ReadReport(args[0])
			if err != nil {
				return err
			}
			in, isFile := s.In.(*os.File)
			if isFile && console.IsTerminal(in) && console.IsTerminal(s.Out) && s.Env("TERM") != "dumb" {
				return view.Run(cmd.Context(), in, console.TerminalOf(s.Out), s.Color(s.Out), r)
			}
			err = s.Page(view.Plain(r))
			return err
		},
	}
}
