package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sort"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// IO is where a command reads and writes. Tests pass buffers.
type IO struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// Getenv reads NO_COLOR, KUBECONFIG and the like.
	Getenv func(string) string
	// Environ lists the environment as "NAME=value"; nil: none.
	Environ func() []string
}

// Stdio is the process's own.
func Stdio() IO {
	return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ}
}

// terminal is the writer behind those that this package puts around one.
func terminal(w io.Writer) io.Writer {
	for {
		around, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = around.Unwrap()
	}
}

// isTerminal says whether w is a terminal that a person looks at.
func isTerminal(w io.Writer) bool {
	f, ok := terminal(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many columns the result may have: what COLUMNS says, else those of the terminal; 0 is no limit.
func (s IO) width() int {
	if n, err := strconv.Atoi(s.env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := terminal(s.Out).(*os.File); ok && isTerminal(f) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// env reads an environment variable, empty where there is no environment.
func (s IO) env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// color says whether w may get escape sequences (https://no-color.org).
func (s IO) color(w io.Writer) bool {
	return isTerminal(w) && s.env("NO_COLOR") == "" && s.env("TERM") != "dumb"
}

// Main runs scalehist as a process and returns its exit code. The command has a context that the first Ctrl-C (or SIGTERM)
// cancels, so that it can stop cleanly; the second one exits at once. What a replay leaves behind then is reaped by the next one.
func Main() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(ExitInterrupted)
	}()
	return Execute(ctx, os.Args[1:], Stdio())
}

// constructors holds what the files of this package registered.
var constructors []func(IO) *cobra.Command

// register adds a command to the root. Call it from init in the command's own file.
func register(constructor func(IO) *cobra.Command) { constructors = append(constructors, constructor) }

// Execute runs scalehist with args and returns its exit code. It prints an error once, to s.Err.
func Execute(ctx context.Context, args []string, s IO) int {
	var (
		logs     logFlags
		profiles profileFlags
	)
	out := &keptWriter{w: s.Out}
	// Whatever a command prints passes the writers of plaintext, below which is only what draws on the terminal.
	printed := plaintext.New(out, s.color(s.Out))
	if isTerminal(s.Err) && s.env("TERM") != "dumb" {
		s.Err = newScreen(s.Err)
	}
	messages := plaintext.New(s.Err, s.color(s.Err))
	s.Out, s.Err = printed, messages
	set := &settings{io: s}
	root := newRoot(s, &logs, &profiles, set)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	_ = printed.Flush() // the kept writer has its error
	err = set.explain(usageOf(cmd, out.check(err)))
	code := report(ctx, s.Err, errors.Join(err, profiles.stop(), logs.close()))
	_ = messages.Flush() // where standard error cannot be written to, there is nowhere to report it
	return code
}

// newRootCommand is the command line with no settings from elsewhere.
func newRootCommand(s IO, logs *logFlags, profiles *profileFlags) *cobra.Command {
	return newRoot(s, logs, profiles, &settings{io: s})
}

func newRoot(s IO, logs *logFlags, profiles *profileFlags, set *settings) *cobra.Command {
	root := &cobra.Command{
		Use:   "scalehist",
		Short: "Record a cluster's scaling history, replay it through any autoscaler",
		Long: `scalehist records what scaled in a Kubernetes cluster, and why, into one SQLite file. It replays such a
history on a virtual cluster, in virtual time, through any autoscaler, and says how its decisions differ from what happened.

Exit codes: 0 done (and agreed, where something is compared), 1 differed, 2 error, 130 interrupted.`,
		Example: `  # Record the current cluster until Ctrl-C
  scalehist record -o prod.db

  # What is in the file?
  scalehist inspect prod.db

  # What would the cluster autoscaler do with it?
  scalehist replay prod.db`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		Version:                    currentVersion().Scalehist,
	}
	root.SetVersionTemplate("scalehist {{.Version}}\n")
	root.DisableAutoGenTag = true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetFlagErrorFunc(flagError)
	logs.add(root.PersistentFlags())
	profiles.add(root.PersistentFlags())
	set.add(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := set.apply(cmd); err != nil {
			return err
		}
		if err := resolveFixtures(cmd, args); err != nil {
			return err
		}
		logs.keepIn(cmd)
		ctx, err := logs.start(cmd.Context(), s.Err)
		cmd.SetContext(ctx)
		if len(set.applied) > 0 {
			klog.FromContext(ctx).Info("Settings that are not from the command line", "flags", set.text())
		}
		return errors.Join(err, profiles.start())
	}
	commands := make([]*cobra.Command, 0, len(constructors))
	for _, constructor := range constructors {
		commands = append(commands, constructor(s))
	}
	sort.Slice(commands, func(i, j int) bool { return commands[i].Name() < commands[j].Name() })
	root.AddCommand(commands...)
	completeFlags(root)
	return root
}
