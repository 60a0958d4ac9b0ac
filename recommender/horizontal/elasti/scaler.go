package elasti

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	elastiv1alpha1 "github.com/scalehist/scalehist/api/elasti/v1alpha1"
	"github.com/scalehist/scalehist/internal/near"
)

// Scaler answers for one trigger whether a workload is needed. An error means that it does not know.
type Scaler interface {
	// IsHealthy says whether what it asks has been there for as long as the answers reach back, so that "not needed" can be believed.
	IsHealthy(ctx context.Context) (bool, error)
	// ShouldScaleToZero says whether a workload that has replicas is not needed.
	ShouldScaleToZero(ctx context.Context) (bool, error)
	// ShouldScaleFromZero says whether a workload without replicas is needed. With an error it says true: who prefers too many replicas to
	// requests that nobody answers may follow it.
	ShouldScaleFromZero(ctx context.Context) (bool, error)
	// Close lets go of what the scaler holds. It may be called more than once.
	Close(ctx context.Context) error
}

// Reading is what a scaler last read.
type Reading struct {
	// Query was asked, Value is its answer, Threshold what the value is compared with.
	Query            string
	Value, Threshold float64
	At               time.Time
	// Err is why there is no value.
	Err error
}

// reader is a Scaler that shows what it read.
type reader interface{ Last() Reading }

// Factory makes the scaler of a trigger of its type. The cooldown is how long the workload must be without need; answers of IsHealthy reach
// as far back.
type Factory func(metadata json.RawMessage, cooldown time.Duration) (Scaler, error)

// Registry has the types of triggers by name.
type Registry map[string]Factory

// New makes the scaler of a trigger. The error names the known types, or what is wrong with the metadata.
func (r Registry) New(t elastiv1alpha1.ScaleTrigger, cooldown time.Duration) (Scaler, error) {
	factory, known := r[t.Type]
	if !known {
		names := slices.Sorted(maps.Keys(r))
		return nil, fmt.Errorf("trigger type %q is not known: there is %s%s", t.Type, strings.Join(names, ", "), near.Suggest(t.Type, names))
	}
	s, err := factory(t.Metadata, cooldown)
	if err != nil {
		return nil, fmt.Errorf("trigger %s: %w", t.Type, err)
	}
	return s, nil
}

// Scalers makes the scalers of all triggers of an ElastiService. On an error none is left open.
func (r Registry) Scalers(ctx context.Context, triggers []elastiv1alpha1.ScaleTrigger, cooldown time.Duration) ([]Scaler, error) {
	var out []Scaler
	for i, t := range triggers {
		s, err := r.New(t, cooldown)
		if err != nil {
			for _, open := range out {
				_ = open.Close(ctx) // there is nothing it could have lost
			}
			return nil, fmt.Errorf("triggers[%d]: %w", i, err)
		}
		out = append(out, s)
	}
	return out, nil
}
