package elasti

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Asker evaluates queries.
type Asker interface {
	// Ask gives the values of the series that a PromQL query has at an instant. Errors are *AskError where something is known about why.
	Ask(ctx context.Context, query string, at time.Time) ([]float64, error)
}

// Reasons of AskError, which conditions and events carry.
const (
	ReasonUnreachable = "PrometheusUnreachable" // nobody answers
	ReasonTimeout     = "PrometheusTimeout"     // no answer in time
	ReasonDenied      = "PrometheusDenied"      // the credentials are refused
	ReasonFailed      = "PrometheusFailed"      // an answer that is an error, or none of Prometheus
	ReasonEmpty       = "QueryEmpty"
	ReasonSeveral     = "QueryReturnsSeveralSeries"
	ReasonNaN         = "QueryReturnsNaN"
	ReasonInfinite    = "QueryReturnsInfinity"
)

// AskError is why a query has no answer that could be used.
type AskError struct {
	// Reason is one of the constants.
	Reason string
	// Err says more, and what can be done.
	Err error
}

// Error implements error.
func (e *AskError) Error() string { return e.Err.Error() }

// Unwrap gives what was wrapped.
func (e *AskError) Unwrap() error { return e.Err }

// ReasonOf is the reason of an error, or another one where it has none.
func ReasonOf(err error, other string) string {
	var ask *AskError
	if errors.As(err, &ask) {
		return ask.Reason
	}
	return other
}

// oneNumber is the one finite value that an answer must be. KubeElasti's scaler takes NaN for a value, which is below no threshold, so that a
// query that divides by zero keeps a workload up for ever; and takes -1 for no answer, which a metric may well be.
func oneNumber(query string, values []float64) (float64, error) {
	switch {
	case len(values) == 0:
		return 0, &AskError{ReasonEmpty, fmt.Errorf("query %s has no series: add \"or vector(0)\" if that means none", query)}
	case len(values) > 1:
		return 0, &AskError{ReasonSeveral, fmt.Errorf("query %s has %d series: aggregate them, with sum() or max()", query, len(values))}
	case math.IsNaN(values[0]):
		return 0, &AskError{ReasonNaN, fmt.Errorf("query %s is NaN: is something divided by zero?", query)}
	case math.IsInf(values[0], 0):
		return 0, &AskError{ReasonInfinite, fmt.Errorf("query %s is %v: is something divided by zero?", query, values[0])}
	}
	return values[0], nil
}
