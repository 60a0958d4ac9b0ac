package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// commandLine is a fresh command line, as the process has it.
func commandLine() *cobra.Command {
	return newRootCommand(console.IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, &console.LogFlags{}, &console.ProfileFlags{})
}

// TestHelp: every command says what it does and shows an example; every flag says what it is.
func TestHelp(t *testing.T) {
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("%s: Short, Long and Example are needed", c.CommandPath())
		}
		if strings.HasSuffix(c.Short, ".") || strings.Contains(c.Short, "\n") {
			t.Errorf("%s: Short %q is a line without a full stop", c.CommandPath(), c.Short)
		}
		for _, f := range console.AllFlags(c) {
			switch {
			case f.Usage == "":
				t.Errorf("%s --%s: there is no usage", c.CommandPath(), f.Name)
			case strings.HasSuffix(f.Usage, "."):
				t.Errorf("%s --%s: usage %q ends with a full stop", c.CommandPath(), f.Name, f.Usage)
			case f.Name != strings.ToLower(f.Name) || strings.Contains(f.Name, "_"):
				t.Errorf("%s --%s: flags are words-with-hyphens", c.CommandPath(), f.Name)
			}
		}
	})
}

// TestExamplesParse: every line of an example that runs scalehist is a command with flags and arguments it takes.
func TestExamplesParse(t *testing.T) {
	n := 0
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		lines := exampleCommands(c.Example)
		if own := strings.Fields(c.CommandPath()); c.HasParent() && !strings.Contains(c.Example, strings.Join(own, " ")) {
			t.Errorf("%s: no example runs it", c.CommandPath())
		}
		for _, args := range lines {
			n++
			checkExample(t, c, args)
		}
	})
	if n < 50 {
		t.Errorf("%d lines of examples were found: is the search for them right?", n)
	}
}

func checkExample(t *testing.T, of *cobra.Command, args []string) {
	t.Helper()
	line := "scalehist " + strings.Join(args, " ")
	cmd, rest, err := commandLine().Find(args)
	if err != nil {
		t.Errorf("%s: %s: %v", of.CommandPath(), line, err)
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: %s: %v", of.CommandPath(), line, err)
		return
	}
	if help, err := cmd.Flags().GetBool("help"); err == nil && help {
		return
	}
	for _, err := range []error{cmd.ValidateArgs(cmd.Flags().Args()), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()} {
		if err != nil {
			t.Errorf("%s: %s: %v", of.CommandPath(), line, err)
		}
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			t.Errorf("%s: %s: --%s is not to be used any more", of.CommandPath(), line, f.Name)
		}
	})
}

// exampleCommands are the arguments of every scalehist in lines of shell: quotes are taken off, pipes, redirections and
// substitutions end a command.
func exampleCommands(text string) [][]string {
	var out [][]string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line, _, _ = strings.Cut(line, " #")
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		var words []string
		end := func() {
			if len(words) > 0 && words[0] == "scalehist" {
				out = append(out, words[1:])
			}
			words = nil
		}
		word, quote, in := "", rune(0), false
		flush := func() {
			if in {
				words = append(words, word)
			}
			word, in = "", false
		}
		for _, r := range line {
			switch {
			case quote != 0 && r == quote:
				quote = 0
			case quote != 0:
				word += string(r)
			case r == '\'' || r == '"':
				quote, in = r, true
			case r == ' ' || r == '\t':
				flush()
			case strings.ContainsRune("|;&<>()`", r):
				flush()
				end()
			default:
				word, in = word+string(r), true
			}
		}
		flush()
		end()
	}
	return out
}

// otherMeaning lists flags that mean another thing with some command, and why they may.
var otherMeaning = map[string]string{
	"output":   "the file or directory to write where the result is one, else how the result is printed",
	"help":     "cobra's",
	"vertical": "the one of a replay, or those that a backtest compares",
}

// TestOneNameOneMeaning: flags of one name have one type, one shorthand, and the same shorthand is one flag.
func TestOneNameOneMeaning(t *testing.T) {
	types, shorthands, owner := map[string]string{}, map[string]string{}, map[string]string{}
	names := map[string]string{}
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		for _, f := range console.AllFlags(c) {
			if f.Hidden || f.Deprecated != "" {
				continue
			}
			if first, known := types[f.Name]; !known {
				types[f.Name], shorthands[f.Name], owner[f.Name] = f.Value.Type(), f.Shorthand, c.CommandPath()
			} else if otherMeaning[f.Name] == "" && (first != f.Value.Type() || shorthands[f.Name] != f.Shorthand) {
				t.Errorf("--%s is -%s %s with %s, and -%s %s with %s", f.Name, f.Shorthand, f.Value.Type(), c.CommandPath(),
					shorthands[f.Name], first, owner[f.Name])
			}
			if f.Shorthand == "" {
				continue
			}
			if name, known := names[f.Shorthand]; known && name != f.Name {
				t.Errorf("%s: -%s is --%s here and --%s elsewhere", c.CommandPath(), f.Shorthand, f.Name, name)
			}
			names[f.Shorthand] = f.Name
		}
	})
}

// TestOutputIsFormatOrFile: -o is one of the two things it can be.
func TestOutputIsFormatOrFile(t *testing.T) {
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		f := c.Flags().Lookup("output")
		if f == nil {
			return
		}
		format := strings.HasPrefix(f.Usage, "how to print ")
		file := strings.Contains(f.Usage, "to make") || strings.Contains(f.Usage, "to write") || strings.Contains(f.Usage, "write to")
		if format == file || f.Shorthand != "o" {
			t.Errorf("%s: -%s, --output %q: want \"how to print ...\", or the file to write", c.CommandPath(), f.Shorthand, f.Usage)
		}
	})
}

// TestEveryFlagCompletes: no flag offers the files of the working directory because nobody thought of it.
func TestEveryFlagCompletes(t *testing.T) {
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		for _, f := range console.AllFlags(c) {
			if f.Name != "help" && !completed(c, f) {
				t.Errorf("%s --%s has no completion", c.CommandPath(), f.Name)
			}
			if strings.Contains(f.Value.Type(), "|") && f.Value.Type() != new(console.TimeFlag).Type() {
				complete, _ := c.GetFlagCompletionFunc(f.Name)
				if words, _ := complete(c, nil, ""); len(words) < 2 {
					t.Errorf("%s --%s completes %v, want %s", c.CommandPath(), f.Name, words, f.Value.Type())
				}
			}
		}
		if c.Runnable() && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && strings.HasPrefix(c.Use, c.Name()+" FILE.db") {
			t.Errorf("%s does not complete its histories", c.CommandPath())
		}
	})
}
