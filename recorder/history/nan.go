package history

import "math"

// storedNaN is NaN in the column sample.value: the smallest number that a REAL holds. SQLite has no NaN, and makes a NULL of
// it, which the column does not take; infinities it has. A value of just that size is stored as the next one.
const storedNaN = -math.MaxFloat64

func storedValue(v float64) float64 {
	switch {
	case math.IsNaN(v):
		return storedNaN
	case v == storedNaN:
		return math.Nextafter(storedNaN, 0)
	}
	return v
}

// valueFrom is the inverse of storedValue.
func valueFrom(v float64) float64 {
	if v == storedNaN {
		return math.NaN()
	}
	return v
}
