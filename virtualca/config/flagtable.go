package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FlagEffect says what a flag of the cluster-autoscaler does to a replay.
type FlagEffect string

// The effects.
const (
	// Modelled: the virtual autoscaler decides by it as the real one does.
	Modelled FlagEffect = "modelled"
	// WithoutInfluence: it cannot change what is decided, and is taken silently.
	WithoutInfluence FlagEffect = "without influence"
	// NotModelled: it changes decisions, and the virtual autoscaler decides as if it had its default. Any other value is
	// warned about.
	NotModelled FlagEffect = "not modelled"
)

// Flag is one flag that cluster-autoscaler 1.36.1 prints with --help.
type Flag struct {
	Name string
	// Type and Default are as --help has them; a switch without a default is "bool" and "false".
	Type, Default string
	Effect        FlagEffect
	// About says what the flag does, or why it has no influence.
	About string
}

// flagTable is every flag by name, flagNames the names in order.
var flagTable, flagNames = tableOf(scaleUpFlags, scaleDownFlags, notModelledFlags, withoutInfluenceFlags, flagsOfGinkgo())

func tableOf(parts ...[]Flag) (map[string]Flag, []string) {
	table := map[string]Flag{}
	var names []string
	for _, part := range parts {
		for _, f := range part {
			table[f.Name] = f
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return table, names
}

// Flags lists every flag of cluster-autoscaler 1.36.1, by name: what a replay makes of it.
func Flags() []Flag {
	out := make([]Flag, 0, len(flagNames))
	for _, n := range flagNames {
		out = append(out, flagTable[n])
	}
	return out
}

// removedFlags are flags of earlier versions that 1.36.1 does not know any more, with what took their place.
var removedFlags = map[string]string{
	"max-empty-bulk-delete":                     "--max-scale-down-parallelism bounds removals now",
	"parallel-drain":                            "drains go side by side by --max-drain-parallelism",
	"ignore-scheduler-processing":               "--bypassed-scheduler-names says whose pods count at once",
	"node-deletion-in-batch-enabled":            "--node-deletion-batcher-interval says how long deletions are collected",
	"filter-out-schedulable-pods-uses-packing":  "it always packs now",
	"gce-expander-ephemeral-storage-support":    "ephemeral storage always counts now",
	"node-autoprovisioning-enabled":             "nothing did: groups are made by the provider",
	"max-autoprovisioned-node-group-count":      "nothing did: groups are made by the provider",
	"kube-client-qps-for-provisioning-requests": "nothing did",
	"verify-unschedulable-pods":                 "nothing did",
}

// deprecatedFlags still work, with what is to be said instead. --scale-down-enabled is not among them: it is how a replay
// leaves nodes alone.
var deprecatedFlags = map[string]string{
	"ignore-taint": "--startup-taint says the same",
}

// questions are flags after which the program prints something and ends; no recorded autoscaler ran with them.
var questions = []string{"help", "version"}

// isDefault says whether a value is the flag's default, in whatever spelling its type allows.
func (f Flag) isDefault(value string) bool {
	same := func(parse func(string) (any, error)) bool {
		a, errA := parse(value)
		b, errB := parse(f.Default)
		return errA == nil && errB == nil && a == b
	}
	switch f.Type {
	case "bool":
		return same(func(s string) (any, error) { return strconv.ParseBool(s) })
	case "int", "uint", "Level":
		return same(func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) })
	case "float":
		return same(func(s string) (any, error) { return strconv.ParseFloat(s, 64) })
	case "duration":
		return same(func(s string) (any, error) { return time.ParseDuration(s) })
	}
	return strings.TrimSpace(value) == cmp.Or(strings.Trim(f.Default, "[]"), "")
}

// checkedType is the type by which a value typed by a user is checked, in pflag's words; "" where any text will do, and where
// the flag checks itself.
func (f Flag) checkedType() string {
	switch f.Type {
	case "bool", "int", "duration":
		return f.Type
	case "uint", "Level":
		return "int"
	case "float":
		return "float64"
	}
	return ""
}
