package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/cmd/scalehist/clusters"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/histories"
	"github.com/scalehist/scalehist/cmd/scalehist/replays"
	"github.com/scalehist/scalehist/internal/plaintext"
)

// Main runs scalehist as a process and returns its exit code. The command has a context that the first Ctrl-C (or SIGTERM)
// cancels, so that it can stop cleanly; the second one exits at once. What a replay leaves behind then is reaped by the next one.
func Main() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(console.ExitInterrupted)
	}()
	return Execute(ctx, os.Args[1:], console.Stdio())
}

// commands are the constructors of the commands of this package.
func commands() []func(console.IO) *cobra.Command {
	return []func(console.IO) *cobra.Command{
		newCompletionCommand, newConfigCommand, newDoctorCommand, newExplainCommand, newGateCommand, newManCommand, newNewCommand, newRecommendCommand, newReportCommand, newTestCommand, newTruthCommand, newVersionCommand, newViewCommand,
	}
}

// Execute runs scalehist with args and returns its exit code. It prints an error once, to s.Err.
func Execute(ctx context.Context, args []string, s console.IO) int {
	var (
		logs     console.LogFlags
		profiles console.ProfileFlags
	)
	out := &console.KeptWriter{W: s.Out}
	// Whatever a command prints passes the writers of plaintext, below which is only what draws on the terminal.
	printed := plaintext.New(out, s.Color(s.Out))
	if console.IsTerminal(s.Err) && s.Env("TERM") != "dumb" {
		s.Err = console.NewScreen(s.Err)
	}
	messages := plaintext.New(s.Err, s.Color(s.Err))
	s.Out, s.Err = printed, messages
	set := &settings{io: s}
	root := newRoot(s, &logs, &profiles, set)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	_ = printed.Flush() // the kept writer has its error
	err = set.explain(console.UsageOf(cmd, out.Check(err)))
	code := console.Report(ctx, s.Err, errors.Join(err, profiles.Stop(), logs.Close()))
	_ = messages.Flush() // where standard error cannot be written to, there is nowhere to report it
	return code
}

// newRootCommand is the command line with no settings from elsewhere.
func newRootCommand(s console.IO, logs *console.LogFlags, profiles *console.ProfileFlags) *cobra.Command {
	return newRoot(s, logs, profiles, &settings{io: s})
}

func newRoot(s console.IO, logs *console.LogFlags, profiles *console.ProfileFlags, set *settings) *cobra.Command {
	root := &cobra.Command{
		Use:   "scalehist",
		Short: "Record a cluster's scaling history, replay it through any autoscaler",
		Long: `scalehist records what scaled in a Kubernetes cluster, and why, into one SQLite file. It replays such a
history on a virtual cluster, in virtual time, through any autoscaler, and says how its decisions differ from what happened.

Exit codes: 0 done (and agreed, where something is compared), 1 differed, 2 error, 130 interrupted.`,
		Example: `  # Record the current cluster until Ctrl-C
  scalehist record -o prod.db

  # What is in the file?
  scalehist inspect prod.db

  # What would the cluster autoscaler do with it?
  scalehist replay prod.db`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Version:                    console.CurrentVersion().Scalehist,
	}
	root.SetVersionTemplate("scalehist {{.Version}}\n")
	root.DisableAutoGenTag = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(console.FlagError)
	logs.Add(root.PersistentFlags())
	profiles.Add(root.PersistentFlags())
	set.add(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := set.apply(cmd); err != nil {
			return err
		}
		if err := console.ResolveFixtures(cmd, args); err != nil {
			return err
		}
		logs.KeepIn(cmd)
		ctx, err := logs.Start(cmd.Context(), s.Err)
		cmd.SetContext(ctx)
		if len(set.applied) > 0 {
			klog.FromContext(ctx).Info("Settings that are not from the command line", "flags", set.text())
		}
		return errors.Join(err, profiles.Start())
	}
	var all []*cobra.Command
	for _, constructor := range slices.Concat(commands(), histories.Commands(), replays.Commands(), clusters.Commands()) {
		all = append(all, constructor(s))
	}
	slices.SortFunc(all, func(a, b *cobra.Command) int { return cmp.Compare(a.Name(), b.Name()) })
	root.AddCommand(all...)
	completeFlags(root)
	return root
}
