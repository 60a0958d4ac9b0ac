package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
)

// The exit codes of scalehist.
const (
	ExitOK = 0
	// ExitDiffered: the command worked, and what it compared differs.
	ExitDiffered = 1
	// ExitFailed: the command could not do what was asked.
	ExitFailed = 2
	// ExitInterrupted: the user stopped the command before it could answer.
	ExitInterrupted = 130
)

// ExitError chooses the exit code of a command. With a nil Err nothing is printed: the command has shown its result
// already. Any other error a command returns exits with ExitFailed.
type ExitError struct {
	Code int
	Err  error
}

// Error implements error.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap gives the error behind the code.
func (e *ExitError) Unwrap() error { return e.Err }

// Differed is the error of a command whose comparison differs and that has printed the difference.
func Differed() error { return &ExitError{Code: ExitDiffered} }

// program begins the path of every command.
const program = "scalehist "

// UsageError is a wrong flag or argument: the message is followed by the command to read.
type UsageError struct {
	command string
	err     error
}

func (e *UsageError) Error() string {
	return fmt.Sprintf("%s: see '%s --help'", strings.TrimPrefix(strings.TrimSpace(e.err.Error()), program), e.command)
}

func (e *UsageError) Unwrap() error { return e.err }

// UsageErrorf reports wrong flags or arguments of cmd; the message needs no "what to do", it points at the help.
func UsageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return &UsageError{command: cmd.CommandPath(), err: fmt.Errorf(format, args...)}
}

// UsageOf makes errors about flags and arguments that cobra finds into errors that say where to read on.
func UsageOf(cmd *cobra.Command, err error) error {
	var known *UsageError
	if err == nil || errors.As(err, &known) {
		return err
	}
	text := err.Error()
	for _, begin := range []string{"unknown command ", "required flag(s) ", "if any flags in the group ", "at least one of the flags in the group "} {
		if strings.HasPrefix(text, begin) && !strings.Contains(text, "Did you mean this?") {
			return &UsageError{command: cmd.CommandPath(), err: err}
		}
	}
	return err
}

// FlagError says which flag may have been meant by one that is not known.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	suggestion := ""
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		for _, f := range AllFlags(cmd) {
			known = append(known, "--"+f.Name)
		}
		suggestion = near.Suggest("--"+unknown.GetSpecifiedName(), known)
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if want := Wanted(invalid.GetFlag(), invalid.GetValue()); want != "" {
			return UsageErrorf(cmd, "%s: --%s %s: %s", cmd.CommandPath(), invalid.GetFlag().Name, invalid.GetValue(), want)
		}
		return UsageErrorf(cmd, "%s: --%s: %w", cmd.CommandPath(), invalid.GetFlag().Name, invalid.Unwrap())
	}
	return &UsageError{command: cmd.CommandPath(), err: fmt.Errorf("%s: %w%s", cmd.CommandPath(), err, suggestion)}
}

// ExactArgs is cobra.ExactArgs with an error that names the missing thing: what is "FILE.db".
func ExactArgs(what ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(what):
			return UsageErrorf(cmd, "%s: missing argument %s", cmd.CommandPath(), strings.Join(what[len(args):], " "))
		case len(args) > len(what):
			return UsageErrorf(cmd, "%s: unexpected argument %q", cmd.CommandPath(), args[len(what)])
		}
		for i, arg := range args {
			if arg == "" {
				return UsageErrorf(cmd, "%s: %s is empty", cmd.CommandPath(), what[i])
			}
		}
		return nil
	}
}

// Report prints err once and returns the exit code it asks for.
func Report(ctx context.Context, w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "scalehist: interrupted")
		return ExitInterrupted
	}
	code := ExitFailed
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
		if exit.Err == nil {
			return code
		}
	}
	message := strings.TrimPrefix(strings.TrimSpace(err.Error()), "scalehist: ")
	fmt.Fprintf(w, "scalehist: %s\n", continued(plaintext.Lines(bounded(message))))
	return code
}

// continued moves the further lines of an error in: what comes out of somebody's file in the middle of it is never a line of its own.
func continued(message string) string {
	lines := strings.Split(message, "\n")
	for i, l := range lines {
		if i > 0 && l != "" && !strings.HasPrefix(l, "\t") && !strings.HasPrefix(l, "  ") {
			lines[i] = "  " + l
		}
	}
	return strings.Join(lines, "\n")
}

// The beginning and the end of a message that are shown, in bytes: it begins with where, and ends with what to do. What a hostile file holds
// may be quoted between them.
const (
	messageBegin = 8 << 10
	messageEnd   = 2 << 10
)

// bounded leaves out the middle of a message that is too long for anybody to read.
func bounded(message string) string {
	if len(message) <= messageBegin+messageEnd {
		return message
	}
	begin, end := messageBegin, len(message)-messageEnd
	for begin > 0 && !utf8.RuneStart(message[begin]) {
		begin--
	}
	for end < len(message) && !utf8.RuneStart(message[end]) {
		end++
	}
	return fmt.Sprintf("%s ... (%d bytes left out) ... %s", message[:begin], end-begin, message[end:])
}
