package recorder

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/recorder/history"
)

// interruptionTolerance is the longest time without a watch that is no gap. A watch that resumes from its resource
// version delivers everything that happened meanwhile, only later: what is lost is when. Servers end every watch after
// some minutes, and it comes back at once; two seconds are below any scan interval of an autoscaler (10 s by default).
// An interruption this long or longer is a gap of the kind: all that happened in it bears the time of the return.
const interruptionTolerance = 2 * time.Second

// The reasons of gaps.
const (
	whyInterrupted = "the watch was interrupted: what happened meanwhile was seen when it resumed"
	whyRestarted   = "the watch could not resume and started over from a list"
	whyLost        = "the watch was interrupted and did not come back before the recording ended"
	whyRefused     = "the kind can be listed but not watched: what happened between two lists was missed"
	whySilent      = "the watch was silent: what happened meanwhile was seen when it was opened again"
	whyBehind      = "the writer was behind: what happened meanwhile was seen late"
	whyHeld        = "the history could not be written, what happened meanwhile was seen late: "
)

// opened says that a watch stream is open. initial: it sends the objects there are first, and Replace says when it is
// through; else it resumes from where the last one was. until is the version up to which a stream in place of a silent
// one may bring what that one missed, "" for any other.
func (w *watched) opened(s *stream, initial bool, until string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.refused, w.stream, w.since = true, false, s, w.r.now()
	if initial {
		return nil
	}
	return w.resumed(until)
}

// resumed says that the watch is current again. Call it with w.mu held.
func (w *watched) resumed(until string) error {
	now := w.r.now()
	from, silent := w.current, w.silent
	w.watching, w.last, w.silent = true, now, time.Time{}
	w.wake()
	// With Options.Times time stands still until Flush has what the server shows: an interruption takes none of it.
	if !w.listed || w.r.translate != nil {
		return nil
	}
	w.unproven = from
	if until != "" && now.Sub(silent) < interruptionTolerance {
		// Nothing said and nothing happened look alike: what comes first decides.
		w.suspect = &suspect{from: from, until: until}
		return nil
	}
	if now.Sub(from) < interruptionTolerance {
		return nil
	}
	return w.r.enqueue(item{gap: &history.Gap{From: from, To: now, Kinds: []string{w.kind}, Why: whyInterrupted}})
}

// ended says that a watch stream is over, for whatever reason. One that resumed, showed nothing and did not last may never have been
// current: an API server that was started again takes the watch, and says in it that it cannot resume.
func (w *watched) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open, w.stream = false, nil
	if !w.watching {
		return
	}
	w.watching, w.current = false, w.last
	switch heard := w.line().lastHeard(); {
	case w.suspect != nil:
		w.current, w.suspect = w.suspect.from, nil
	case !w.unproven.IsZero() && w.r.now().Sub(w.since) < interruptionTolerance:
		w.current = w.unproven
	case w.silent.IsZero() && heard.After(w.current):
		w.current = heard // not its own sign of life, but the connection carried it too
	}
	w.unproven = time.Time{}
	w.wake()
}

// lost is the gap of a watch that is down at an instant, nil if it is not or not for long. Call it with w.mu held.
func (w *watched) lost(end time.Time) *history.Gap {
	if w.watching || w.r.translate != nil || end.Sub(w.current) < interruptionTolerance {
		return nil
	}
	if !w.silent.IsZero() && end.Sub(w.silent) < interruptionTolerance {
		return nil // it is being opened again: whether it missed something will show
	}
	why := whyLost
	if w.refused {
		why = whyRefused
	}
	return &history.Gap{From: w.current, To: end, Kinds: []string{w.kind}, Why: why}
}

// downSince is lost for the writer, who must not wait for w.mu: a watch that holds it has something to put into the
// queue, waits for the writer if the queue is full, and is not down.
func (w *watched) downSince(now time.Time) *history.Gap {
	if !w.mu.TryLock() {
		return nil
	}
	defer w.mu.Unlock()
	return w.lost(now)
}

// stream reports to its watch when it is over. The reflector stops every stream that it is done with.
type stream struct {
	watch.Interface
	once sync.Once
	done func()
}

// Stop implements watch.Interface.
func (s *stream) Stop() {
	s.Interface.Stop()
	s.once.Do(s.done)
}

// line remembers when the API server was last heard, and the connections to it. A connection that breaks without a word is given up by HTTP/2's
// pings 45 seconds later (30 s idle, 15 s for the answer); what it was current at is when it last said something.
type line struct {
	now   func() time.Time
	mu    sync.Mutex
	heard time.Time
	conns map[net.Conn]bool
}

// drop closes all connections: their users dial again.
func (l *line) drop() {
	l.mu.Lock()
	conns := slices.Collect(maps.Keys(l.conns))
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close() // it is given up anyway
	}
}

func (l *line) add(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[net.Conn]bool{}
	}
	l.conns[c] = true
}

func (l *line) remove(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *line) note() {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard = now
}

func (l *line) lastHeard() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard
}

// know makes the line know the connections of cfg; if it listens, they report to it when they hear something.
func (l *line) know(cfg *rest.Config, listen bool) {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go
	}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		heard := &heardConn{Conn: c, line: l, listens: listen}
		l.add(heard)
		return heard, nil
	}
}

// heardConn notes what comes from the peer: bytes, and that it closed or reset the connection.
type heardConn struct {
	net.Conn
	line    *line
	listens bool
}

// Read implements net.Conn.
func (c *heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	var timeout net.Error
	if c.listens && (n > 0 || err != nil && !errors.Is(err, net.ErrClosed) && (!errors.As(err, &timeout) || !timeout.Timeout())) {
		c.line.note()
	}
	return n, err
}

// Close implements net.Conn.
func (c *heardConn) Close() error {
	c.line.remove(c)
	return c.Conn.Close()
}
