package cli

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// plainProgressEvery is how often progress is a line where there is no terminal: seldom enough for a CI log. Work that
// takes less says nothing.
const plainProgressEvery = 10 * time.Second

// Progress shows how far a command is, on standard error: a bar on a terminal, else a plain line now and then. It is
// not safe for concurrent use.
type Progress struct {
	io    IO
	what  string
	total int64
	done  int64
	bar   *progressbar.ProgressBar
	now   func() time.Time
	last  time.Time // of the last plain line, or the start
}

// NewProgress starts the progress of what ("recording"). total is the number of steps, -1 if unknown.
func (s IO) NewProgress(what string, total int64) *Progress {
	p := &Progress{io: s, what: what, total: total, now: time.Now, last: time.Now()}
	if !isTerminal(s.Err) {
		return p
	}
	p.bar = progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(s.Err),
		progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionUseANSICodes(s.color(s.Err)),
		progressbar.OptionEnableColorCodes(s.color(s.Err)),
		progressbar.OptionClearOnFinish(),
	)
	return p
}

// Set says that done steps are behind, and on what it is now ("" to keep the words).
func (p *Progress) Set(done int64, what string) {
	p.done = done
	changed := what != "" && what != p.what
	if changed {
		p.what = what
	}
	if p.bar != nil {
		if changed {
			p.bar.Describe(what)
		}
		_ = p.bar.Set64(done) // a bar that cannot be drawn must not fail the command
		return
	}
	if now := p.now(); now.Sub(p.last) >= plainProgressEvery {
		p.last = now
		p.line()
	}
}

// Add says that n more steps are behind.
func (p *Progress) Add(n int64) { p.Set(p.done+n, "") }

// Clear takes the bar off its line, so that another line can be printed; the next Set draws it again.
func (p *Progress) Clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// Done ends the progress; the bar goes, so that only results stay.
func (p *Progress) Done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

func (p *Progress) line() {
	if p.total > 0 {
		fmt.Fprintf(p.io.Err, "%s: %d of %d\n", p.what, p.done, p.total)
		return
	}
	fmt.Fprintf(p.io.Err, "%s: %d\n", p.what, p.done)
}
