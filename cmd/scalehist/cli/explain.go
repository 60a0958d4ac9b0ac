package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	reports "github.com/scalehist/scalehist/report"
)

func init() { register(newExplainCommand) }

type explainFlags struct {
	format Format
	pod    string
	group  string
	node   string
	at     TimeFlag
}

func newExplainCommand(s IO) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain REPORT",
		Short: "Say why a replay scaled a node group, kept a node, or left a pod pending",
		Long: `explain reads a saved report (report.json, or the directory of replay --report-dir) and says in sentences what the
autoscaler did about one thing, and why: about a pod, when it came, what each loop made of it, and why it is still pending;
about a node group, why it grew and not another, or could not; about a node, why it stayed, since when it was unneeded, and how
it went. It needs nothing but the report.`,
		Example: `  # Keep a report
  scalehist replay prod.db --report-dir gen/prod

  # Why is this pod still pending?
  scalehist explain gen/prod --pod default/web-7

  # Why this node group and not the others, twenty seconds in?
  scalehist explain gen/prod --node-group workers --at +20s

  # Why is this node still there?
  scalehist explain gen/prod --node workers-3`,
		Args:              exactArgs("REPORT"),
		ValidArgsFunction: completeReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExplain(cmd, s, f, args[0])
		},
	}
	addFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	flags.StringVar(&f.pod, "pod", "", "explain a pod: namespace/name, or a name in namespace default")
	flags.StringVar(&f.group, "node-group", "", "explain a node group")
	flags.StringVar(&f.node, "node", "", "explain a node")
	flags.Var(&f.at, "at", "with --node-group: only the last decision about it by then")
	for name, list := range map[string]func(*scalehist.ReplayReport) []string{
		"pod": reports.PodNames, "node-group": reports.NodeGroupNames, "node": reports.NodeNames,
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, completeOfReport(list)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runExplain(cmd *cobra.Command, s IO, f *explainFlags, path string) error {
	given := 0
	for _, name := range []string{"pod", "node-group", "node"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	if given != 1 {
		return UsageErrorf(cmd, "give one of --pod, --node-group and --node")
	}
	if f.at.IsSet() && f.group == "" {
		return UsageErrorf(cmd, "--at goes with --node-group")
	}
	r, err := readReport(path)
	if err != nil {
		return err
	}
	out, err := f.explain(r)
	if err != nil {
		return err
	}
	if f.format == FormatJSON {
		return s.PrintJSON(out)
	}
	err = s.Page(out.String())
	return err
}

func (f *explainFlags) explain(r *scalehist.ReplayReport) (*reports.Explanation, error) {
	switch {
	case f.pod != "":
		return reports.ExplainPod(r, f.pod)
	case f.node != "":
		return reports.ExplainNode(r, f.node)
	}
	var at *time.Time
	if f.at.IsSet() {
		t, err := f.at.Resolve(r.StartTime, r.EndTime, r.EndTime)
		if err != nil {
			return nil, fmt.Errorf("--at: %w", err)
		}
		at = &t
	}
	return reports.ExplainNodeGroup(r, f.group, at)
}

// readReport reads a report file, or report.json in a directory.
func readReport(path string) (*scalehist.ReplayReport, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("report %s does not exist: keep one with 'scalehist replay FILE.db --report-dir DIR'", path)
	}
	if info.IsDir() {
		path = filepath.Join(path, "report.json")
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("there is no %s: give a report file, or the directory of 'scalehist replay --report-dir'", path)
		}
	}
	if isHistory(path) {
		return nil, fmt.Errorf("%s is a history, not a report: 'scalehist replay %s --report-dir DIR' makes one", path, path)
	}
	r, err := reports.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%w: give a report.json, or the directory of 'scalehist replay --report-dir'", err)
	}
	return r, nil
}

// completeReport completes the one report a command takes.
func completeReport(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completeOfReport completes names out of the report given as the argument.
func completeOfReport(list func(*scalehist.ReplayReport) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := readReport(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return printable(list(r)), cobra.ShellCompDirectiveNoFileComp
	}
}
