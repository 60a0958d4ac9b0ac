package replays

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl/kubelet"
	"github.com/scalehist/scalehist/harness/kvcl/profile"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// SettingsFlags are the settings of a replay as flags, of every command that replays.
type SettingsFlags struct {
	harness.Settings
	// What flags have in words of their own, and which of them a command has not.
	fault                            []string
	bounds, delays                   map[string]string
	delay, deletion, termination     time.Duration
	ties, scheduler                  string
	recordedFaults                   bool
	prices                           PriceFlags
	noPlayback, noEngine, NoSnapshot bool
}

// Add adds the flags: all but those that f is without.
func (f *SettingsFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.Autoscaler, f.Playback = engines.Names()[0], string(scalehist.PlaybackContinuous)
	if !f.noEngine {
		flags.StringVar(&f.Autoscaler, "autoscaler", f.Autoscaler, "the engine: "+strings.Join(engines.Names(), ", ")+", the URL of a recommender, or exec:PATH, a cluster-autoscaler binary, in real time")
	}
	if !f.noPlayback {
		kinds := "continuous, or per-event (each recorded scale-up again)"
		if !f.NoSnapshot {
			kinds = "continuous, per-event (each recorded scale-up again), or snapshots (each decision of a report again)"
		}
		flags.StringVar(&f.Playback, "playback", f.Playback, kinds)
	}
	if !f.NoSnapshot {
		flags.BoolVar(&f.FullSnapshots, "full-snapshots", false, "keep whole objects in the report, of its start, its end and each decision about waiting pods, for --playback snapshots and 'scalehist recommend --report'")
	}
	flags.StringArrayVar(&f.Flags, "autoscaler-flag", nil, "override a recorded autoscaler flag (repeatable): --expander=most-pods")
	flags.Float64Var(&f.Speed, "speed", 0, "with exec:PATH: play so many times faster than real time, with the autoscaler's durations divided, which distorts (docs/out-of-tree.md)")
	flags.StringVar(&f.Vertical, "vertical", "", "what sets the requests of workloads, by VerticalPodAutoscalers: vpa, another recommender with options (max-usage:margin=0.3), or recorded (default: requests are as recorded)")
	flags.StringArrayVar(&f.VerticalFlags, "vertical-flag", nil, "flag of the vertical autoscaler (repeatable): --target-cpu-percentile=0.8")
	flags.StringVar(&f.Horizontal, "horizontal", "", "what sets the replicas of workloads: hpa (HorizontalPodAutoscalers), elasti (ElastiServices), keda (ScaledObjects), or recorded (default: pods come and go as recorded)")
	flags.StringVar(&f.Objects, "objects", "", "file (YAML) with the objects that configure controllers, in place of recorded ones of their kinds: HorizontalPodAutoscalers, VerticalPodAutoscalers, their checkpoints, LimitRanges, ElastiServices, ScaledObjects")
	flags.StringVar(&f.Load, "load", "", "file (YAML) with the work that workloads do over time, which controllers see as metrics")
	flags.Var(&f.Window.From, "from", "start of the window; the default is the recording's")
	flags.Var(&f.Window.To, "to", "end of the window; the default is the recording's")
	flags.DurationVar(&f.For, "for", 0, "virtual time to play from the start; may go past the window's end (default: the window)")
	flags.DurationVar(&f.BatchInterval, "batch-interval", 0, "let recorded changes enter at these boundaries (default: each at its own instant)")
	flags.StringVar(&f.scheduler, "scheduler", string(profile.ScoringDefault), "scoring of the scheduler: default, or bin-packing")
	f.prices.Add(cmd)
	flags.BoolVar(&f.recordedFaults, "recorded-faults", true, "let recorded failures to deliver nodes, and recorded losses of nodes, happen again")
	flags.StringArrayVar(&f.fault, "fault", nil, "something that goes wrong (repeatable): stock-out:workers@+5m..+20m")
	flags.StringVar(&f.FaultFile, "faults", "", "file (YAML) with a list of faults")
	flags.DurationVar(&f.delay, "provision-delay", cloudprovider.DefaultProvisionDelay, "time from a request to the Ready node, for groups whose delay was not recorded")
	flags.DurationVar(&f.deletion, "deletion-delay", 0, "time from the deletion of a node to the node being gone (default: the recorded one, else "+cloudprovider.DefaultDeletionDelay.String()+")")
	flags.DurationVar(&f.termination, "termination", 0, "how long pods go on running once they are evicted or deleted (default: as recorded, else their grace period, "+kubelet.DefaultTermination.String()+" at most)")
	flags.StringToStringVar(&f.delays, "provision-delay-of", nil, "provision delay of single groups: workers=90s")
	flags.StringToStringVar(&f.bounds, "bounds", nil, "override the min and max size of single node groups: workers=1:20")
	flags.StringVar(&f.GPULabel, "gpu-label", "", "node label that marks nodes with GPUs and names their type, for --gpu-total (default: that of the provider the recording shows)")
	addNoScaleDownFlag(cmd, &f.NoScaleDown)
	flags.Int64Var(&f.Seed, "seed", harness.DefaultSeed, "what the real autoscaler leaves to chance, such as the order it lists pods in: each seed is one of its possible runs")
	flags.StringVar(&f.ties, "ties", string(harness.TiesUpstream), "how ties between equals are broken: upstream, as the real components do; hash (of names); creation, with which a redacted history replays to the same report")
	flags.BoolVar(&f.Signs, "signs", false, "let the autoscaler write its status ConfigMap and its events into the virtual cluster, for tools that watch it")
	flags.BoolVar(&f.SkipUnsupported, "skip-unsupported", false, "replay although pods use dynamic resource allocation or pod groups, which no control plane here has: those on a node stay there without, the others are left out")
	addOptimalFlag(cmd, &f.Optimal)
	f.complete(cmd)
}

// complete registers what shells complete.
func (f *SettingsFlags) complete(cmd *cobra.Command) {
	fixed := func(values []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	ties := make([]string, 0, len(harness.TiesKinds))
	for _, t := range harness.TiesKinds {
		ties = append(ties, string(t))
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"fault": completeFault, "playback": fixed(f.playbacks()), "autoscaler": fixed(engines.Names()), "horizontal": fixed(engines.HorizontalNames()),
		"vertical":  fixed(engines.VerticalNames()),
		"scheduler": fixed([]string{string(profile.ScoringDefault), string(profile.ScoringBinPacking)}), "ties": fixed(ties),
	} {
		if cmd.Flags().Lookup(name) == nil {
			continue
		}
		if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only a second registration of the same flag fails
		}
	}
	for _, name := range []string{"faults", "objects", "load"} {
		if err := cmd.MarkFlagFilename(name, "yaml", "yml", "json"); err != nil {
			panic(fmt.Sprintf("completion of --%s: %v", name, err)) // only an unknown flag fails
		}
	}
}

// playbacks are those that the command has, the default first.
func (f *SettingsFlags) playbacks() []string {
	out := []string{string(scalehist.PlaybackContinuous), string(scalehist.PlaybackPerEvent)}
	if !f.NoSnapshot {
		out = append(out, string(scalehist.PlaybackSnapshots))
	}
	return out
}

// Resolve reads what the flags say; what is wrong with them is a usage error.
func (f *SettingsFlags) Resolve(cmd *cobra.Command) (harness.Settings, error) {
	out := f.Settings
	fail := func(format string, args ...any) (harness.Settings, error) {
		return out, console.UsageErrorf(cmd, format, args...)
	}
	given := cmd.Flags().Changed
	if playbacks := f.playbacks(); !slices.Contains(playbacks, out.Playback) {
		return fail("--playback %q: want %s", out.Playback, plural.Or(playbacks))
	}
	if out.Vertical != "" {
		if _, err := engines.Vertical(out.Vertical, out.VerticalFlags...); err != nil {
			return fail("--vertical: %v", err)
		}
	} else if len(out.VerticalFlags) > 0 {
		return fail("--vertical-flag: no vertical autoscaler is chosen (--vertical)")
	}
	if out.Horizontal != "" {
		if _, err := engines.Horizontal(out.Horizontal); err != nil {
			return fail("--horizontal: %v", err)
		}
	}
	if !slices.Contains([]string{string(profile.ScoringDefault), string(profile.ScoringBinPacking)}, f.scheduler) {
		return fail("--scheduler %q: want default or bin-packing", f.scheduler)
	}
	if !slices.Contains(harness.TiesKinds, harness.Ties(f.ties)) {
		return fail("--ties %q: want upstream, hash or creation", f.ties)
	}
	if out.For < 0 || f.delay < 0 || out.BatchInterval < 0 || f.deletion < 0 || f.termination < 0 {
		return fail("--for, --provision-delay, --deletion-delay, --termination and --batch-interval must not be negative")
	}
	if given("for") && out.For == 0 {
		return fail("--for 0s: nothing would be played")
	}
	if given("scheduler") {
		out.Scheduler = profile.Scoring(f.scheduler)
	}
	if given("ties") {
		out.Ties = harness.Ties(f.ties)
	}
	if given("recorded-faults") {
		out.RecordedFaults = &f.recordedFaults
	}
	for name, to := range map[string]struct {
		from *time.Duration
		to   **time.Duration
	}{"provision-delay": {&f.delay, &out.ProvisionDelay}, "deletion-delay": {&f.deletion, &out.DeletionDelay}, "termination": {&f.termination, &out.Termination}} {
		if given(name) {
			*to.to = to.from
		}
	}
	if out.Playback == string(scalehist.PlaybackContinuous) {
		out.Playback = ""
	}
	for _, text := range f.fault {
		one, err := trace.ParseFault(text)
		if err != nil {
			return fail("--fault: %v", err)
		}
		out.Faults = append(out.Faults, one)
	}
	if err := f.prices.into(cmd, &out); err != nil {
		return out, err
	}
	return out, f.perGroup(cmd, &out)
}

// perGroup reads the flags about single node groups.
func (f *SettingsFlags) perGroup(cmd *cobra.Command, out *harness.Settings) error {
	for _, group := range slices.Sorted(maps.Keys(f.delays)) {
		d, err := time.ParseDuration(f.delays[group])
		if err != nil || d < 0 {
			return console.UsageErrorf(cmd, "--provision-delay-of %s=%s: want a duration such as 90s", group, f.delays[group])
		}
		out.SetProvisionDelay(group, d)
	}
	for _, group := range slices.Sorted(maps.Keys(f.bounds)) {
		text := f.bounds[group]
		low, high, ok := strings.Cut(text, ":")
		minSize, err1 := strconv.Atoi(low)
		maxSize, err2 := strconv.Atoi(high)
		switch {
		case !ok || err1 != nil || err2 != nil || minSize < 0:
			return console.UsageErrorf(cmd, "--bounds %s=%s: want min:max, such as 1:20", group, text)
		case maxSize < minSize:
			return console.UsageErrorf(cmd, "--bounds %s=%s: min %d is above max %d: did you mean %s=%d:%d?", group, text, minSize, maxSize, group, maxSize, minSize)
		}
		out.SetBounds(group, minSize, maxSize)
	}
	return nil
}

// readFaults reads the file of faults that settings name into them.
func readFaults(s *harness.Settings) (err error) {
	if s.Faults, err = s.AllFaults(here); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}
	s.FaultFile = ""
	return nil
}

// here finds a file that a flag names.
func here(path string) string { return path }

// completeFault completes the kind of a fault; its target and times are the user's.
func completeFault(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	out := make([]string, 0, len(trace.FaultKinds))
	for _, k := range trace.FaultKinds {
		out = append(out, string(k))
	}
	return out, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// settingsFlagNames are the flags of settings.
func settingsFlagNames() []string {
	cmd := &cobra.Command{}
	(&SettingsFlags{noEngine: true, noPlayback: true, NoSnapshot: true}).Add(cmd)
	var out []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { out = append(out, f.Name) })
	return out
}
