package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func newConfigCommand(s console.IO) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "What the environment and a configuration file set",
		Long: `Every flag can be set by the command line, else by an environment variable, else by a configuration file:
  --seed 3                  the command line
  SCALEHIST_REPLAY_SEED=3   one command; a variable of one command comes before one of all
  SCALEHIST_SEED=3          every command that has the flag
  replay: {seed: 3}         one command, in the file of --config-file or SCALEHIST_CONFIG_FILE
  seed: 3                   every command that has the flag, in that file
No file is read that is not named. docs/configuration.md tells more.`,
		Example: `  # What would 'replay' do?
  scalehist config show replay`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigShowCommand(s))
	return cmd
}

// shownSetting is a line of config show -o json.
type shownSetting struct {
	Command string `json:"command"`
	Flag    string `json:"flag"`
	Value   string `json:"value"`
	Default string `json:"default"`
	// Source is a variable, FILE:LINE, or "default".
	Source string `json:"source"`
}

func newConfigShowCommand(s console.IO) *cobra.Command {
	var (
		format console.Format
		all    bool
	)
	cmd := &cobra.Command{
		Use:   "show [COMMAND...]",
		Short: "Print which flags are set by the environment and the configuration file, and by which of them",
		Long: `Print the flags that the environment and the configuration file set, for all commands or for one, with their values and
where each comes from; with --all the others with their defaults too. A value that a flag does not take is an error.`,
		Example: `  # What is set, and where?
  scalehist config show

  # All flags of one command, with a file
  scalehist config show replay --all --config-file ci.yaml`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			found, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range found.Commands() {
				names = append(names, sub.Name())
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			top, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return console.UsageErrorf(cmd, "config show: there is no command %q", strings.Join(args, " "))
			}
			list, err := effective(s, cmd, top, all)
			if err != nil {
				return err
			}
			if format == console.FormatJSON {
				return s.PrintJSON(list)
			}
			table := console.Table{Columns: []console.Column{{Name: "command"}, {Name: "flag"}, {Name: "value"}, {Name: "from"}, {Name: "default", Wide: true}}}
			for _, l := range list {
				table.Rows = append(table.Rows, []string{l.Command, "--" + l.Flag, l.Value, l.Source, l.Default})
			}
			s.PrintTable(table, format)
			return nil
		},
	}
	console.AddFormatFlag(cmd, &format)
	cmd.Flags().BoolVar(&all, "all", false, "flags that have their defaults too")
	return cmd
}

// effective is what each flag of the commands from top on would be. It sets them, so the commands are not to be run.
func effective(s console.IO, cmd, top *cobra.Command, all bool) ([]shownSetting, error) {
	set := &settings{io: s, path: cmd.Flag(configFileFlag).Value.String()}
	if err := set.load(cmd); err != nil {
		return nil, err
	}
	out := []shownSetting{}
	var errs []error
	console.WalkCommands(top, func(c *cobra.Command) {
		if !c.Runnable() || c == cmd {
			return
		}
		errs = append(errs, set.checkVariables(c))
		for _, flag := range console.AllFlags(c) {
			if flag.Name == "help" || flag.Name == configFileFlag {
				continue
			}
			shown := shownSetting{Command: commandName(c), Flag: flag.Name, Value: flag.Value.String(), Default: flag.DefValue, Source: "default"}
			if list := set.candidates(c, flag); len(list) > 0 {
				shown.Source = list[0].source
				if !list[0].in {
					errs = append(errs, assign(flagSet(c, flag), flag, list[0]))
				}
				shown.Value = flag.Value.String()
			} else if !all {
				continue
			}
			out = append(out, shown)
		}
	})
	return out, errors.Join(errs...)
}

// flagSet is the one of a command's that holds the flag.
func flagSet(c *cobra.Command, flag *pflag.Flag) *pflag.FlagSet {
	if own := c.Flags(); own.Lookup(flag.Name) == flag {
		return own
	}
	return c.InheritedFlags()
}
