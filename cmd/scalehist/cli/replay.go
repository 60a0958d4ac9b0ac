package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/truth"
	"github.com/scalehist/scalehist/recorder/history"
	reports "github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/html"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

func init() { register(newReplayCommand) }

// replayFlags are the flags of replay.
type replayFlags struct {
	format     Format
	autoscaler string
	flags      []string
	from, to   TimeFlag
	duration   time.Duration
	batch      time.Duration
	playback   string
	scheduler  string
	prices     priceFlags
	faults     bool
	delay      time.Duration
	delays     map[string]string
	bounds     map[string]string
	dir        string
	logs       string
	truth      string
	agree      []string
	fault      []string
	faultFile  string
	gpuLabel   string
	deletion   time.Duration
	seed       int64
	seeds      int     // --seeds
	least      float64 // --min-agreement
	ties       string
	signs      bool
	skip       bool
	// noScaleDown is --no-scale-down.
	noScaleDown bool
	eventDir    string // --event-reports
	full        bool
	optimal     bool
	plane       string
}

func newReplayCommand(s IO) *cobra.Command {
	f := &replayFlags{}
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

` + harness.FaultHelp + `

` + cloudprovider.PriceTableHelp,
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

  # Decide each recorded scale-up anew from the moment before it
  scalehist replay prod.db --playback per-event -o json

  # Ask the recommender about each cluster that the cluster autoscaler decided about
  scalehist replay prod.db --full-snapshots --report-dir gen/prod
  scalehist replay gen/prod --playback snapshots --autoscaler recommender:optimal`,
		Args:              exactArgs("FILE.db"),
		ValidArgsFunction: completeHistoryOrReport,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runReplay(cmd, s, f, args[0])
		},
	}
	addFormatFlag(cmd, &f.format)
	flags := cmd.Flags()
	flags.StringVar(&f.autoscaler, "autoscaler", engines.Names()[0], "the engine: "+strings.Join(engines.Names(), ", ")+", or the URL of a recommender")
	flags.StringArrayVar(&f.flags, "autoscaler-flag", nil, "override a recorded autoscaler flag (repeatable): --expander=most-pods")
	flags.Var(&f.from, "from", "start of the window; the default is the recording's")
	flags.Var(&f.to, "to", "end of the window; the default is the recording's")
	flags.DurationVar(&f.duration, "for", 0, "virtual time to play from the start; may go past the window's end (default: the window)")
	flags.DurationVar(&f.batch, "batch-interval", 0, "let recorded changes enter at these boundaries (default: each at its own instant)")
	flags.StringVar(&f.playback, "playback", string(scalehist.PlaybackContinuous), "continuous, per-event (each recorded scale-up anew), or snapshots (each decision of a report anew)")
	flags.StringVar(&f.scheduler, "scheduler", string(profile.ScoringDefault), "scoring of the scheduler: default, or bin-packing")
	f.prices.add(cmd)
	flags.BoolVar(&f.faults, "recorded-faults", true, "let recorded failures to deliver nodes, and recorded losses of nodes, happen again")
	flags.StringArrayVar(&f.fault, "fault", nil, "something that goes wrong (repeatable): stock-out:workers@+5m..+20m")
	flags.StringVar(&f.faultFile, "faults", "", "file (YAML) with a list of faults")
	flags.DurationVar(&f.delay, "provision-delay", cloudprovider.DefaultProvisionDelay, "time from a request to the Ready node, for groups whose delay was not recorded")
	flags.DurationVar(&f.deletion, "deletion-delay", 0, "time from the deletion of a node to the node being gone (default: the recorded one, else "+cloudprovider.DefaultDeletionDelay.String()+")")
	flags.StringToStringVar(&f.delays, "provision-delay-of", nil, "provision delay of single groups: workers=90s")
	flags.StringToStringVar(&f.bounds, "bounds", nil, "override the min and max size of single node groups: workers=1:20")
	flags.StringVar(&f.gpuLabel, "gpu-label", "", "node label that marks nodes with GPUs and names their type, for --gpu-total (default: that of the provider the recording shows)")
	addNoScaleDownFlag(cmd, &f.noScaleDown)
	flags.Int64Var(&f.seed, "seed", harness.DefaultSeed, "what the real autoscaler leaves to chance, such as the order it lists pods in: each seed is one of its possible runs")
	flags.StringVar(&f.ties, "ties", string(harness.TiesUpstream), "how ties between equals are broken: upstream, as the real components do; hash (of names); creation, with which a redacted history replays to the same report")
	flags.BoolVar(&f.signs, "signs", false, "let the autoscaler write its status ConfigMap and its events into the virtual cluster, for tools that watch it")
	flags.BoolVar(&f.skip, "skip-unsupported", false, "replay although pods use dynamic resource allocation or pod groups, which no control plane here has: those on a node stay there without, the others are left out")
	flags.BoolVar(&f.full, "full-snapshots", false, "keep whole objects in the report, of its start, its end and each decision about waiting pods, for --playback snapshots and 'scalehist recommend --report'")
	addOptimalFlag(cmd, &f.optimal)
	alsoCalled(cmd, map[string]string{"node-group": "bounds"})
	addControlPlaneFlag(cmd, &f.plane)
	flags.StringVar(&f.dir, "report-dir", "", "write report.json, report.txt, timeline.txt and report.html there, and with -v the logs")
	addEventReportsFlag(cmd, &f.eventDir)
	flags.StringVar(&f.truth, "truth", "", "judge the replay by this file of what a real autoscaler was seen to do (truth.json of a fixture)")
	addSeedsFlags(cmd, f)
	flags.StringSliceVar(&f.agree, "agree", nil, "further questions in which the replay must agree with the recording: peak-size, steps, waits")
	flags.StringVar(&f.logs, "log-dir", "", "keep the logs of the virtual cluster there")
	for name, extensions := range map[string][]string{"truth": {"json"}, "faults": {"yaml", "yml", "json"}} {
		if err := cmd.MarkFlagFilename(name, extensions...); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
	for name, complete := range map[string]cobra.CompletionFunc{"fault": completeFault, "agree": completeQuestions} {
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	for name, values := range map[string][]string{
		"playback":   {string(scalehist.PlaybackContinuous), string(scalehist.PlaybackPerEvent), string(scalehist.PlaybackSnapshots)},
		"scheduler":  {string(profile.ScoringDefault), string(profile.ScoringBinPacking)},
		"autoscaler": engines.Names(),
		"ties":       {string(harness.TiesUpstream), string(harness.TiesByHash), string(harness.TiesByCreation)},
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	return cmd
}

func runReplay(cmd *cobra.Command, s IO, f *replayFlags, path string) error {
	ctx := cmd.Context()
	if verbose, err := cmd.Flags().GetCount("verbose"); err == nil && verbose > 0 && f.dir != "" && f.logs == "" && f.plane == harness.EnvTest {
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
	progress := newReplayView(s)
	opts = append(opts, harness.WithProgress(progress.step))
	r, err := f.play(ctx, path, seen, opts)
	progress.done()
	if err != nil {
		return err
	}
	if f.optimal {
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
	if f.format == FormatJSON {
		if err := reports.JSON(s.json(), r); err != nil {
			return err
		}
	} else if err := s.Page(reports.Text(r)); err != nil {
		return err
	}
	f.hintTruth(cmd, s, path)
	switch {
	case r.Truth != nil:
		if !r.Truth.Agreed {
			return Differed()
		}
	case r.Agreement != nil && !r.Agreement.Agreed:
		return Differed()
	case r.Agreement == nil && len(asked) > 0:
		return fmt.Errorf("--agree %s: %s shows no autoscaler at work, so there is nothing to agree with: leave --agree out", strings.Join(f.agree, ","), path)
	}
	return nil
}

// readTruth reads the truth file, nil when none is asked for. It is of a whole recording, so flags that choose a part of
// it do not go with it.
func (f *replayFlags) readTruth(cmd *cobra.Command) (*truth.File, error) {
	if f.truth == "" {
		return nil, nil
	}
	if name := f.partOnly(cmd); name != "" {
		return nil, UsageErrorf(cmd, "--truth is of the whole recording: leave out --%s", name)
	}
	if scalehist.Playback(f.playback).SingleMoments() {
		return nil, UsageErrorf(cmd, "--truth: a %s playback has no outcome; replay continuously", f.playback)
	}
	file, err := truth.Read(f.truth)
	if err != nil {
		return nil, fmt.Errorf("--truth: %w", err)
	}
	return file, nil
}

func (f *replayFlags) play(ctx context.Context, path string, seen *truth.File, opts []harness.Option) (*scalehist.ReplayReport, error) {
	switch scalehist.Playback(f.playback) {
	case scalehist.PlaybackPerEvent:
		return harness.ReplayEvents(ctx, path, opts...)
	case scalehist.PlaybackSnapshots:
		return replaySnapshots(ctx, path, opts)
	}
	r, err := harness.NewReplayer(ctx, path, opts...)
	if err != nil {
		return nil, err
	}
	duration := f.duration
	if duration == 0 {
		duration = r.RecordDuration()
	}
	if seen != nil {
		duration = seen.Length(r.RecordStartTime(), duration)
	}
	out, err := r.Replay(ctx, duration)
	if cerr := r.Close(); err == nil {
		err = cerr
	}
	return out, err
}

// options turns flags into options; what is wrong with them is a usage error.
func (f *replayFlags) options(cmd *cobra.Command, s IO, path string) ([]harness.Option, error) {
	engine, err := engines.Named(f.autoscaler)
	if err != nil {
		return nil, UsageErrorf(cmd, "--autoscaler: %v", err)
	}
	if err := engines.CheckFlags(f.autoscaler, f.flags); err != nil {
		return nil, UsageErrorf(cmd, "--autoscaler-flag: %v", err)
	}
	if cmd.Flags().Changed("for") && f.duration == 0 {
		return nil, UsageErrorf(cmd, "--for 0s: nothing would be played")
	}
	switch scalehist.Playback(f.playback) {
	case scalehist.PlaybackContinuous:
	case scalehist.PlaybackPerEvent:
		if f.duration != 0 {
			return nil, UsageErrorf(cmd, "--for: a per-event playback ends each event when its nodes have joined; choose the events with --from and --to")
		}
	case scalehist.PlaybackSnapshots:
		if err := f.checkSnapshots(cmd, path); err != nil {
			return nil, err
		}
	default:
		return nil, UsageErrorf(cmd, "--playback %q: want continuous, per-event or snapshots", f.playback)
	}
	if scalehist.Playback(f.playback) != scalehist.PlaybackSnapshots && isReport(path) {
		return nil, UsageErrorf(cmd, "%s is a report, not a history: replay its decisions anew with --playback snapshots", path)
	}
	scoring := profile.Scoring(f.scheduler)
	if scoring != profile.ScoringDefault && scoring != profile.ScoringBinPacking {
		return nil, UsageErrorf(cmd, "--scheduler %q: want default or bin-packing", f.scheduler)
	}
	ties := harness.Ties(f.ties)
	if !slices.Contains(harness.TiesKinds, ties) {
		return nil, UsageErrorf(cmd, "--ties %q: want upstream, hash or creation", f.ties)
	}
	if f.duration < 0 || f.delay < 0 || f.batch < 0 || f.deletion < 0 {
		return nil, UsageErrorf(cmd, "--for, --provision-delay, --deletion-delay and --batch-interval must not be negative")
	}
	opts := []harness.Option{
		harness.WithAutoscaler(engine), harness.WithFlags(f.flags...), harness.WithScoring(scoring),
		harness.WithRecordedFaults(f.faults), harness.WithDefaultProvisionDelay(f.delay), harness.WithSeed(f.seed), harness.WithTies(ties),
	}
	plane, err := controlPlane(cmd, s, f.plane, f.logs)
	if err != nil {
		return nil, err
	}
	opts = append(opts, plane)
	if cmd.Flags().Changed("batch-interval") {
		opts = append(opts, harness.WithBatchInterval(f.batch))
	}
	if cmd.Flags().Changed("deletion-delay") {
		opts = append(opts, harness.WithDeletionDelay(f.deletion))
	}
	if f.gpuLabel != "" {
		opts = append(opts, harness.WithGPULabel(f.gpuLabel))
	}
	if f.signs {
		opts = append(opts, harness.WithSigns())
	}
	if f.eventDir != "" {
		keep, err := f.keepEvents(cmd)
		if err != nil {
			return nil, err
		}
		opts = append(opts, keep)
	}
	if f.noScaleDown {
		opts = append(opts, harness.WithoutScaleDown())
	}
	if f.skip {
		opts = append(opts, harness.WithoutUnsupported())
	}
	if f.full {
		opts = append(opts, harness.WithFullSnapshots())
	}
	if f.optimal {
		opts = append(opts, harness.WithMoments())
	}
	faults, err := f.faultList(cmd)
	if err != nil {
		return nil, err
	}
	opts = append(opts, harness.WithFault(faults...))
	window, err := f.window(cmd.Context(), path)
	if err != nil {
		return nil, err
	}
	opts = append(opts, harness.WithWindow(window))
	table, err := f.prices.table(cmd)
	if err != nil {
		return nil, err
	}
	if table != nil {
		opts = append(opts, harness.WithPrices(table))
	}
	return f.perGroup(cmd, opts)
}

func (f *replayFlags) perGroup(cmd *cobra.Command, opts []harness.Option) ([]harness.Option, error) {
	for _, group := range slices.Sorted(maps.Keys(f.delays)) {
		text := f.delays[group]
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			return nil, UsageErrorf(cmd, "--provision-delay-of %s=%s: want a duration such as 90s", group, text)
		}
		opts = append(opts, harness.WithProvisionDelay(group, d))
	}
	for _, group := range slices.Sorted(maps.Keys(f.bounds)) {
		text := f.bounds[group]
		low, high, ok := strings.Cut(text, ":")
		minSize, err1 := strconv.Atoi(low)
		maxSize, err2 := strconv.Atoi(high)
		switch {
		case !ok || err1 != nil || err2 != nil || minSize < 0:
			return nil, UsageErrorf(cmd, "--bounds %s=%s: want min:max, such as 1:20", group, text)
		case maxSize < minSize:
			return nil, UsageErrorf(cmd, "--bounds %s=%s: min %d is above max %d: did you mean %s=%d:%d?", group, text, minSize, maxSize, group, maxSize, minSize)
		}
		opts = append(opts, harness.WithNodeGroupBounds(group, minSize, maxSize))
	}
	return opts, nil
}

// window resolves --from and --to against the recording's own span.
func (f *replayFlags) window(ctx context.Context, path string) (w harness.Window, err error) {
	if !f.from.IsSet() && !f.to.IsSet() {
		return w, nil
	}
	db, err := history.Open(ctx, path)
	if err != nil {
		return w, err
	}
	defer func() {
		if cerr := db.Close(); err == nil {
			err = cerr
		}
	}()
	start, end := db.Span()
	if w.From, err = f.from.Resolve(start, end, start); err != nil {
		return w, fmt.Errorf("--from: %w", err)
	}
	if w.To, err = f.to.Resolve(start, end, end); err != nil {
		return w, fmt.Errorf("--to: %w", err)
	}
	return w, nil
}
