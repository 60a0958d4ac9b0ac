package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	reports "github.com/scalehist/scalehist/report"
)

type explainFlags struct {
	format console.Format
	pod    string
	group  string
	node   string
	work   string
	at     console.TimeFlag
}

func newExplainCommand(s console.IO) *cobra.Command {
	f := &explainFlags{}
	cmd := &cobra.Command{
		Use:   "explain REPORT",
		Short: "Say why a replay scaled a node group or a workload, kept a node, or left a pod pending",
		Long: `explain reads a saved report (report.json, or the directory of replay --report-dir) and says in sentences what the
autoscaler did about one thing, and why: about a pod, when it came, what each loop made of it, and why it is still pending;
about a node group, why it grew and not another, or could not; about a node, why it was unremovable, since when it was unneeded, and how
it went; about a workload that a controller scales or sizes, why it has as many replicas, and why they ask for what they do. It needs nothing but the report.`,
		Example: `  # Keep a report
  scalehist replay prod.db --report-dir gen/prod

  # Why is this pod still pending?
  scalehist explain gen/prod --pod default/web-7

  # Why this node group and not the others, twenty seconds in?
  scalehist explain gen/prod --node-group workers --at +20s

  # Why is this node still there?
  scalehist explain gen/prod --node workers-3

  # Why has this workload as many replicas at that instant?
  scalehist explain gen/prod --workload Deployment/shop/web --at +8h30m

  # Why does this pod ask for 300m?
  scalehist explain gen/prod --pod shop/web-3`,
		Args:              console.ExactArgs("REPORT"),
		ValidArgsFunction: console.CompleteReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExplain(cmd, s, f, args[0])
		},
	}
	console.AddFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	flags.StringVar(&f.pod, "pod", "", "explain a pod: namespace/name, or a name in namespace default")
	flags.StringVar(&f.group, "node-group", "", "explain a node group")
	flags.StringVar(&f.node, "node", "", "explain a node")
	flags.StringVar(&f.work, "workload", "", "explain the replicas and requests of a workload: KIND/NAMESPACE/NAME, or its name where that is the only one")
	flags.Var(&f.at, "at", "with --node-group and --workload: only the last decision about it by then")
	for name, list := range map[string]func(*scalehist.ReplayReport) []string{
		"pod": reports.PodNames, "node-group": reports.NodeGroupNames, "node": reports.NodeNames, "workload": reports.WorkloadNames,
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, completeOfReport(list)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runExplain(cmd *cobra.Command, s console.IO, f *explainFlags, path string) error {
	given := 0
	for _, name := range []string{"pod", "node-group", "node", "workload"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	if given != 1 {
		return console.UsageErrorf(cmd, "give one of --pod, --node-group, --node and --workload")
	}
	if f.at.IsSet() && f.group == "" && f.work == "" {
		return console.UsageErrorf(cmd, "--at goes with --node-group and --workload")
	}
	r, err := console.ReadReport(path)
	if err != nil {
		return err
	}
	out, err := f.explain(r)
	if err != nil {
		return err
	}
	if f.format == console.FormatJSON {
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
	if f.work != "" {
		return reports.ExplainWorkload(r, f.work, at)
	}
	return reports.ExplainNodeGroup(r, f.group, at)
}

// completeOfReport completes names out of the report given as the argument.
func completeOfReport(list func(*scalehist.ReplayReport) []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		r, err := console.ReadReport(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return console.Printable(list(r)), cobra.ShellCompDirectiveNoFileComp
	}
}
