package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// plainProgressEvery is how often progress is a line where there is no terminal: seldom enough for a CI log. Work that
	// takes less says nothing.
	plainProgressEvery = 10 * time.Second
	// drawEvery is how often it is drawn on a terminal. Work that takes less is not drawn.
	drawEvery = 100 * time.Millisecond
)

// Progress shows how far a command is, on standard error: lines that change in place on a terminal, else a plain line now and
// then. It is not safe for concurrent use.
type Progress struct {
	io     IO
	screen *screen // nil: no terminal
	what   string
	total  int64
	done   int64
	now    func() time.Time
	start  time.Time
	last   time.Time // of the last drawing or plain line, or the start
}

// NewProgress starts the progress of what ("recording"). total is the number of steps, -1 if unknown.
func (s IO) NewProgress(what string, total int64) *Progress {
	now := time.Now()
	p := &Progress{io: s, what: what, total: total, now: time.Now, start: now, last: now}
	p.screen = screenOf(s.Err)
	return p
}

// Set says that done steps are behind, and on what it is now ("" to keep the words).
func (p *Progress) Set(done int64, what string) {
	p.done = done
	if what != "" {
		p.what = what
	}
	p.show(p.lines, p.line)
}

// Add says that n more steps are behind.
func (p *Progress) Add(n int64) { p.Set(p.done+n, "") }

// show draws lines on a terminal, or prints line elsewhere, when it is time to; neither is made before.
func (p *Progress) show(lines func(columns int) []string, line func() string) {
	every := plainProgressEvery
	if p.screen != nil {
		every = drawEvery
	}
	now := p.now()
	if now.Sub(p.last) < every {
		return
	}
	p.last = now
	if p.screen != nil {
		_ = p.screen.draw(lines) // progress that cannot be drawn must not fail the command
		return
	}
	p.io.Errf("%s\n", line())
}

// Clear takes the progress off the terminal; the next Set draws it again.
func (p *Progress) Clear() {
	if p.screen != nil {
		_ = p.screen.draw(nil)
	}
}

// Done ends the progress; it goes, so that only results stay.
func (p *Progress) Done() { p.Clear() }

func (p *Progress) line() string {
	if p.total > 0 {
		return fmt.Sprintf("%s: %d of %d", p.what, p.done, p.total)
	}
	return fmt.Sprintf("%s: %d", p.what, p.done)
}

func (p *Progress) lines(columns int) []string {
	took := p.now().Sub(p.start).Round(time.Second).String()
	if p.total <= 0 {
		return []string{fmt.Sprintf("%s  %s  %s", p.what, thousands(p.done), took)}
	}
	share := float64(p.done) / float64(p.total)
	return []string{fmt.Sprintf("%s  %s%3.0f%%  %s/%s  %s", p.what, p.bar(columns, share), 100*share, thousands(p.done), thousands(p.total), took)}
}

// bar is a share from 0 to 1 as a bar with a space behind it, empty where there is no room for one.
func (p *Progress) bar(columns int, share float64) string {
	width := min(30, columns/4)
	if width < 10 {
		return ""
	}
	full := min(max(int(share*float64(width)+0.5), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full) + " "
}

// thousands writes a number with commas: 1,520.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
