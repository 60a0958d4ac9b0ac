package vertical

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// seen is what rules remember per container, in a form that JSON keeps.
type seen[T any] struct {
	Containers map[string]*T `json:"containers"`
}

// of is what is remembered of a container, made where there is nothing.
func (s *seen[T]) of(container string) *T {
	if s.Containers == nil {
		s.Containers = map[string]*T{}
	}
	if s.Containers[container] == nil {
		s.Containers[container] = new(T)
	}
	return s.Containers[container]
}

// names are the containers that were seen, in order.
func (s *seen[T]) names() []string { return slices.Sorted(maps.Keys(s.Containers)) }

// Reset implements Recommender.
func (s *seen[T]) Reset() { s.Containers = nil }

// Save implements Recommender.
func (s *seen[T]) Save(w io.Writer, _ time.Time) error { return json.NewEncoder(w).Encode(s) }

// Load implements Recommender.
func (s *seen[T]) Load(r io.Reader) error {
	var loaded seen[T]
	if err := json.NewDecoder(r).Decode(&loaded); err != nil {
		return fmt.Errorf("what was saved of a recommender: %w", err)
	}
	for name, c := range loaded.Containers {
		if c == nil {
			return fmt.Errorf("what was saved of a recommender: container %s is null", name)
		}
	}
	*s = loaded
	return nil
}

// restarted is what a container needs that ran out of memory: upstream's bump, by its defaults (recommender/model/aggregations_config.go).
func restarted(requested int64) int64 {
	requested = max(0, requested)
	return max(requested+requested/5, requested+100<<20)
}
