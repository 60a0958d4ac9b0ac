package usage

import "time"

// maxSteps is the most instants a window has: a Prometheus answers at most 11,000 per series, and an answer should
// stay small.
const maxSteps = 1000

// Settle is how old an instant must be to be asked for: what is scraped now arrives a little later.
const Settle = 10 * time.Second

// Lookback is how old a value may be that a Prometheus still takes for an instant (--query.lookback-delta). So much of a series is recorded from
// before the recording.
const Lookback = 5 * time.Minute

// Window is a run of instants, First to Last, a step apart.
type Window struct{ First, Last time.Time }

// First is the first instant of a step that is not before t.
func First(t time.Time, step time.Duration) time.Time {
	f := floor(t, step)
	if f.Before(t) {
		f = f.Add(step)
	}
	return f
}

// Next is the window that begins at next and ends at the last instant that has settled by now, or earlier if that were
// too many; false if none has settled.
func Next(next, now time.Time, step time.Duration) (Window, bool) {
	last := floor(now.Add(-Settle), step)
	if last.Before(next) {
		return Window{}, false
	}
	if most := next.Add((maxSteps - 1) * step); last.After(most) {
		last = most
	}
	return Window{First: next, Last: last}, true
}

// floor is the last multiple of a step since 1970 that is not after t.
func floor(t time.Time, step time.Duration) time.Time {
	ns, s := t.UnixNano(), int64(step)
	n := ns / s
	if ns%s < 0 {
		n--
	}
	return time.Unix(0, n*s).UTC()
}
