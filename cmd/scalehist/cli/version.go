package cli

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/recorder/history"
)

func init() { register(newVersionCommand) }

// Version is set by the build (-ldflags -X); without it the module's version or commit is shown.
var Version string

// versionInfo is what `scalehist version` prints.
type versionInfo struct {
	Scalehist  string `json:"scalehist"`
	Commit     string `json:"commit,omitempty"`
	Kubernetes string `json:"kubernetes"`
	// Report is the version of the reports it writes and reads, History the schema of histories.
	Report   string `json:"report"`
	History  int    `json:"history"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(s IO) *cobra.Command {
	var format Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of scalehist, of the Kubernetes inside, and of the formats",
		Long: `Print the versions of scalehist and of the Kubernetes inside: the API server, the scheduler and its plugins that
a replay runs are of that version, whatever version was recorded. The format of reports and the schema of histories are those
that it reads and writes.`,
		Example: "  scalehist version\n  scalehist version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := currentVersion()
			if format == FormatJSON {
				return s.PrintJSON(v)
			}
			s.Printf("scalehist %s\nkubernetes %s\nreport format %s\nhistory schema %d\n%s %s\n",
				v.Scalehist, v.Kubernetes, v.Report, v.History, v.Go, v.Platform)
			return nil
		},
	}
	addFormatFlag(cmd, &format)
	return cmd
}

// currentVersion reads the build information that the Go linker put into the binary.
func currentVersion() versionInfo {
	v := versionInfo{
		Scalehist: Version, Kubernetes: assets.Kubernetes(), Report: scalehist.ReportVersion, History: history.SchemaVersion,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.Scalehist = cmp.Or(v.Scalehist, info.Main.Version)
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				v.Commit = setting.Value
			}
		}
	}
	v.Scalehist = cmp.Or(v.Scalehist, "(devel)")
	return v
}
