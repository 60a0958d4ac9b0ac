package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// secondsFlag is a duration in whole seconds.
type secondsFlag struct{ to *time.Duration }

func (f *secondsFlag) String() string { return "" }
func (f *secondsFlag) Type() string   { return "int" }
func (f *secondsFlag) Set(v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("want a whole number of seconds")
	}
	*f.to = time.Duration(n) * time.Second
	return nil
}

// prioritiesFlag is "<priority>:<seconds>,...": the steps of a drain.
type prioritiesFlag struct{ to *[]DrainPriority }

func (f *prioritiesFlag) String() string { return "" }
func (f *prioritiesFlag) Type() string   { return "priority:seconds" }
func (f *prioritiesFlag) Set(v string) error {
	var out []DrainPriority
	for _, part := range strings.Split(v, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		priority, seconds, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("want <priority>:<seconds>, separated by commas: %q is none", part)
		}
		p, err := strconv.ParseInt(priority, 10, 32)
		if err != nil {
			return fmt.Errorf("want <priority>:<seconds>: %q is no priority", priority)
		}
		n, err := strconv.ParseInt(seconds, 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("want <priority>:<seconds>: %q is no number of seconds", seconds)
		}
		out = append(out, DrainPriority{Priority: int32(p), Termination: time.Duration(n) * time.Second})
	}
	slices.SortStableFunc(out, func(a, b DrainPriority) int { return cmp.Compare(a.Priority, b.Priority) })
	*f.to = out
	return nil
}
