package virtualca

import (
	"fmt"
	"time"
)

// cooldown is when things last happened after which scale-down waits.
type cooldown struct {
	deleted, failed time.Time
	// groups are the same for each group, for --scale-down-delay-type-local.
	groups map[string]*groupTimes
}

type groupTimes struct{ added, deleted, failed time.Time }

func newCooldown() cooldown { return cooldown{groups: map[string]*groupTimes{}} }

func (c *cooldown) of(group string) *groupTimes {
	t := c.groups[group]
	if t == nil {
		t = &groupTimes{}
		c.groups[group] = t
	}
	return t
}

// inCooldown says why nothing may be deleted in this loop; "" when it may. With local delays only a scale-up that waits
// for more pods stops the whole cluster.
func (l *loop) inCooldown() string {
	d, c := &l.a.settings.Down, &l.a.down.cooldown
	if l.scaleDownForbidden {
		return "all pods are new"
	}
	if d.DelayTypeLocal {
		return ""
	}
	for _, t := range []struct {
		what  string
		at    time.Time
		delay time.Duration
	}{{"last scale-up", l.a.lastScaleUp, d.DelayAfterAdd}, {"last failed scale-down", c.failed, d.DelayAfterFailure}, {"last deletion", c.deleted, d.DelayAfterDelete}} {
		if t.at.Add(t.delay).After(l.now) {
			return fmt.Sprintf("until %s, %s after the %s", t.at.Add(t.delay).UTC().Format(time.RFC3339), t.delay, t.what)
		}
	}
	return ""
}

// coolingDown: the group's own delays are not over. What never happened delays nothing.
func (l *loop) coolingDown(group string) bool {
	d := &l.a.settings.Down
	t := l.a.down.cooldown.groups[group]
	if t == nil {
		return false
	}
	after := func(at time.Time, delay time.Duration) bool { return !at.IsZero() && at.Add(delay).After(l.now) }
	return after(t.added, d.DelayAfterAdd) || after(t.deleted, d.DelayAfterDelete) || after(t.failed, d.DelayAfterFailure)
}
