package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/internal/near"
)

// CheckOverrides checks flags that a user gives on the command line in place of recorded ones. ParseSettings is lenient,
// because a recorded deployment did start with its flags; what a user types is held to more: an unknown flag, a stray
// word, a value of the wrong type, and a flag that has another way in are errors that say what to write instead.
func CheckOverrides(flags []string) error {
	scratch := DefaultSettings()
	f := flagSet(&scratch)
	known := knownFlags(f)
	for i := 0; i < len(flags); i++ {
		arg := flags[i]
		name, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = strings.ReplaceAll(name, "_", "-")
		if !strings.HasPrefix(arg, "-") || name == "" {
			if _, ok := known[name]; ok {
				return fmt.Errorf("autoscaler flag %q: a flag starts with dashes: write --%s", arg, arg)
			}
			return fmt.Errorf("autoscaler flag %q: this is not a flag: write --name=value", arg)
		}
		if instead := removedFlags[name]; instead != "" {
			return fmt.Errorf("autoscaler flag --%s: cluster-autoscaler 1.36 has no such flag any more: %s", name, instead)
		}
		typ, ok := known[name]
		if !ok {
			return unknownFlag(name, known)
		}
		if name == "nodes" {
			return errors.New("autoscaler flag --nodes: it has no effect on a replay; to change the bounds of a node group, give --bounds NAME=MIN:MAX")
		}
		switch {
		case hasValue:
		case typ == "bool":
			value = "true"
		case i+1 < len(flags) && !isFlag(flags[i+1]):
			i++
			value = flags[i]
		default:
			return fmt.Errorf("autoscaler flag --%s: the value is missing: write --%s=%s", name, name, placeholder(typ))
		}
		if err := checkValue(typ, value); err != nil {
			return fmt.Errorf("autoscaler flag --%s=%s: %w", name, value, err)
		}
		if flag := f.Lookup(name); flag != nil {
			if err := flag.Value.Set(value); err != nil {
				return fmt.Errorf("autoscaler flag --%s=%s: %w", name, value, err)
			}
		}
		if name == "max-nodes-total" && scratch.MaxNodesTotal < 0 {
			return fmt.Errorf("autoscaler flag --%s=%s: want 0, for no limit, or more", name, value)
		}
	}
	if err := scratch.Check(); err != nil {
		return fmt.Errorf("autoscaler flags: %w", err)
	}
	return nil
}

// isFlag says whether an argument that follows a flag is another one; a negative number is a value.
func isFlag(arg string) bool {
	if !strings.HasPrefix(arg, "-") {
		return false
	}
	_, err := strconv.ParseFloat(arg, 64)
	return err != nil
}

// knownFlags are all flags of upstream with their types in pflag's words; "" where any text will do.
func knownFlags(f *pflag.FlagSet) map[string]string {
	known := map[string]string{}
	for _, row := range Flags() {
		known[row.Name] = row.checkedType()
	}
	for _, name := range questions {
		known[name] = "bool"
	}
	f.VisitAll(func(flag *pflag.Flag) { known[flag.Name] = flag.Value.Type() })
	return known
}

// checkValue checks a value of a simple type; other types check themselves.
func checkValue(typ, value string) error {
	var err error
	switch typ {
	case "bool":
		if _, err = strconv.ParseBool(value); err != nil {
			return errors.New("want true or false")
		}
	case "int":
		if _, err = strconv.Atoi(value); err != nil {
			return errors.New("want a whole number")
		}
	case "float64":
		if _, err = strconv.ParseFloat(value, 64); err != nil {
			return errors.New("want a number")
		}
	case "duration":
		if _, err = time.ParseDuration(value); err != nil {
			return errors.New("want a duration with its unit, such as 30s, 10m or 1h30m")
		}
	}
	return nil
}

func placeholder(typ string) string {
	switch typ {
	case "duration":
		return "10m"
	case "int":
		return "NUMBER"
	case "float64":
		return "0.5"
	}
	return "VALUE"
}

func unknownFlag(name string, known map[string]string) error {
	best, least := "", max(2, len(name)/3)+1
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if d := near.Distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return fmt.Errorf("autoscaler flag --%s: the cluster-autoscaler has no such flag", name)
	}
	return fmt.Errorf("autoscaler flag --%s: the cluster-autoscaler has no such flag: did you mean --%s?", name, best)
}
