// Package moment reads instants as people write them, on a command line or in a scenario file: absolute, or from the start or the
// end of a recording. It knows no recordings.
package moment

import (
	"fmt"
	"time"
)

// Moment is an instant as people write it: RFC 3339 ("2024-05-28T10:00:00Z") or an offset from the start of the
// recording ("+90s", "1h30m"). A negative offset ("-10m") counts from its end.
type Moment struct {
	text   string
	at     time.Time
	offset time.Duration
	end    bool
}

// String is how it was written.
func (t *Moment) String() string { return t.text }

// Type implements pflag.Value; help shows it.
func (t *Moment) Type() string { return "time|offset" }

// IsSet says whether there is one.
func (t *Moment) IsSet() bool { return t.text != "" }

// Set reads a moment.
func (t *Moment) Set(v string) error {
	if d, err := time.ParseDuration(v); err == nil {
		*t = Moment{text: v, offset: d, end: v[0] == '-'}
		return nil
	}
	at, err := time.Parse(time.RFC3339Nano, v)
	if err != nil {
		return fmt.Errorf("%q is neither an instant such as 2024-05-28T10:00:00Z nor an offset such as +90s", v)
	}
	*t = Moment{text: v, at: at.UTC()}
	return nil
}

// Resolve gives the instant within a recording from start to end; fallback where there is none. An instant
// outside the recording is an error that names both.
func (t *Moment) Resolve(start, end, fallback time.Time) (time.Time, error) {
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

// Stamp writes an instant in full, in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// At is a moment at an instant; at the zero time it is not set.
func At(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{text: Stamp(t), at: t.UTC()}
}
