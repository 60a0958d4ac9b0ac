package recorder

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// clockTolerance is how far this machine's clock may be from the API server's, or jump, before it is noted. The
// observed times of a history are this machine's, the object times in it the cluster's.
const clockTolerance = time.Second

// The metric series in which a history keeps what is wrong with the clock, in seconds.
const (
	// SkewSeries is how far this machine's clock is behind the API server's (ahead: negative), from the instant on; 0
	// when it agrees again.
	SkewSeries = "recorder_clock_skew_seconds"
	// JumpSeries is by how much this machine's clock was set forward (back: negative) at the instant.
	JumpSeries = "recorder_clock_jump_seconds"
)

// clockNews is one finding for the history.
type clockNews struct {
	series   string
	from, at time.Time // a jump goes from one to the other
	off      time.Duration
}

// clockWatch compares this machine's clock with the API server's, and with its own steady one.
type clockWatch struct {
	mu   sync.Mutex
	skew time.Duration // noted last
	news []clockNews
}

// compareClocks looks at the Date of every answer: the server wrote it between request and answer, cut to the second.
func (r *Recorder) compareClocks(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			asked := r.o.Clock.Now()
			resp, err := next.RoundTrip(req)
			if err == nil {
				if date, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
					r.clocks.compare(asked, r.o.Clock.Now(), date)
				}
			}
			return resp, err
		})
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// compare notes the least skew that explains a server's date.
func (c *clockWatch) compare(asked, answered, date time.Time) {
	var skew time.Duration
	switch least, most := date.Sub(answered), date.Add(time.Second).Sub(asked); {
	case least > clockTolerance:
		skew = least
	case most < -clockTolerance:
		skew = most
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if off := (skew - c.skew).Abs(); off < clockTolerance && (skew != 0 || c.skew == 0) {
		return
	}
	c.skew = skew
	c.news = append(c.news, clockNews{series: SkewSeries, at: answered.UTC(), off: skew})
}

// jumped notes that the clock did not go from one instant to the other by itself.
func (c *clockWatch) jumped(from, to time.Time, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.news = append(c.news, clockNews{series: JumpSeries, from: from, at: to, off: by})
}

// take gives what is new.
func (c *clockWatch) take() []clockNews {
	c.mu.Lock()
	defer c.mu.Unlock()
	news := c.news
	c.news = nil
	return news
}

// String says what people should know.
func (n clockNews) String() string {
	off := n.off.Abs().Round(100 * time.Millisecond)
	switch {
	case n.series == JumpSeries && n.off > 0:
		return fmt.Sprintf("the clock of this machine was set forward by %s, or the machine slept", off)
	case n.series == JumpSeries:
		return fmt.Sprintf("the clock of this machine was set back by %s: observed time goes slower until it has caught up", off)
	case n.off > 0:
		return fmt.Sprintf("the clock of this machine is %s behind the API server's: set it", off)
	case n.off < 0:
		return fmt.Sprintf("the clock of this machine is %s ahead of the API server's: set it", off)
	}
	return ""
}

// now is observed time: the clock's, but never going back. While the clock is behind where it was, because it was set
// back, time goes on at half the speed of the steady clock, so that what happens keeps its order and about its place.
func (r *Recorder) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steady == nil {
		if wall := r.o.Clock.Now().UTC(); wall.After(r.lastNow) {
			r.lastNow = wall
		}
		return r.lastNow
	}
	wall, steady, apart := r.readClocks()
	passed := steady - r.lastSteady
	if !r.lastWall.IsZero() && apart < clockTolerance/10 {
		if jump := wall.Sub(r.lastWall) - passed; jump.Abs() > clockTolerance {
			to := wall
			if jump < 0 {
				to = r.lastNow
			}
			r.clocks.jumped(r.lastNow, to, jump)
		}
	}
	r.lastWall, r.lastSteady = wall, steady
	if wall.After(r.lastNow) {
		r.lastNow = wall
	} else {
		r.lastNow = r.lastNow.Add(passed / 2)
	}
	return r.lastNow
}

// The reading of both clocks: as often as it takes for them to be this close, but no more than so often.
const (
	clocksApart = time.Millisecond
	clockTries  = 20
)

// readClocks reads the machine's clock and the steady one at an instant, and says how far apart the two readings may be.
// On a busy machine much may happen between two lines: it reads again then, so that no jump goes unseen.
func (r *Recorder) readClocks() (wall time.Time, steady, apart time.Duration) {
	for range clockTries {
		before := r.steady()
		wall = r.o.Clock.Now().UTC()
		steady = r.steady()
		if apart = steady - before; apart < clocksApart {
			break
		}
	}
	return wall, steady, apart
}
