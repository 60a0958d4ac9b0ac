package cli

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// onTerminal starts scalehist on a terminal of that size.
func onTerminal(t *testing.T, columns, rows uint16, env []string, args ...string) *terminalTest {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(append(os.Environ(), mainVariable+"=1", exitAtOnce, "TERM=xterm-256color"), env...)
	primary, secondary, err := pty.Open()
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	t.Cleanup(func() { _ = primary.Close() })
	tt := &terminalTest{t: t, cmd: cmd, primary: primary, secondary: secondary}
	tt.cond = sync.NewCond(&tt.mu)
	if err := pty.Setsize(primary, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	tt.modes = tt.termios()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = secondary, secondary, secondary
	// The terminal controls the process, so that its Ctrl-C is a signal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	go tt.read()
	return tt
}

// terminalTest is a command on a terminal: what it wrote, and the terminal's modes before it.
type terminalTest struct {
	t                  *testing.T
	cmd                *exec.Cmd
	primary, secondary *os.File
	modes              unix.Termios

	mu   sync.Mutex
	cond *sync.Cond
	out  bytes.Buffer
	done bool
}

func (tt *terminalTest) termios() unix.Termios {
	tt.t.Helper()
	modes, err := unix.IoctlGetTermios(int(tt.secondary.Fd()), unix.TCGETS)
	if err != nil {
		tt.t.Fatal(err)
	}
	return *modes
}

func (tt *terminalTest) read() {
	buf := make([]byte, 4096)
	for {
		n, err := tt.primary.Read(buf)
		tt.mu.Lock()
		tt.out.Write(buf[:n])
		tt.done = err != nil
		tt.cond.Broadcast()
		tt.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// waitFor waits until the command has written text, and gives all it wrote up to there.
func (tt *terminalTest) waitFor(text string) string {
	tt.t.Helper()
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for !strings.Contains(tt.out.String(), text) {
		if tt.done {
			tt.t.Fatalf("the command ended without %q:\n%q", text, tt.out.String())
		}
		tt.cond.Wait()
	}
	return tt.out.String()
}

func (tt *terminalTest) press(keys string) {
	tt.t.Helper()
	if _, err := io.WriteString(tt.primary, keys); err != nil {
		tt.t.Fatal(err)
	}
}

// wait waits for the end of the command, and gives its exit code and all it wrote. The terminal must be as it was.
func (tt *terminalTest) wait() (code int, out string) {
	tt.t.Helper()
	_ = tt.cmd.Wait()
	if got := tt.termios(); got != tt.modes {
		tt.t.Errorf("the terminal's modes are not what they were: %+v, want %+v", got, tt.modes)
	}
	_ = tt.secondary.Close()
	tt.mu.Lock()
	defer tt.mu.Unlock()
	for !tt.done {
		tt.cond.Wait()
	}
	return tt.cmd.ProcessState.ExitCode(), tt.out.String()
}

// colour is a sequence that sets one, of the text or behind it.
var colour = regexp.MustCompile(`\x1b\[([0-9;]*;)?(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;[0-9;]*)?m`)

func coloured(s string) bool { return colour.MatchString(s) }
