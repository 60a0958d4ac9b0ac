package console

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
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

// TerminalOf is the writer behind those that this package puts around one.
func TerminalOf(w io.Writer) io.Writer {
	for {
		around, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = around.Unwrap()
	}
}

// IsTerminal says whether w is a terminal that a person looks at.
func IsTerminal(w io.Writer) bool {
	f, ok := TerminalOf(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is how many columns the result may have: what COLUMNS says, else those of the terminal; 0 is no limit.
func (s IO) Width() int {
	if n, err := strconv.Atoi(s.Env("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if f, ok := TerminalOf(s.Out).(*os.File); ok && IsTerminal(f) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	return 0
}

// Env reads an environment variable, empty where there is no environment.
func (s IO) Env(name string) string {
	if s.Getenv == nil {
		return ""
	}
	return s.Getenv(name)
}

// Color says whether w may get escape sequences (https://no-color.org).
func (s IO) Color(w io.Writer) bool {
	return IsTerminal(w) && s.Env("NO_COLOR") == "" && s.Env("TERM") != "dumb"
}
