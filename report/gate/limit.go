package gate

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scalehist/scalehist/report/metrics"
)

// Limit is how far a metric may move: it holds when one of its alternatives does. Off limits nothing.
type Limit struct {
	// Text is the limit as it was written.
	Text         string
	Off          bool
	Alternatives []Bound
}

// Kind says what a bound is held against.
type Kind string

// The kinds of bounds.
const (
	// Change bounds candidate minus baseline, Relative the same in percent of the baseline.
	Change   Kind = "change"
	Relative Kind = "relative"
	// AtMost and AtLeast bound the candidate's value, whatever the baseline's.
	AtMost  Kind = "at most"
	AtLeast Kind = "at least"
)

// Bound is one alternative.
type Bound struct {
	Kind Kind
	// By is the bound in the metric's unit, in percent for Relative. Of Change and Relative it is signed: the candidate may
	// be at most the baseline plus By for a metric of which less is better, at least the baseline plus By where more is.
	By float64
	// Both bounds either direction, by By.
	Both bool
}

var boundText = regexp.MustCompile(`^(\+-|±|\+|-|<=|>=)?\s*([0-9].*)$`)

// ParseLimit reads a limit of a metric: "+2%", "+5s", "+0", "-1pp", "±3", "<= 30s", "+10% or +5s", "off".
func ParseLimit(text string, m metrics.Metric) (Limit, error) {
	l := Limit{Text: strings.TrimSpace(text)}
	if l.Text == "off" {
		l.Off = true
		return l, nil
	}
	for part := range strings.SplitSeq(l.Text, " or ") {
		b, err := parseBound(strings.TrimSpace(part), m)
		if err != nil {
			return l, err
		}
		l.Alternatives = append(l.Alternatives, b)
	}
	return l, nil
}

func parseBound(text string, m metrics.Metric) (Bound, error) {
	var b Bound
	match := boundText.FindStringSubmatch(text)
	if match == nil {
		return b, fmt.Errorf("%q is no limit: want %s", text, examples(m))
	}
	sign, rest := match[1], match[2]
	b.Kind = Change
	switch sign {
	case "":
		return b, fmt.Errorf("%q does not say of what: write +%s for a change against the baseline, or <= %s for the value itself", text, text, text)
	case "<=":
		b.Kind = AtMost
	case ">=":
		b.Kind = AtLeast
	case "+-", "±":
		b.Both = true
	}
	var number string
	if v, ok := strings.CutSuffix(rest, "%"); ok && (b.Kind == Change || m.Unit != metrics.Percent) {
		if b.Kind != Change {
			return b, fmt.Errorf("%q: a share of what? %s is in %s: want %s", text, m.Name, unitWord(m), examples(m))
		}
		b.Kind, number = Relative, strings.TrimSpace(v)
	} else {
		var err error
		if number, err = absolute(rest, text, m); err != nil {
			return b, err
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(number, "xXpP_") {
		return b, fmt.Errorf("%q: %q is no number", text, number)
	}
	if sign == "-" {
		v = -v
	}
	if v == 0 {
		v = 0 // no minus zero
	}
	if m.Pair && (b.Kind == Relative || b.Both || v < 0 || sign == "-") {
		return b, fmt.Errorf("%q: %s counts what is not as in the baseline, from 0: want %s", text, m.Name, examples(m))
	}
	if b.Kind == Change || b.Kind == Relative {
		if m.Better == metrics.Neither && !b.Both {
			return b, fmt.Errorf("%q: neither more nor less of %s is better: write ±%s", text, m.Name, rest)
		}
	}
	b.By = v
	return b, nil
}

// absolute takes the unit off an amount and returns a number in the metric's unit.
func absolute(rest, text string, m metrics.Metric) (string, error) {
	switch m.Unit {
	case metrics.Seconds:
		if rest == "0" {
			return rest, nil
		}
		d, err := time.ParseDuration(strings.ReplaceAll(rest, " ", ""))
		if err != nil {
			return "", fmt.Errorf("%q: %s is a time: want %s", text, m.Name, examples(m))
		}
		return strconv.FormatFloat(d.Seconds(), 'f', -1, 64), nil
	case metrics.Percent:
		for _, unit := range []string{"pp", "%"} {
			if v, ok := strings.CutSuffix(rest, unit); ok {
				return strings.TrimSpace(v), nil
			}
		}
		if rest == "0" {
			return rest, nil
		}
		return "", fmt.Errorf("%q: %s is in percent: want %s (pp: percentage points)", text, m.Name, examples(m))
	}
	if strings.ContainsFunc(strings.TrimSpace(rest), func(r rune) bool { return (r < '0' || r > '9') && r != '.' }) {
		return "", fmt.Errorf("%q: %s is in %s: want %s", text, m.Name, unitWord(m), examples(m))
	}
	return strings.TrimSpace(rest), nil
}

func unitWord(m metrics.Metric) string {
	switch m.Unit {
	case metrics.Currency:
		return "the price table's currency"
	case "":
		return "a number"
	}
	return m.Unit
}

// examples are limits that suit a metric.
func examples(m metrics.Metric) string {
	sign := map[metrics.Better]string{metrics.Less: "+", metrics.More: "-", metrics.Neither: "±"}[m.Better]
	if m.Pair {
		return "+0 or <= 2"
	}
	switch m.Unit {
	case metrics.Seconds:
		return fmt.Sprintf("%s5s, %s10%% or <= 2m", sign, sign)
	case metrics.Percent:
		return fmt.Sprintf("%s1pp, %s10%% or <= 60%%", sign, sign)
	}
	return fmt.Sprintf("%s2, %s10%% or <= 50", sign, sign)
}

// Lenient says whether a candidate equal to the baseline is always within the limit.
func (l Limit) Lenient(better metrics.Better) bool {
	if l.Off {
		return true
	}
	for _, b := range l.Alternatives {
		switch b.Kind {
		case Change, Relative:
			if b.Both || b.By == 0 || (b.By > 0) == (better == metrics.Less) {
				return true
			}
		}
	}
	return false
}

// epsilon is what rounding of a report may add.
const epsilon = 1e-9

// holds says whether a change from base to v is within the bound, for a metric that should go in a direction.
func (b Bound) holds(base, v float64, better metrics.Better) bool {
	by := b.By
	switch b.Kind {
	case AtMost:
		return v <= by+epsilon
	case AtLeast:
		return v >= by-epsilon
	case Relative:
		by = math.Abs(base) * by / 100
	}
	switch {
	case b.Both:
		return math.Abs(v-base) <= math.Abs(by)+epsilon
	case better == metrics.More:
		return v-base >= by-epsilon
	}
	return v-base <= by+epsilon
}

// Holds says whether a change from base to v is within the limit.
func (l Limit) Holds(base, v float64, better metrics.Better) bool {
	if l.Off {
		return true
	}
	for _, b := range l.Alternatives {
		if b.holds(base, v, better) {
			return true
		}
	}
	return false
}
