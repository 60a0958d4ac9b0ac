package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/engines/realca"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/internal/plural"
)

func newTruthCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "truth",
		Short: "What a real cluster-autoscaler does: record it",
		Long: `A truth is what a real cluster-autoscaler did with a load in several runs: where each ended, and the steps that all took. 'record' makes one by
running a binary; 'scalehist replay FILE.db --truth truth.json' judges a replay by it. docs/truth.md says how far the two agree.`,
		Example: `  # Run a binary over the causes of a recording, three times
  scalehist truth record prod.db --autoscaler exec:/usr/local/bin/cluster-autoscaler -o gen/truth`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTruthRecordCommand(s))
	return cmd
}

type truthRecordFlags struct {
	autoscaler, script, out  string
	flags                    []string
	seed                     int64
	runs, parallel, logLevel int
	length                   time.Duration
	describe                 bool
}

func newTruthRecordCommand(s console.IO) *cobra.Command {
	f := &truthRecordFlags{}
	cmd := &cobra.Command{
		Use:   "record [FILE.db]",
		Short: "Run a real cluster-autoscaler over a load, several times, and write what it did",
		Long: `Run an unmodified cluster-autoscaler binary, built with the externalgrpc provider, in real time: over the causes of a recording (pods, owners,
budgets, its node groups and how long their nodes take), over a load made from a seed (--generate), or over one that measures one thing (--script).
A plain kube-apiserver and etcd and the real scheduler are around it; nodes and kubelets are virtual.

The directory has recording.db, the first run as a history; truth.json, what all runs did, for 'replay --truth'; and of each run the object log and the
autoscaler's own log. A run takes as long as the load. A busy machine tears bursts apart: the load average is printed with each run.

Exit codes: 0 all runs ended; 2 error. Runs that ended before an error, or before Ctrl-C, are written.`,
		Example: `  # Three runs over a recording, two at once
  scalehist truth record prod.db --autoscaler exec:/usr/local/bin/cluster-autoscaler --runs 3 -o gen/truth
  scalehist replay gen/truth/recording.db --truth gen/truth/truth.json --seeds 20

  # What does a seed make? Then run it with another expander
  scalehist truth record --generate 101 --describe
  scalehist truth record --generate 101 --autoscaler exec:./cluster-autoscaler --autoscaler-flag=--expander=most-pods -o gen/calm-101`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: console.CompleteHistory,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, s, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.autoscaler, "autoscaler", "", "exec:PATH, the cluster-autoscaler binary to run")
	flags.StringArrayVar(&f.flags, "autoscaler-flag", nil, "flag of the autoscaler, over those of the load; repeatable")
	flags.Int64Var(&f.seed, "generate", 0, "run a load made from this seed, with a random choice of features")
	flags.StringVar(&f.script, "script", "", "run one of the loads that measure one thing")
	flags.BoolVar(&f.describe, "describe", false, "say what the load is, and run nothing")
	flags.IntVar(&f.runs, "runs", 3, "how often to run it")
	flags.IntVar(&f.parallel, "parallel", 2, "how many runs at once")
	flags.DurationVar(&f.length, "for", 0, "end each run so long after the workload began; 0 is as long as the load says")
	flags.IntVar(&f.logLevel, "autoscaler-verbosity", 4, "verbosity of the autoscaler's own log (its --v)")
	flags.StringVarP(&f.out, "output", "o", "", "the directory to write")
	for name, complete := range map[string]cobra.CompletionFunc{
		"script":     cobra.FixedCompletions(realca.ScriptNames(), cobra.ShellCompDirectiveNoFileComp),
		"autoscaler": cobra.FixedCompletions([]string{"exec:"}, cobra.ShellCompDirectiveNoSpace),
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	if err := cmd.MarkFlagDirname("output"); err != nil {
		panic(fmt.Sprintf("completion of --output: %v", err)) // only a flag that does not exist fails
	}
	return cmd
}

// scenario is the load that is asked for; exactly one is.
func (f *truthRecordFlags) scenario(cmd *cobra.Command, args []string) (*realca.Scenario, error) {
	given := len(args)
	for _, name := range []string{"generate", "script"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, console.UsageErrorf(cmd, "%s: give one load: FILE.db, --generate SEED or --script NAME", cmd.CommandPath())
	case len(args) == 1:
		return realca.FromRecording(cmd.Context(), args[0])
	case cmd.Flags().Changed("generate"):
		return realca.Generate(f.seed), nil
	}
	scenario, err := realca.Scripted(f.script)
	if err != nil {
		return nil, console.UsageErrorf(cmd, "--script: %v", err)
	}
	return scenario, nil
}

func (f *truthRecordFlags) run(cmd *cobra.Command, s console.IO, args []string) error {
	scenario, err := f.scenario(cmd, args)
	if err != nil {
		return err
	}
	if f.length > 0 {
		scenario.Cut(f.length)
	}
	if f.describe {
		s.Printf("%s: %s; %s in %s\n", scenario.Name, scenario.What, plural.Of(len(scenario.Changes), "change"), scenario.Duration)
		return nil
	}
	binary, err := engines.Binary(f.autoscaler)
	switch {
	case err != nil:
		return console.UsageErrorf(cmd, "--autoscaler: %v", err)
	case f.out == "":
		return console.UsageErrorf(cmd, "%s: give -o DIR, where the runs are written", cmd.CommandPath())
	case f.runs < 1 || f.parallel < 1:
		return console.UsageErrorf(cmd, "--runs %d and --parallel %d: want 1 or more", f.runs, f.parallel)
	case f.length < 0:
		return console.UsageErrorf(cmd, "--for %s: want a positive duration", f.length)
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return fmt.Errorf("--output: %w: choose a directory that can be written to", err)
	}
	s.Errf("%s: %s, each %s long\n", scenario.Name, plural.Of(f.runs, "run"), scenario.Duration+scenario.Idle)
	err = realca.Record(cmd.Context(), scenario, realca.Options{
		Binary: binary, Flags: f.flags, Verbosity: f.logLevel, Runs: f.runs, Parallel: f.parallel, Dir: f.out,
		Assets: assets.Options{Progress: s.Err}, Ran: func(line string) { s.Errf("%s\n", line) },
	})
	path := filepath.Join(f.out, realca.TruthName)
	seen, readErr := truth.Read(path)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	s.Printf("%s: %s, %s, %s in common; judge a replay by them:\n", path, plural.Of(len(seen.Runs), "run"), plural.Of(len(seen.Outcomes), "outcome"),
		plural.Of(len(seen.FirstStepsInAllRuns), "first step"))
	s.Printf("  scalehist replay %s --truth %s\n", filepath.Join(f.out, realca.HistoryName), path)
	return err
}
