package backoff

import (
	"maps"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
)

// Groups are the node groups whose scale-up failed, by name.
type Groups struct {
	initial, maximum, reset time.Duration
	entries                 map[string]Entry
}

// Entry is the backoff of a group.
type Entry struct {
	// Until is when the group may grow again.
	Until time.Time
	// Code and Reason are those of the last failure.
	Code, Reason string
	length       time.Duration
	failed       time.Time
}

// New gives groups of which none has failed. The first backoff is initial long, and each further one twice as long, up to maximum;
// reset after the last failure it is initial again.
func New(initial, maximum, reset time.Duration) *Groups {
	return &Groups{initial, maximum, reset, map[string]Entry{}}
}

// Fail starts a backoff, and says when it ends. A failure during one has the same length again: several scale-ups may fail at once;
// one after it ended has twice the length.
func (b *Groups) Fail(group, code, reason string, now time.Time) time.Time {
	length := b.initial
	if e, ok := b.entries[group]; ok {
		length = e.length
		if e.Until.Before(now) {
			length = min(2*length, b.maximum)
		}
	}
	b.entries[group] = Entry{Until: now.Add(length), Code: code, Reason: reason, length: length, failed: now}
	return now.Add(length)
}

// Active says whether a group is backed off.
func (b *Groups) Active(group string, now time.Time) bool { return b.entries[group].Until.After(now) }

// Of is the last backoff of a group; the zero value if it has had none.
func (b *Groups) Of(group string) Entry { return b.entries[group] }

// Forget drops what failed too long ago to matter. Success alone forgets nothing.
func (b *Groups) Forget(now time.Time) {
	maps.DeleteFunc(b.entries, func(_ string, e Entry) bool { return e.failed.Add(b.reset).Before(now) })
}

// List is what a Decision has of it, by the names of the groups.
func (b *Groups) List(now time.Time) []scalehist.GroupBackoff {
	var out []scalehist.GroupBackoff
	for _, g := range slices.Sorted(maps.Keys(b.entries)) {
		if b.Active(g, now) {
			out = append(out, scalehist.GroupBackoff{NodeGroup: g, Until: b.entries[g].Until, Reason: b.entries[g].Reason})
		}
	}
	return out
}
