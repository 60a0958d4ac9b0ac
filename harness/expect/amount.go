package expect

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/internal/near"
)

// Amount is a quantity of a resource that is wanted, or a range, both ends included. A nil end is open; the zero value takes every amount.
type Amount struct {
	Min, Max *resource.Quantity
}

// AmountForms are how ParseAmount reads amounts, for messages and help.
const AmountForms = `300m, ">= 200m", "<= 1Gi", 200m..300m or any`

// ParseAmount reads an amount: see AmountForms.
func ParseAmount(text string) (Amount, error) {
	text = strings.TrimSpace(text)
	if text == "any" {
		return Amount{}, nil
	}
	quantity := func(s string) (*resource.Quantity, error) {
		q, err := resource.ParseQuantity(strings.TrimSpace(s))
		if err != nil || q.Sign() < 0 {
			return nil, fmt.Errorf("%q is no amount: want %s%s", text, AmountForms, near.Suggest(text, []string{"any"}))
		}
		return &q, nil
	}
	if low, high, ok := strings.Cut(text, ".."); ok {
		a, err := quantity(low)
		if err != nil {
			return Amount{}, err
		}
		b, err := quantity(high)
		if err == nil && b.Cmp(*a) < 0 {
			err = fmt.Errorf("%q: %s is more than %s", text, a, b)
		}
		return Amount{a, b}, err
	}
	if rest, ok := strings.CutPrefix(text, ">="); ok {
		q, err := quantity(rest)
		return Amount{Min: q}, err
	}
	if rest, ok := strings.CutPrefix(text, "<="); ok {
		q, err := quantity(rest)
		return Amount{Max: q}, err
	}
	q, err := quantity(text)
	return Amount{q, q}, err
}

// Holds says whether an amount is wanted, up to what floating point loses.
func (a Amount) Holds(v float64) bool {
	const least = 1e-9
	low := a.Min == nil || v >= a.Min.AsApproximateFloat64()-least*math.Max(1, v)
	return low && (a.Max == nil || v <= a.Max.AsApproximateFloat64()+least*math.Max(1, v))
}

// String is the amount as ParseAmount reads it.
func (a Amount) String() string {
	switch {
	case a.Min == nil && a.Max == nil:
		return "any"
	case a.Max == nil:
		return ">= " + a.Min.String()
	case a.Min == nil:
		return "<= " + a.Max.String()
	case a.Min.Cmp(*a.Max) == 0:
		return a.Min.String()
	}
	return a.Min.String() + ".." + a.Max.String()
}
