package service

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Duration is a Go duration that may also have days and weeks: "30d", "2w", "1h30m".
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := parseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return fmt.Errorf("line %d: %q is no duration: write 30s, 12h, 30d or 2w", n.Line, n.Value)
	}
	*d = Duration(v)
	return nil
}

// String writes it as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

func parseDuration(s string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		digits, ok := strings.CutSuffix(s, suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil {
			return 0, err
		}
		if days := n * uint64(unit/(24*time.Hour)); days > 36500 {
			return 0, errors.New("more than 100 years")
		}
		return time.Duration(n) * unit, nil
	}
	return time.ParseDuration(s)
}
