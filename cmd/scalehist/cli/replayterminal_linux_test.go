package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// long is a replay that nobody waits for.
func long(more ...string) []string {
	history := filepath.Join("..", "..", "..", "fixtures", "full-day", "recording.db")
	return append([]string{"replay", history, "--control-plane", "memory", "--for", "200000h"}, more...)
}

// TestReplayOnATerminal: progress is drawn while it runs, and Ctrl-C leaves nothing of it.
func TestReplayOnATerminal(t *testing.T) {
	tt := onTerminal(t, 100, 30, []string{"NO_COLOR=1"}, long()...)
	tt.waitFor("nodes ")
	tt.press("\x03")
	code, out := tt.wait()
	after := out[strings.LastIndex(out, "\x1b[J")+3:]
	if code != console.ExitInterrupted || strings.TrimSpace(after) != "scalehist: interrupted" {
		t.Errorf("exit %d, and %q is left below", code, after)
	}
	if coloured(out) || strings.Contains(out, "\x1b[?") {
		t.Errorf("there are colours, or modes of the terminal:\n%q", out)
	}
}

// TestReplayOnADumbTerminal draws nothing.
func TestReplayOnADumbTerminal(t *testing.T) {
	args := long()
	code, out := onTerminal(t, 100, 30, []string{"TERM=dumb"}, append(args[:len(args)-2], "-o", "wide")...).wait()
	if code == console.ExitFailed || strings.Contains(out, "\x1b") || !strings.Contains(out, "decisions (") {
		t.Errorf("exit %d, printed\n%q", code, out)
	}
}
