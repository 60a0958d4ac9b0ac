package cli

import (
	"fmt"
	"time"
)

// TimeFlag is an instant on the command line: RFC 3339 ("2024-05-28T10:00:00Z") or an offset from the start of the
// recording ("+90s", "1h30m"). A negative offset ("-10m") counts from its end.
type TimeFlag struct {
	text   string
	at     time.Time
	offset time.Duration
	end    bool
}

// String implements pflag.Value.
func (t *TimeFlag) String() string { return t.text }

// Type implements pflag.Value; help shows it.
func (t *TimeFlag) Type() string { return "time|offset" }

// IsSet says whether the flag was given.
func (t *TimeFlag) IsSet() bool { return t.text != "" }

// Set implements pflag.Value.
func (t *TimeFlag) Set(v string) error {
	if d, err := time.ParseDuration(v); err == nil {
		*t = TimeFlag{text: v, offset: d, end: v[0] == '-'}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return fmt.Errorf("%q is neither an instant such as 2024-05-28T10:00:00Z nor an offset such as +90s", v)
	}
	*t = TimeFlag{text: v, at: at.UTC()}
	return nil
}

// Resolve gives the instant within a recording from start to end; fallback when the flag was not given. An instant
// outside the recording is an error that names both.
func (t *TimeFlag) Resolve(start, end, fallback time.Time) (time.Time, error) {
	var at time.Time
	switch {
	case !t.IsSet():
		return fallback, nil
	case !t.at.IsZero():
		at = t.at
	case t.end:
		at = end.Add(t.offset)
	default:
		at = start.Add(t.offset)
	}
	if at.Before(start) || at.After(end) {
		return time.Time{}, fmt.Errorf("time %s (%s): the recording goes from %s to %s: choose an instant in it", t.text,
			at.UTC().Format(time.RFC3339), start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	}
	return at, nil
}
