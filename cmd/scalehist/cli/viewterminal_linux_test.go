package cli

import (
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// TestViewOnATerminal: a real terminal, real keys; afterwards it is as it was.
func TestViewOnATerminal(t *testing.T) {
	for _, quit := range []string{"q", "\x03"} {
		tt := onTerminal(t, 80, 24, nil, "view", explained("idle"))
		tt.waitFor("1/11 steps")
		tt.press("d")
		tt.waitFor("small-3 of small")
		if err := pty.Setsize(tt.primary, &pty.Winsize{Rows: 10, Cols: 50}); err != nil {
			t.Fatal(err)
		}
		tt.press("?")
		tt.waitFor("Keys")
		tt.press("x")
		tt.press(quit)
		code, out := tt.wait()
		if code != console.ExitOK {
			t.Errorf("exit %d", code)
		}
		for _, pair := range [][2]string{{"\x1b[?1049h", "\x1b[?1049l"}, {"\x1b[?25l", "\x1b[?25h"}} {
			if on, off := strings.LastIndex(out, pair[0]), strings.LastIndex(out, pair[1]); on > off {
				t.Errorf("%q is not undone by %q at the end:\n%q", pair[0], pair[1], out)
			}
		}
	}
}

// TestViewWithoutColours: NO_COLOR leaves no colour in what is drawn, and a dumb terminal gets lines.
func TestViewWithoutColours(t *testing.T) {
	tt := onTerminal(t, 80, 24, []string{"NO_COLOR=1"}, "view", explained("idle"))
	tt.waitFor("1/11 steps")
	tt.press("q")
	_, out := tt.wait()
	if coloured(out) {
		t.Errorf("there are colours:\n%q", out)
	}
	code, out := onTerminal(t, 80, 24, []string{"TERM=dumb"}, "view", explained("idle")).wait()
	if code != console.ExitOK || strings.Contains(out, "\x1b") || !strings.Contains(out, "large grew 0->4 (max: 4)") {
		t.Errorf("exit %d, printed\n%q", code, out)
	}
}
