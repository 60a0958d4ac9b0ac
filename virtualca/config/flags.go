package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist"
)

// flagSet binds every modelled upstream flag to s, with s's present values as defaults.
func flagSet(s *Settings) *pflag.FlagSet {
	f := pflag.NewFlagSet("cluster-autoscaler", pflag.ContinueOnError)
	f.DurationVar(&s.ScanInterval, "scan-interval", s.ScanInterval, "")
	f.Var(&list{to: &s.Expander, replace: true}, "expander", "")
	f.IntVar(&s.MaxNodesTotal, "max-nodes-total", s.MaxNodesTotal, "")
	f.Var(&rangeFlag{&s.CoresTotal}, "cores-total", "")
	f.Var(&rangeFlag{&s.MemoryTotal}, "memory-total", "")
	f.Var(&gpuFlag{s}, "gpu-total", "")
	f.IntVar(&s.MaxNodesPerScaleUp, "max-nodes-per-scaleup", s.MaxNodesPerScaleUp, "")
	f.BoolVar(&s.ParallelScaleUp, "parallel-scale-up", s.ParallelScaleUp, "")
	f.BoolVar(&s.EnforceMinSize, "enforce-node-group-min-size", s.EnforceMinSize, "")
	f.BoolVar(&s.ScaleUpFromZero, "scale-up-from-zero", s.ScaleUpFromZero, "")
	f.BoolVar(&s.BalanceSimilarNodeGroups, "balance-similar-node-groups", s.BalanceSimilarNodeGroups, "")
	f.Var(&list{to: &s.BalancingIgnoreLabels}, "balancing-ignore-label", "")
	f.Var(&list{to: &s.BalancingLabels}, "balancing-label", "")
	f.StringVar(&s.CloudProvider, "cloud-provider", s.CloudProvider, "")
	f.Float64Var(&s.MemoryDifferenceRatio, "memory-difference-ratio", s.MemoryDifferenceRatio, "")
	f.Float64Var(&s.FreeDifferenceRatio, "max-free-difference-ratio", s.FreeDifferenceRatio, "")
	f.Float64Var(&s.AllocDifferenceRatio, "max-allocatable-difference-ratio", s.AllocDifferenceRatio, "")
	f.IntVar(&s.ExpendablePriorityCutoff, "expendable-pods-priority-cutoff", s.ExpendablePriorityCutoff, "")
	f.DurationVar(&s.NewPodScaleUpDelay, "new-pod-scale-up-delay", s.NewPodScaleUpDelay, "")
	f.Var(&list{to: &s.AllowedSchedulers, replace: true}, "allowed-scheduler-names", "")
	f.Var(&list{to: &s.BypassedSchedulers, replace: true}, "bypassed-scheduler-names", "")
	f.BoolVar(&s.ForceDaemonSets, "force-ds", s.ForceDaemonSets, "")
	f.BoolVar(&s.ScaleFromUnschedulable, "scale-from-unschedulable", s.ScaleFromUnschedulable, "")
	f.DurationVar(&s.NodeInfoCacheExpiry, "node-info-cache-expire-time", s.NodeInfoCacheExpiry, "")
	f.Var(&list{to: &s.StartupTaints}, "startup-taint", "")
	f.Var(&list{to: &s.StartupTaints}, "ignore-taint", "")
	f.Var(&list{to: &s.StartupTaintPrefixes}, "startup-taint-prefix", "")
	f.Var(&list{to: &s.StatusTaints}, "status-taint", "")
	f.DurationVar(&s.MaxNodeProvisionTime, "max-node-provision-time", s.MaxNodeProvisionTime, "")
	f.DurationVar(&s.MaxNodeStartupTime, "max-node-startup-time", s.MaxNodeStartupTime, "")
	f.IntVar(&s.OkTotalUnreadyCount, "ok-total-unready-count", s.OkTotalUnreadyCount, "")
	f.Float64Var(&s.MaxTotalUnreadyPercent, "max-total-unready-percentage", s.MaxTotalUnreadyPercent, "")
	f.BoolVar(&s.ForceDeleteUnregistered, "force-delete-unregistered-nodes", s.ForceDeleteUnregistered, "")
	f.DurationVar(&s.InitialBackoff, "initial-node-group-backoff-duration", s.InitialBackoff, "")
	f.DurationVar(&s.MaxBackoff, "max-node-group-backoff-duration", s.MaxBackoff, "")
	f.DurationVar(&s.BackoffReset, "node-group-backoff-reset-timeout", s.BackoffReset, "")
	f.BoolVar(&s.RecordDuplicatedEvents, "record-duplicated-events", s.RecordDuplicatedEvents, "")
	f.StringVar(&s.Namespace, "namespace", s.Namespace, "")
	f.StringVar(&s.StatusConfigMap, "status-config-map-name", s.StatusConfigMap, "")
	f.BoolVar(&s.WriteStatus, "write-status-configmap", s.WriteStatus, "")
	downFlags(f, &s.Down)
	return f
}

// ParseSettings reads a recorded deployment's flags over upstream's defaults. Both `--flag=value` and `--flag value`
// are taken, one dash or two. A bad value of a modelled flag and an impossible expander chain are errors. Every flag
// that is unknown, gone since, or not modelled and not at its default gets one warning that names it; flags that cannot
// change a decision are taken silently (Flags has them all).
func ParseSettings(s scalehist.CASettings) (Settings, []string, error) {
	out := DefaultSettings()
	out.Priorities = s.Priorities
	f := flagSet(&out)
	var warnings []string
	warn := func(format string, args ...any) {
		if w := fmt.Sprintf(format, args...); !slices.Contains(warnings, w) {
			warnings = append(warnings, w)
		}
	}
	for i := 0; i < len(s.Flags); i++ {
		arg := s.Flags[i]
		if arg == "--" || arg == "" {
			continue
		}
		if !strings.HasPrefix(arg, "-") {
			if i > 0 || !strings.Contains(path.Base(arg), "cluster-autoscaler") {
				warn("argument %q is not a flag and has no effect", arg)
			}
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = strings.ReplaceAll(name, "_", "-")
		flag := f.Lookup(name)
		nextIsValue := i+1 < len(s.Flags) && !strings.HasPrefix(s.Flags[i+1], "-")
		if flag == nil {
			row, known := flagTable[name]
			// What follows a flag as an argument of its own is its value, but for a switch: upstream takes no other arguments.
			switch {
			case hasValue:
			case row.Type == "bool":
				value = "true"
				if nextIsValue {
					i++
				}
			case nextIsValue:
				i++
				value = s.Flags[i]
			}
			switch {
			case known && (row.Effect == WithoutInfluence || row.isDefault(value)), slices.Contains(questions, name):
			case known:
				warn("flag --%s is not modelled: the replay decides as if it were not set (%s)", name, row.About)
			case removedFlags[name] != "":
				warn("flag --%s is gone from cluster-autoscaler 1.36 and has no effect: %s", name, removedFlags[name])
			default:
				warn("flag --%s is unknown and has no effect", name)
			}
			continue
		}
		switch {
		case hasValue:
		case flag.NoOptDefVal != "":
			value = flag.NoOptDefVal
		case i+1 < len(s.Flags):
			// A negative number is a value, too.
			next := s.Flags[i+1]
			if _, err := strconv.ParseFloat(next, 64); strings.HasPrefix(next, "-") && err != nil {
				return Settings{}, warnings, fmt.Errorf("flag --%s: value is missing", name)
			}
			value = next
			i++
		default:
			return Settings{}, warnings, fmt.Errorf("flag --%s: value is missing", name)
		}
		if err := flag.Value.Set(value); err != nil {
			return Settings{}, warnings, fmt.Errorf("flag --%s=%s: %w", name, value, err)
		}
		if instead := deprecatedFlags[name]; instead != "" {
			warn("flag --%s is deprecated: %s", name, instead)
		}
	}
	if err := out.Check(); err != nil {
		return Settings{}, warnings, err
	}
	return out, append(warnings, out.expanderWarnings()...), nil
}

// expanderWarnings name expanders that do not do what their name says.
func (s Settings) expanderWarnings() []string {
	var out []string
	if slices.Contains(s.Expander, "priority") && s.Priorities == "" {
		out = append(out, "--expander=priority: there is no ConfigMap cluster-autoscaler-priority-expander with priorities: the expander leaves all options as they are")
	}
	if slices.Contains(s.Expander, ExpanderRandom) {
		out = append(out, "--expander=random: the choice is made with a fixed seed and is the same in every run")
	}
	return out
}

// ExpanderRandom is not a filter: it ends a chain by picking one of what is left.
const ExpanderRandom = "random"

// Expanders lists the expanders by name.
func Expanders() []string { return slices.Clone(expanderNames) }

var expanderNames = []string{"least-nodes", "least-waste", "most-pods", "price", "priority", ExpanderRandom}

// Check refuses settings upstream would not start with.
func (s Settings) Check() error {
	if s.ScanInterval <= 0 {
		return fmt.Errorf("scan interval %s must be positive", s.ScanInterval)
	}
	if len(s.Expander) == 0 {
		return fmt.Errorf("expander: the chain is empty")
	}
	seen := map[string]bool{}
	for i, e := range s.Expander {
		if !slices.Contains(expanderNames, e) {
			return fmt.Errorf("expander %q is not supported: want one of %s", e, strings.Join(expanderNames, ", "))
		}
		if seen[e] {
			return fmt.Errorf("expander %q is given twice", e)
		}
		seen[e] = true
		if e == ExpanderRandom && i < len(s.Expander)-1 {
			return fmt.Errorf("expander %q must be the last of the chain: it leaves nothing to %s", e, s.Expander[i+1])
		}
	}
	if r := s.CoresTotal; r.Min > r.Max {
		return fmt.Errorf("cores total: min %d is above max %d", r.Min, r.Max)
	}
	if r := s.MemoryTotal; r.Min > r.Max {
		return fmt.Errorf("memory total: min %d is above max %d", r.Min, r.Max)
	}
	return nil
}

// list is a flag of comma separated values; given again it appends, or replaces.
type list struct {
	to      *[]string
	replace bool
}

func (l *list) String() string { return "" }
func (l *list) Type() string   { return "strings" }
func (l *list) Set(v string) error {
	var values []string
	for _, p := range strings.Split(v, ",") {
		if p = strings.TrimSpace(p); p != "" {
			values = append(values, p)
		}
	}
	if l.replace {
		*l.to = values
		return nil
	}
	*l.to = append(*l.to, values...)
	return nil
}

// rangeFlag is "<min>:<max>".
type rangeFlag struct{ to *Range }

func (r *rangeFlag) String() string { return "" }
func (r *rangeFlag) Type() string   { return "min:max" }
func (r *rangeFlag) Set(v string) error {
	parsed, err := parseRange(strings.Split(v, ":"))
	if err != nil {
		return err
	}
	*r.to = parsed
	return nil
}

func parseRange(parts []string) (Range, error) {
	if len(parts) != 2 {
		return Range{}, fmt.Errorf("want <min>:<max>")
	}
	minimum, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return Range{}, fmt.Errorf("want <min>:<max>, two whole numbers: %q is none", parts[0])
	}
	maximum, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return Range{}, fmt.Errorf("want <min>:<max>, two whole numbers: %q is none", parts[1])
	}
	if minimum < 0 || maximum < minimum {
		return Range{}, fmt.Errorf("want 0 <= min <= max")
	}
	return Range{minimum, maximum}, nil
}

// gpuFlag is "<type>:<min>:<max>", given once per type.
type gpuFlag struct{ s *Settings }

func (g *gpuFlag) String() string { return "" }
func (g *gpuFlag) Type() string   { return "type:min:max" }
func (g *gpuFlag) Set(v string) error {
	parts := strings.Split(v, ":")
	if len(parts) != 3 || parts[0] == "" {
		return fmt.Errorf("want <gpu type>:<min>:<max>")
	}
	r, err := parseRange(parts[1:])
	if err != nil {
		return err
	}
	g.s.GPUTotal[parts[0]] = r
	return nil
}
