package imports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

// Instants that are believed. Numbers below them are times since the start of a trace.
var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

func instantWrong(at time.Time) string {
	return fmt.Sprintf("%s: want an instant from 2000 to 2100; where times are since a start, say which with the option epoch", at.Format(time.RFC3339))
}

// epochOption is the instant that a trace counts from.
func epochOption(at, why string) spec.Option {
	return spec.Option{Name: "epoch", Default: at, About: "the instant that times are since: " + why}
}

// epoch reads it.
func epoch(v *spec.Values) time.Time {
	at, err := time.Parse(time.RFC3339, v.Text("epoch"))
	if err != nil {
		v.Wrong("epoch", "an instant such as 2026-01-05T00:00:00Z")
	}
	return at.UTC()
}

// since reads a number of units, of a trace that counts from an instant. Its text says what is wrong, "" nothing.
func since(epoch time.Time, text string, unit time.Duration) (time.Time, string) {
	n, ok := decimal(text)
	if d := n * float64(unit); !ok || n < 0 || d > float64(100*365*24*time.Hour) {
		return time.Time{}, fmt.Sprintf("%q is no time since the start of the trace: want a number of %s", text, units[unit])
	}
	if whole, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil {
		return epoch.Add(time.Duration(whole) * unit), "" // a float64 does not hold nanoseconds of years
	}
	return epoch.Add(time.Duration(math.Round(n * float64(unit)))), ""
}

var units = map[time.Duration]string{time.Second: "seconds", time.Millisecond: "milliseconds", time.Microsecond: "microseconds"}

// layouts of times in text; without a zone they are UTC. The second is that of NAB's CloudWatch files.
var layouts = []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05Z07:00"}

// when reads the time of a row: in text, or a number of seconds, milliseconds or microseconds by its size. zero is the start of those that count
// from one.
func when(text string, zero time.Time) (time.Time, string) {
	text = strings.TrimSpace(text)
	if n, ok := decimal(text); ok {
		unit := time.Second
		switch {
		case zero.Unix() != 0: // only seconds can be known
		case n >= 1e14:
			unit = time.Microsecond
		case n >= 1e11:
			unit = time.Millisecond
		}
		return since(zero, text, unit)
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), ""
		}
	}
	return time.Time{}, fmt.Sprintf("%q is no time: want one such as 2026-01-05T00:00:00Z, 2026-01-05 00:00:00, or a number of seconds", text)
}
