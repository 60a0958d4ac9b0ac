package expect

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/scalehist/scalehist/internal/near"
)

// Count is a number that is wanted, or a range of numbers, both ends included. The zero value wants exactly 0.
type Count struct {
	Min, Max int
}

// Exactly wants n.
func Exactly(n int) Count { return Count{n, n} }

// AtLeast wants n or more.
func AtLeast(n int) Count { return Count{n, math.MaxInt} }

// AtMost wants n or fewer.
func AtMost(n int) Count { return Count{0, n} }

// Between wants low to high.
func Between(low, high int) Count { return Count{low, high} }

// AnyCount takes every number.
var AnyCount = Count{0, math.MaxInt}

// CountForms are how ParseCount reads counts, for messages and help.
const CountForms = `3, ">= 2", "<= 4", "> 1", "< 5", 2..4 or any`

// ParseCount reads a count: see CountForms.
func ParseCount(text string) (Count, error) {
	text = strings.TrimSpace(text)
	if text == "any" {
		return AnyCount, nil
	}
	number := func(s string) (int, error) {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n > math.MaxInt32 {
			return 0, fmt.Errorf("%q is no count: want %s%s", text, CountForms, near.Suggest(text, []string{"any"}))
		}
		return n, nil
	}
	if low, high, ok := strings.Cut(text, ".."); ok {
		a, err := number(low)
		if err != nil {
			return Count{}, err
		}
		b, err := number(high)
		if err == nil && b < a {
			err = fmt.Errorf("%q: %d is more than %d", text, a, b)
		}
		return Between(a, b), err
	}
	for _, op := range []struct {
		sign string
		of   func(int) Count
	}{
		{">=", AtLeast}, {"<=", AtMost}, {">", func(n int) Count { return AtLeast(n + 1) }}, {"<", func(n int) Count { return AtMost(n - 1) }},
	} {
		rest, ok := strings.CutPrefix(text, op.sign)
		if !ok {
			continue
		}
		n, err := number(rest)
		if err == nil && op.sign == "<" && n == 0 {
			err = fmt.Errorf("%q: nothing is less than 0", text)
		}
		return op.of(n), err
	}
	n, err := number(text)
	return Exactly(n), err
}

// Holds says whether n is wanted.
func (c Count) Holds(n int) bool { return n >= c.Min && n <= c.Max }

// Exact says whether one number is wanted, and which.
func (c Count) Exact() (int, bool) { return c.Min, c.Min == c.Max }

// String is the count as ParseCount reads it.
func (c Count) String() string {
	switch {
	case c.Min == c.Max:
		return strconv.Itoa(c.Min)
	case c.Min <= 0 && c.Max == math.MaxInt:
		return "any"
	case c.Max == math.MaxInt:
		return fmt.Sprintf(">= %d", c.Min)
	case c.Min <= 0:
		return fmt.Sprintf("<= %d", c.Max)
	}
	return fmt.Sprintf("%d..%d", c.Min, c.Max)
}

// nearest is the wanted number next to n.
func (c Count) nearest(n int) int { return min(max(n, c.Min), c.Max) }
