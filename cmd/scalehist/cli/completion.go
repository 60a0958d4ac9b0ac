package cli

import (
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func newCompletionCommand(s console.IO) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the shell completion script",
		Long:  "Print the completion script of a shell. Load it in the shell's start-up file.",
		Example: `  # bash, in ~/.bashrc
  source <(scalehist completion bash)

  # zsh
  scalehist completion zsh > "${fpath[1]}/_scalehist"

  # fish
  scalehist completion fish > ~/.config/fish/completions/scalehist.fish`,
		ValidArgs:             shells,
		DisableFlagsInUseLine: true,
		Args:                  console.ExactArgs("SHELL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(s.Raw(), true)
			case "zsh":
				return root.GenZshCompletion(s.Raw())
			case "fish":
				return root.GenFishCompletion(s.Raw(), true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(s.Raw())
			}
			return console.UsageErrorf(cmd, "completion: unknown shell %q: choose one of %v", args[0], shells)
		},
	}
}
