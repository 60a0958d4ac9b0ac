package elasti

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
)

// Period is when a workload may be scaled to zero: from each time of a schedule on, for a duration.
type Period struct {
	schedule cron.Schedule
	duration time.Duration
	text     string
}

// fields are the five of a cron expression.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// reference is an instant from which a schedule that has a time at all has one within the five years that the library looks ahead.
var reference = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

// ParsePeriod reads an enabled period; nil gives nil, which is always open. The schedule is in UTC: one that names a time zone is refused.
func ParsePeriod(p *elastiv1alpha1.EnabledPeriod) (*Period, error) {
	if p == nil {
		return nil, nil //nolint:nilnil // no period is one that is always open
	}
	schedule, duration := cmp.Or(p.Schedule, elastiv1alpha1.DefaultSchedule), cmp.Or(p.Duration, elastiv1alpha1.DefaultDuration)
	if strings.Contains(schedule, "TZ=") {
		return nil, errors.New("enabledPeriod: schedule: it is in UTC, without a time zone")
	}
	s, err := fields.Parse(schedule)
	if err != nil {
		return nil, fmt.Errorf("enabledPeriod: schedule %q: %w", schedule, err)
	}
	if s.Next(reference).IsZero() {
		return nil, fmt.Errorf("enabledPeriod: schedule %q: there is no such time", schedule)
	}
	d, err := time.ParseDuration(duration)
	if err != nil || d <= 0 {
		return nil, fmt.Errorf("enabledPeriod: duration %q: want one such as 8h", duration)
	}
	return &Period{s, d, fmt.Sprintf("%q for %s", schedule, d)}, nil
}

// Open says whether an instant is in the period: a time of the schedule is by now, and less than the duration ago.
func (p *Period) Open(now time.Time) bool {
	return p == nil || !p.schedule.Next(now.UTC().Add(-p.duration)).After(now)
}

// String is the period in words.
func (p *Period) String() string {
	if p == nil {
		return "always"
	}
	return p.text
}
