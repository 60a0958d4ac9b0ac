package virtualca

import (
	"time"

	"github.com/scalehist/scalehist"
)

// backoff keeps the groups that may not grow for a while after a failed scale-up (utils/backoff).
type backoff struct {
	initial, maximum, reset time.Duration
	groups                  map[string]*backoffEntry
}

type backoffEntry struct {
	duration   time.Duration
	until      time.Time
	lastFailed time.Time
	// code and reason are the provider's, for the status.
	code, reason string
}

func newBackoff(s *Settings) *backoff {
	return &backoff{s.InitialBackoff, s.MaxBackoff, s.BackoffReset, map[string]*backoffEntry{}}
}

// fail starts a backoff. A failure during one has the same length again: several scale-ups may fail at once; one after
// it ended has twice the length, up to the maximum.
func (b *backoff) fail(group, code, reason string, now time.Time) time.Time {
	d := b.initial
	if e := b.groups[group]; e != nil {
		d = e.duration
		if e.until.Before(now) {
			d = min(2*e.duration, b.maximum)
		}
	}
	b.groups[group] = &backoffEntry{duration: d, until: now.Add(d), lastFailed: now, code: code, reason: reason}
	return now.Add(d)
}

// active says whether a group is backed off.
func (b *backoff) active(group string, now time.Time) bool {
	e := b.groups[group]
	return e != nil && e.until.After(now)
}

// forget drops what failed too long ago to matter. Success alone forgets nothing.
func (b *backoff) forget(now time.Time) {
	for g, e := range b.groups {
		if e.lastFailed.Add(b.reset).Before(now) {
			delete(b.groups, g)
		}
	}
}

// list is the state for a Decision, in the order of the groups.
func (b *backoff) list(groups []scalehist.NodeGroup, now time.Time) []scalehist.GroupBackoff {
	var out []scalehist.GroupBackoff
	for _, g := range groups {
		if b.active(g.Name, now) {
			e := b.groups[g.Name]
			out = append(out, scalehist.GroupBackoff{NodeGroup: g.Name, Until: e.until, Reason: e.reason})
		}
	}
	return out
}
