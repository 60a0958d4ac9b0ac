package console

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// screen is a terminal whose last lines change in place. What is written to it meanwhile (logs, warnings) appears above them.
// The cursor is never hidden and rests at the start of a line, so that a command that is killed leaves nothing to repair.
type screen struct {
	w io.Writer
	// size gives columns and rows as they are now: somebody may resize the window.
	size func() (columns, rows int)

	mu    sync.Mutex
	lines []string // drawn below everything else
}

func NewScreen(w io.Writer) *screen {
	return &screen{w: w, size: func() (int, int) {
		if f, ok := w.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
				return columns, rows
			}
		}
		return 80, 24
	}}
}

// screenOf is the screen among the writers around a terminal, nil if there is none.
func screenOf(w io.Writer) *screen {
	for {
		if s, ok := w.(*screen); ok {
			return s
		}
		around, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return nil
		}
		w = around.Unwrap()
	}
}

// Unwrap is the terminal.
func (s *screen) Unwrap() io.Writer { return s.w }

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) == 0 {
		return s.w.Write(p)
	}
	columns, _ := s.size()
	text := s.erase(columns) + string(p)
	if strings.HasSuffix(text, "\n") {
		text += joined(s.lines)
	} else {
		s.lines = nil // the next drawing comes below what is said now
	}
	if _, err := io.WriteString(s.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// draw shows lines in place of those drawn before; none takes them off. It leaves out what does not fit.
func (s *screen) draw(lines func(columns int) []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	columns, rows := s.size()
	text := s.erase(columns)
	s.lines = nil
	if lines != nil {
		// The last column stays free: some terminals begin a new line when it is written to.
		for _, l := range lines(max(1, columns-1)) {
			if len(s.lines) < rows-1 {
				s.lines = append(s.lines, ansi.Truncate(plaintext.Escape(l), max(1, columns-1), "…"))
			}
		}
	}
	_, err := io.WriteString(s.w, text+joined(s.lines))
	return err
}

// erase takes the drawn lines off. A terminal that became narrower has broken them into several.
func (s *screen) erase(columns int) string {
	up := 0
	for _, l := range s.lines {
		up += 1 + max(0, ansi.StringWidth(l)-1)/max(1, columns)
	}
	if up == 0 {
		return ""
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
