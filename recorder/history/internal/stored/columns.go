package stored

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// UIDColumn is how a UID is stored: 16 bytes for a UUID in its usual spelling, else its text.
func UIDColumn(uid types.UID) any {
	s := string(uid)
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return s
	}
	b, err := hex.DecodeString(s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	if err != nil || uidText(b) != s { // upper case would not come back
		return s
	}
	return b
}

func uidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// UIDFrom is the inverse of UIDColumn.
func UIDFrom(v any) types.UID {
	switch v := v.(type) {
	case []byte:
		if len(v) == 16 {
			return types.UID(uidText(v))
		}
		return types.UID(v)
	case string:
		return types.UID(v)
	}
	return ""
}

// Seconds is a time column in whole seconds since 1970 UTC, nil for the zero time.
func Seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

// ObjectTime is the column version.object_at: whole seconds after the object's creation, else nanoseconds as text.
func ObjectTime(t, created time.Time) any {
	if t.IsZero() {
		return nil
	}
	if t.Nanosecond() != 0 {
		return strconv.FormatInt(t.UnixNano(), 10)
	}
	return t.Unix() - unixOrZero(created)
}

// ObjectTimeFrom is the inverse of ObjectTime.
func ObjectTimeFrom(v any, created time.Time) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, nil
	case int64:
		return time.Unix(unixOrZero(created)+v, 0).UTC(), nil
	case string:
		ns, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("column object_at: %w", err)
		}
		return FromNS(ns), nil
	}
	return time.Time{}, fmt.Errorf("column object_at holds a %T", v)
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// NS is a time column: nanoseconds UTC, nil for the zero time.
func NS(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func FromNS(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// Instant is a time as a column holds it, and refuses what it cannot hold.
func Instant(t time.Time) (int64, error) {
	if y := t.Year(); y < 1970 || y > 2261 {
		return 0, fmt.Errorf("time %s is outside of 1970..2261", t.Format(time.RFC3339Nano))
	}
	return t.UnixNano(), nil
}

// storedNaN is NaN in the column sample.value: the smallest number that a REAL holds. SQLite has no NaN, and makes a NULL of
// it, which the column does not take; infinities it has. A value of just that size is stored as the next one.
const storedNaN = -math.MaxFloat64

// Value is the column sample.value.
func Value(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return storedNaN
	case v == storedNaN:
		return math.Nextafter(storedNaN, 0)
	}
	return v
}

// ValueFrom is the inverse of Value.
func ValueFrom(v float64) float64 {
	if v == storedNaN {
		return math.NaN()
	}
	return v
}
