package keda

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // time zones by name, wherever it runs

	"github.com/robfig/cron/v3"
)

// window is when a cron trigger asks for its replicas: https://keda.sh/docs/2.21/scalers/cron/.
type window struct {
	start, end cron.Schedule
	zone       *time.Location
}

// fields are the five of a cron expression.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// reference is an instant from which a schedule that has a time at all has one within the five years that the library looks ahead.
var reference = time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)

func parseWindow(metadata map[string]string) (*window, error) {
	var errs []error
	schedule := func(key string) cron.Schedule {
		s, err := fields.Parse(metadata[key])
		switch {
		case metadata[key] == "":
			errs = append(errs, fmt.Errorf("metadata.%s is not set", key))
		case err != nil:
			errs = append(errs, fmt.Errorf("metadata.%s %q: %w", key, metadata[key], err))
		case s.Next(reference).IsZero():
			errs = append(errs, fmt.Errorf("metadata.%s %q: there is no such time", key, metadata[key]))
		}
		return s
	}
	w := &window{start: schedule("start"), end: schedule("end")}
	if metadata["start"] == metadata["end"] && metadata["start"] != "" {
		errs = append(errs, errors.New("metadata.start and metadata.end are the same"))
	}
	var err error
	switch w.zone, err = time.LoadLocation(metadata["timezone"]); {
	case metadata["timezone"] == "":
		errs = append(errs, errors.New("metadata.timezone is not set: want one such as Etc/UTC"))
	case err != nil:
		errs = append(errs, fmt.Errorf("metadata.timezone: %w: want one such as Europe/Berlin", err))
	}
	return w, errors.Join(errs...)
}

// open says whether an instant is in the window: the next end comes before the next start. The start itself is in it, the end is not.
func (w *window) open(now time.Time) bool {
	now = now.In(w.zone)
	return w.end.Next(now).Before(w.start.Next(now))
}
