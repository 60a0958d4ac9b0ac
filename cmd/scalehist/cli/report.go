package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/report/html"
)

type reportFlags struct {
	out    string
	labels []string
}

func newReportCommand(s console.IO) *cobra.Command {
	f := &reportFlags{}
	cmd := &cobra.Command{
		Use:   "report REPORT... -o FILE.html",
		Short: "Write replay reports as one page for a browser: charts, the cluster over time, every decision with its reasons",
		Long: `report writes saved reports (report.json, or directories of replay --report-dir) as one HTML file that needs nothing else and asks the
network for nothing. It shows node groups, waiting pods, utilisation and cost over time, the cluster at any moment of the replay, what
the autoscaler saw and chose then, and every other option with the reason why it was left.

Of several reports the first is the baseline: the others are drawn over it, and the first decision that differs is marked. What stands
behind the # of the page's address opens a moment: #t=+20s, #loop=2, #pod=default/api-1, #node=workers-3, #group=workers.`,
		Example: `  # Look at a replay
  scalehist replay prod.db --report-dir gen/prod
  scalehist report gen/prod -o prod.html

  # Two runs over each other
  scalehist replay prod.db --report-dir gen/least-waste
  scalehist replay prod.db --report-dir gen/most-pods --autoscaler-flag=--expander=most-pods
  scalehist report gen/least-waste gen/most-pods -o both.html

  # The page on standard output
  scalehist report gen/prod -o - | ssh web 'cat > /srv/report.html'`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: replays.CompleteReports,
		RunE:              func(cmd *cobra.Command, args []string) error { return runReport(cmd, s, f, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.out, "output", "o", "", "the file to write, or - for standard output (default: report.html in the directory of the first report)")
	flags.StringSliceVar(&f.labels, "label", nil, "what to call the reports, in their order (default: from their paths)")
	if err := cmd.MarkFlagFilename("output", "html"); err != nil {
		panic(fmt.Sprintf("completion of --output: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

func runReport(cmd *cobra.Command, s console.IO, f *reportFlags, args []string) error {
	if len(args) == 0 {
		return console.UsageErrorf(cmd, "%s: give a report, or several: report.json, or the directory of 'scalehist replay --report-dir'", cmd.CommandPath())
	}
	labels := replays.LabelsOf(args)
	if f.labels != nil {
		if len(f.labels) != len(args) {
			return console.UsageErrorf(cmd, "--label: %s for %s", plural.Of(len(f.labels), "label"), plural.Of(len(args), "report"))
		}
		labels = f.labels
	}
	var in html.Input
	for i, path := range args {
		r, err := console.ReadReport(path)
		if err != nil {
			return err
		}
		in.Runs = append(in.Runs, html.Run{Label: labels[i], Report: r})
	}
	if f.out == "-" {
		return html.Write(s.Raw(), in)
	}
	out := f.out
	if out == "" {
		out = filepath.Join(filepath.Dir(args[0]), html.FileName)
		if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
			out = filepath.Join(args[0], html.FileName)
		}
	}
	if err := html.WriteFile(out, in); err != nil {
		return err
	}
	info, err := os.Stat(out)
	if err != nil {
		return err
	}
	s.Printf("%s (%d kB): open it in a browser\n", out, (info.Size()+999)/1000)
	return nil
}
