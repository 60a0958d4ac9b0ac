package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/near"
)

const (
	// variablePrefix begins the environment variables that set flags: SCALEHIST_SEED, SCALEHIST_REPLAY_SEED.
	variablePrefix = "SCALEHIST_"
	configFileFlag = "config-file"
)

// settings set the flags that a command line does not give: from environment variables, else from a configuration file. There is
// no file but the one that is named: a file that is only there must not change what a replay finds.
type settings struct {
	io   console.IO
	path string
	file *configFile
	// applied are the flags that were set, in name order, with where each value came from.
	applied []appliedSetting
}

type appliedSetting struct{ flag, source string }

func (s *settings) add(flags *pflag.FlagSet) {
	flags.StringVar(&s.path, configFileFlag, "", "YAML file with flags, for all commands or by command; docs/configuration.md")
}

// specific flags mean another thing with each command, or are not to be set for all: a value for all commands is refused.
var specific = []string{"output", "help", configFileFlag}

// candidate is a value that a flag could get, the first of a list the one that it gets.
type candidate struct {
	source string
	values []string
	list   bool
	// in says that the flag has the value already: its package reads the variable itself.
	in bool
}

// variable is the name of the environment variable of a flag: of one command, or of all with an empty command.
func variable(command, flag string) string {
	return variablePrefix + strings.ToUpper(strings.NewReplacer("-", "_", " ", "_").Replace(strings.TrimSpace(command+" "+flag)))
}

// commandName is the path of a command without the program: "recommender serve".
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	return name
}

// candidates are the values a flag of a command could get, those of the environment first, of one command before those of all.
func (s *settings) candidates(cmd *cobra.Command, flag *pflag.Flag) []candidate {
	if flag.Name == "help" {
		return nil
	}
	var out []candidate
	command := commandName(cmd)
	for _, name := range []string{command, ""} {
		if name == "" && slices.Contains(specific, flag.Name) && flag.Name != configFileFlag {
			continue
		}
		v := variable(name, flag.Name)
		if text := s.io.Env(v); text != "" {
			c := candidate{source: v, values: []string{text}, in: v == harness.ControlPlaneVariable}
			if _, isList := flag.Value.(pflag.SliceValue); isList || flag.Value.Type() == "stringToString" {
				c.values = strings.Split(strings.Trim(text, "\n"), "\n")
				c.list = len(c.values) > 1
			}
			out = append(out, c)
		}
	}
	if s.file == nil {
		return out
	}
	for _, section := range []map[string]fileValue{s.file.of[command], s.file.general} {
		if v, ok := section[flag.Name]; ok {
			out = append(out, candidate{source: fmt.Sprintf("%s:%d", s.file.path, v.line), values: v.values, list: v.list})
		}
	}
	return out
}

// load reads the configuration file, if one is named.
func (s *settings) load(cmd *cobra.Command) error {
	source := "--" + configFileFlag
	if s.path == "" {
		source = variable("", configFileFlag)
		s.path = s.io.Env(source)
	}
	if s.path == "" {
		return nil
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return fmt.Errorf("%s: %w: name a file that can be read, docs/configuration.md has one to begin with", source, err)
	}
	s.file, err = parseConfigFile(cmd.Root(), s.path, b)
	return err
}

// apply sets the flags of the command that is run.
func (s *settings) apply(cmd *cobra.Command) error {
	if err := s.load(cmd); err != nil {
		return err
	}
	if err := s.checkVariables(cmd); err != nil {
		return err
	}
	var errs []error
	for _, flag := range console.AllFlags(cmd) {
		if flag.Changed || flag.Name == configFileFlag {
			continue
		}
		list := s.candidates(cmd, flag)
		if len(list) == 0 || list[0].in {
			continue
		}
		if err := assign(cmd.Flags(), flag, list[0]); err != nil {
			errs = append(errs, err)
			continue
		}
		s.applied = append(s.applied, appliedSetting{flag.Name, list[0].source})
	}
	return errors.Join(errs...)
}

// assign gives a flag a value as the command line would.
func assign(flags *pflag.FlagSet, flag *pflag.Flag, c candidate) error {
	list, isList := flag.Value.(pflag.SliceValue)
	if c.list && !isList && flag.Value.Type() != "stringToString" {
		return fmt.Errorf("%s: --%s takes one value, not a list", c.source, flag.Name)
	}
	for _, v := range c.values {
		if err := flags.Set(flag.Name, v); err != nil {
			if want := console.Wanted(flag, v); want != "" {
				return fmt.Errorf("%s: --%s %s: %s", c.source, flag.Name, v, want)
			}
			_, reason, _ := strings.Cut(err.Error(), "flag: ")
			return fmt.Errorf("%s: --%s: %s", c.source, flag.Name, cmp.Or(reason, err.Error()))
		}
	}
	if c.list && isList {
		if err := list.Replace(c.values); err != nil {
			return fmt.Errorf("%s: --%s: %w", c.source, flag.Name, err)
		}
	}
	flag.Changed = true
	return nil
}

// checkVariables refuses variables that begin with the name of the command that is run and name none of its flags.
func (s *settings) checkVariables(cmd *cobra.Command) error {
	if s.io.Environ == nil {
		return nil
	}
	known := map[string]bool{}
	console.WalkCommands(cmd.Root(), func(c *cobra.Command) {
		for _, f := range console.AllFlags(c) {
			known[variable(commandName(c), f.Name)], known[variable("", f.Name)] = true, true
		}
	})
	prefix := variable(commandName(cmd), "") + "_"
	for _, entry := range s.io.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || known[name] {
			continue
		}
		var own []string
		for _, f := range console.AllFlags(cmd) {
			own = append(own, variable(commandName(cmd), f.Name))
		}
		return fmt.Errorf("environment variable %s: %s has no such flag%s", name, cmd.CommandPath(), near.Suggest(name, own))
	}
	return nil
}

// text lists what was set: "--seed (SCALEHIST_SEED), --prices (ci.yaml:3)".
func (s *settings) text() string {
	parts := make([]string, 0, len(s.applied))
	for _, a := range s.applied {
		parts = append(parts, fmt.Sprintf("--%s (%s)", a.flag, a.source))
	}
	return strings.Join(parts, ", ")
}

// explain adds to an error about flags which of them nobody typed.
func (s *settings) explain(err error) error {
	var usage *console.UsageError
	if len(s.applied) == 0 || err == nil || !errors.As(err, &usage) && !strings.Contains(err.Error(), "flags in the group [") {
		return err
	}
	return fmt.Errorf("%w; not from the command line: %s", err, s.text())
}
