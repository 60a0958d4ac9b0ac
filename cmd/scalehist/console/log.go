package console

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// LogFlags choose where logs go. Without them there is no log: errors are returned and printed, not logged.
type LogFlags struct {
	verbose int
	file    string
	// dir is where the files of the command go: with -v the log is one of them.
	dir    string
	opened *os.File
}

// LogName is the log among the files of a replay.
const LogName = "scalehist.log"

func (l *LogFlags) Add(flags *pflag.FlagSet) {
	flags.CountVarP(&l.verbose, "verbose", "v",
		"log to standard error, or to "+LogName+" in --report-dir: -v decisions, -vv detail, -vvvv the Kubernetes libraries' own")
	flags.StringVar(&l.file, "log-file", "", "append the log to this file instead of standard error")
}

// KeepIn lets the log be one of the files that the command writes, where there is a --report-dir.
func (l *LogFlags) KeepIn(cmd *cobra.Command) {
	if flag := cmd.Flags().Lookup("report-dir"); flag != nil {
		l.dir = flag.Value.String()
	}
}

// Start puts the logger into the context and behind the global klog, which the Kubernetes libraries write to.
func (l *LogFlags) Start(ctx context.Context, stderr io.Writer) (context.Context, error) {
	level := max(l.verbose-1, 0)
	logger := logr.Discard()
	switch {
	case l.file != "":
		f, err := os.OpenFile(l.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return ctx, fmt.Errorf("--log-file: %w: choose a file that can be written", err)
		}
		l.opened = f
		logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(level), textlogger.Output(f)))
	case l.verbose > 0 && l.dir != "":
		if err := os.MkdirAll(l.dir, 0o755); err != nil {
			return ctx, fmt.Errorf("--report-dir: %w: choose a directory that can be written to", err)
		}
		path := filepath.Join(l.dir, LogName)
		f, err := os.Create(path)
		if err != nil {
			return ctx, fmt.Errorf("--report-dir: %w: choose a directory that can be written to", err)
		}
		l.opened = f
		logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(level), textlogger.Output(f)))
		fmt.Fprintf(stderr, "log: %s\n", path)
	case l.verbose > 0:
		logger = textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(level), textlogger.Output(stderr)))
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", strconv.Itoa(level)); err != nil {
		return ctx, fmt.Errorf("log level %d: %w", level, err)
	}
	logGlobally(logger)
	return klog.NewContext(ctx, logger), nil
}

// Close ends the log file, if there is one. What still logs then is lost, not an error.
func (l *LogFlags) Close() error {
	if l.opened == nil {
		return nil
	}
	logGlobally(logr.Discard())
	f := l.opened
	l.opened = nil
	return f.Close()
}
