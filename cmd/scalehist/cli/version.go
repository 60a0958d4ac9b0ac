package cli

import (
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func newVersionCommand(s console.IO) *cobra.Command {
	var format console.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of scalehist, of the Kubernetes inside, and of the formats",
		Long: `Print the versions of scalehist and of the Kubernetes inside: the API server, the scheduler and its plugins that
a replay runs are of that version, whatever version was recorded. The format of reports and the schema of histories are those
that it reads and writes.`,
		Example: "  scalehist version\n  scalehist version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := console.CurrentVersion()
			if format == console.FormatJSON {
				return s.PrintJSON(v)
			}
			s.Printf("scalehist %s\nkubernetes %s\nreport format %s\nhistory schema %d\n%s %s\n",
				v.Scalehist, v.Kubernetes, v.Report, v.History, v.Go, v.Platform)
			return nil
		},
	}
	console.AddFormatFlag(cmd, &format)
	return cmd
}
