package replays

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/prices"
	reports "github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/html"
)

// ReplayFlags are the flags of replay.
type ReplayFlags struct {
	format   console.Format
	dir      string
	logs     string
	truth    string
	agree    []string
	seeds    int     // --seeds
	least    float64 // --min-agreement
	eventDir string  // --event-reports
	Plane    string
	vary     []engines.FieldValue // other values of fields of objects
	SettingsFlags
}

func newReplayCommand(s console.IO) *cobra.Command {
	f := &ReplayFlags{}
	cmd := &cobra.Command{
		Use:   "replay FILE.db | replay REPORT --playback snapshots",
		Short: "Replay a history through an autoscaler on a virtual cluster, and say how it differs from what happened",
		Long: `replay boots a virtual cluster (the API server's registries and kube-scheduler in this process, no kubelets; with --control-plane
envtest a real kube-apiserver and etcd, ten times slower and with the same report), puts it into the recorded state, feeds in what the
workload did, in virtual time, and lets an autoscaler decide. It prints what scaled, every decision with its reasons, and the verdict: in which of six questions the replay agrees with the recording. It agrees when every node
group grew (scaled-up) and shrank (scaled-down) by as many nodes, and as many pods are left without a node (unschedulable). The largest
size of each group (peak-size), order and time of the steps (steps) and how long pods waited (waits) are shown beside them; --agree
makes the verdict depend on them too. docs/verdict.md says what each compares.

Recorded autoscaler settings apply as of their time; --autoscaler-flag overrides them. The exit code is 0 when the replay agrees
with the recording (or nothing was recorded to agree with), 1 when it differs, 2 on an error.

With --truth the verdict is taken from a truth file instead: what a real cluster-autoscaler was seen to do with the same load in
several runs, which differ. The replay agrees when it ends as one of them did and begins with the steps they all took alike. A seed is
one of the runs that are possible; --seeds 20 replays with twenty and prints the share of them that agrees, which must be
--min-agreement at least.

With --playback snapshots it reads a report of another replay that was made with --full-snapshots instead of a history: the autoscaler
is asked again about each cluster that the one of the report decided about, and what both asked for is compared.

In a playback of single events (per-event, snapshots) time passes after each decision only until the nodes have joined that were asked
for and the scheduler has placed what it can, so each event says which pods the nodes helped; --event-reports keeps a report of each.
--optimal tells of every scale-up how far it was from the cheapest one for the same pods.

` + trace.FaultHelp + `

` + prices.Help,
		Example: `  # What would the cluster autoscaler do with this history?
  scalehist replay prod.db

  # The same with another expander and a larger group; keep the report
  scalehist replay prod.db --autoscaler-flag=--expander=most-pods --bounds workers=1:20 --report-dir gen/most-pods

  # Only ten minutes of it, from twenty minutes in
  scalehist replay prod.db --from +20m --to +30m

  # What if the group were out of stock for a quarter of an hour, and two spot nodes were reclaimed?
  scalehist replay prod.db --fault stock-out:workers@+5m..+20m --fault spot-reclaim:spot@+10m,count=2

  # Does it also take the recorded steps in order and in time, and do pods wait about as long?
  scalehist replay prod.db --agree steps,waits

  # Does it do what the real autoscaler was seen to do in several runs?
  scalehist replay fixtures/ca-pdb-blocks-drain/recording.db --truth fixtures/ca-pdb-blocks-drain/truth.json

  # How much of that verdict is chance?
  scalehist replay fixtures/ca-burst-then-idle/recording.db --truth fixtures/ca-burst-then-idle/truth.json --seeds 20

  # The same report from a real API server
  scalehist replay prod.db --control-plane envtest

  # Decide each recorded scale-up again from the moment before it
  scalehist replay prod.db --playback per-event -o json

  # Ask the recommender about each cluster that the cluster autoscaler decided about
  scalehist replay prod.db --full-snapshots --report-dir gen/prod
  scalehist replay gen/prod --playback snapshots --autoscaler recommender:optimal`,
		Args:              console.ExactArgs("FILE.db"),
		ValidArgsFunction: completeHistoryOrReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplay(cmd, s, f, args[0])
		},
	}
	console.AddFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	f.SettingsFlags.Add(cmd)
	addControlPlaneFlag(cmd, &f.Plane)
	flags.StringVar(&f.dir, "report-dir", "", "write report.json, report.txt, timeline.txt and report.html there, controllers.yaml where controllers keep their state in objects, and with -v the logs")
	addEventReportsFlag(cmd, &f.eventDir)
	flags.StringVar(&f.truth, "truth", "", "judge the replay by this file of what a real autoscaler was seen to do (truth.json of a fixture)")
	addSeedsFlags(cmd, f)
	flags.StringSliceVar(&f.agree, "agree", nil, "further questions in which the replay must agree with the recording: peak-size, steps, waits")
	flags.StringVar(&f.logs, "log-dir", "", "keep the logs of the virtual cluster there")
	for name, extensions := range map[string][]string{"truth": {"json"}} {
		if err := cmd.MarkFlagFilename(name, extensions...); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
	for name, complete := range map[string]cobra.CompletionFunc{"agree": completeQuestions} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runReplay(cmd *cobra.Command, s console.IO, f *ReplayFlags, path string) error {
	ctx := cmd.Context()
	if verbose, err := cmd.Flags().GetCount("verbose"); err == nil && verbose > 0 && f.dir != "" && f.logs == "" && f.Plane == harness.EnvTest {
		f.logs = filepath.Join(f.dir, "control-plane")
	}
	if err := f.checkSeeds(cmd); err != nil {
		return err
	}
	opts, err := f.options(cmd, s, path)
	if err != nil {
		return err
	}
	if f.dir != "" { // before anything is played
		if err := os.MkdirAll(f.dir, 0o755); err != nil {
			return fmt.Errorf("--report-dir: %w: choose a directory that can be written to", err)
		}
	}
	seen, err := f.readTruth(cmd)
	if err != nil {
		return err
	}
	asked, err := f.questions(cmd)
	if err != nil {
		return err
	}
	if f.seeds > 1 {
		return f.playSeeds(ctx, s, path, seen, asked, opts)
	}
	progress := console.NewReplayView(s)
	opts = append(opts, harness.WithProgress(progress.Step))
	r, err := f.play(ctx, path, seen, opts)
	progress.Done()
	if err != nil {
		return err
	}
	if f.Optimal {
		if err := f.judge(ctx, cmd, r); err != nil {
			return err
		}
	}
	if seen != nil {
		if r.Truth, err = seen.Compare(r); err != nil {
			return fmt.Errorf("--truth %s: %w", f.truth, err)
		}
	}
	if r.Agreement != nil {
		r.Agreement.Ask(asked...)
	}
	if f.dir != "" {
		r.Run.Artifacts = f.dir
		if err := html.Save(f.dir, r); err != nil {
			return err
		}
	}
	if f.format == console.FormatJSON {
		if err := reports.JSON(s.Json(), r); err != nil {
			return err
		}
	} else if err := s.Page(reports.Text(r)); err != nil {
		return err
	}
	f.hintTruth(cmd, s, path)
	switch {
	case r.Truth != nil:
		if !r.Truth.Agreed {
			return console.Differed()
		}
	case r.Agreement != nil && !r.Agreement.Agreed:
		return console.Differed()
	case r.Agreement == nil && len(asked) > 0:
		return fmt.Errorf("--agree %s: %s shows no autoscaler at work, so there is nothing to agree with: leave --agree out", strings.Join(f.agree, ","), path)
	}
	return nil
}

// readTruth reads the truth file, nil when none is asked for. It is of a whole recording, so flags that choose a part of
// it do not go with it.
func (f *ReplayFlags) readTruth(cmd *cobra.Command) (*truth.File, error) {
	if f.truth == "" {
		return nil, nil
	}
	if name := f.partOnly(cmd); name != "" {
		return nil, console.UsageErrorf(cmd, "--truth is of the whole recording: leave out --%s", name)
	}
	if scalehist.Playback(f.Playback).SingleMoments() {
		return nil, console.UsageErrorf(cmd, "--truth: a %s playback has no outcome; replay continuously", f.Playback)
	}
	file, err := truth.Read(f.truth)
	if err != nil {
		return nil, fmt.Errorf("--truth: %w", err)
	}
	return file, nil
}

func (f *ReplayFlags) play(ctx context.Context, path string, seen *truth.File, opts []harness.Option) (*scalehist.ReplayReport, error) {
	if scalehist.Playback(f.Playback) == scalehist.PlaybackSnapshots {
		return replaySnapshots(ctx, path, opts)
	}
	var length func(time.Time, time.Duration) (time.Duration, error)
	if seen != nil {
		length = func(start time.Time, d time.Duration) (time.Duration, error) { return seen.Length(start, d), nil }
	}
	r, err := harness.Play(ctx, path, length, opts...)
	if w, ok := errors.AsType[*harness.WindowError](err); ok {
		return nil, fmt.Errorf("--%s: %w", w.Bound, w.Err)
	}
	return r, err
}

// options turns flags into options; what is wrong with them is a usage error.
func (f *ReplayFlags) options(cmd *cobra.Command, s console.IO, path string) ([]harness.Option, error) {
	engine, err := engines.Engine(f.Autoscaler)
	if err != nil {
		return nil, console.UsageErrorf(cmd, "--autoscaler: %v", err)
	}
	if err := engines.CheckFlags(f.Autoscaler, f.Flags); err != nil {
		return nil, console.UsageErrorf(cmd, "--autoscaler-flag: %v", err)
	}
	settings, err := f.Resolve(cmd)
	if err != nil {
		return nil, err
	}
	switch playback := scalehist.Playback(f.Playback); {
	case playback == scalehist.PlaybackPerEvent && f.For != 0:
		return nil, console.UsageErrorf(cmd, "--for: a per-event playback ends each event when its nodes have joined; choose the events with --from and --to")
	case playback == scalehist.PlaybackSnapshots:
		if err := f.checkSnapshots(cmd, path); err != nil {
			return nil, err
		}
	case isReport(path):
		return nil, console.UsageErrorf(cmd, "%s is a report, not a history: replay its decisions again with --playback snapshots", path)
	}
	// The defaults of flags are part of a scenario's hash.
	settings.Scheduler = profile.Scoring(f.scheduler)
	if settings.ProvisionDelay == nil {
		settings.ProvisionDelay = &f.delay
	}
	if err := readFaults(&settings); err != nil {
		return nil, err
	}
	table, err := priceTable(&settings)
	if err != nil {
		return nil, err
	}
	controls, err := engines.ControlsWith(&settings, here, f.vary)
	if err != nil {
		return nil, err
	}
	opts := append([]harness.Option{harness.WithSettings(settings), engine, harness.WithFiles(f.dir), harness.WithPrices(table)}, controls...)
	if engines.IsExec(f.Autoscaler) {
		if f.Plane == harness.Memory && cmd.Flags().Changed("control-plane") {
			return nil, console.UsageErrorf(cmd, "--control-plane %s: a program needs an API server: leave it out, or use %s", harness.Memory, harness.EnvTest)
		}
		f.Plane = harness.EnvTest
	}
	plane, err := ControlPlane(cmd, s, f.Plane, f.logs)
	if err != nil {
		return nil, err
	}
	opts = append(opts, plane)
	if f.eventDir != "" {
		keep, err := f.keepEvents(cmd)
		if err != nil {
			return nil, err
		}
		opts = append(opts, keep)
	}
	return opts, nil
}
