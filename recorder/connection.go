package recorder

import (
	"context"
	"errors"
	"net"
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
)

// opened says that a watch stream stands. initial: it sends the objects there are first, and Replace tells when it is
// through; else it resumes from where the last one was.
func (w *watched) opened(initial bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = true
	if initial {
		return nil
	}
	return w.resumed()
}

// resumed says that the watch is current again. Call it with w.mu held.
func (w *watched) resumed() error {
	now := w.r.now()
	from := w.current
	w.watching, w.last = true, now
	w.wake()
	// With Options.Times time stands still until Flush has what the server shows: an interruption takes none of it.
	if !w.listed || w.r.translate != nil || now.Sub(from) < interruptionTolerance {
		return nil
	}
	return w.r.enqueue(item{gap: &history.Gap{From: from, To: now, Kinds: []string{w.kind}, Why: whyInterrupted}})
}

// ended says that a watch stream is over, for whatever reason.
func (w *watched) ended() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = false
	if !w.watching {
		return
	}
	w.watching, w.current = false, w.last
	if heard := w.r.line.lastHeard(); heard.After(w.current) {
		w.current = heard
	}
	w.wake()
}

// lost is the gap of a watch that is down at the end of the recording, nil if it is not or not for long.
func (w *watched) lost(end time.Time) *history.Gap {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lostLocked(end)
}

// lostLocked is lost with w.mu held.
func (w *watched) lostLocked(end time.Time) *history.Gap {
	if w.watching || w.r.translate != nil || end.Sub(w.current) < interruptionTolerance {
		return nil
	}
	return &history.Gap{From: w.current, To: end, Kinds: []string{w.kind}, Why: whyLost}
}

// down says that the watch has been down for too long to call its kind watched. The writer asks, so it must not wait
// for w.mu: a watch that holds it has something to put into the queue, waits for the writer if the queue is full, and is
// not down.
func (w *watched) down(now time.Time) bool {
	if !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	return w.lostLocked(now) != nil
}

// stream tells its watch when it is over. The reflector stops every stream that it is done with.
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

// line remembers when the API server was last heard. A connection that breaks without a word is given up by HTTP/2's
// pings 45 seconds later (30 s idle, 15 s for the answer); what it was current at is when it last said something.
type line struct {
	now   func() time.Time
	mu    sync.Mutex
	heard time.Time
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

// listen makes the connections of cfg tell the line when they hear something.
func (l *line) listen(cfg *rest.Config) {
	dial := cfg.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go
	}
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &heardConn{Conn: c, line: l}, nil
	}
}

// heardConn notes what comes from the peer: bytes, and that it closed or reset the connection.
type heardConn struct {
	net.Conn
	line *line
}

// Read implements net.Conn.
func (c *heardConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	var timeout net.Error
	if n > 0 || err != nil && !errors.Is(err, net.ErrClosed) && (!errors.As(err, &timeout) || !timeout.Timeout()) {
		c.line.note()
	}
	return n, err
}
