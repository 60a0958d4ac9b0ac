package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/scalehist/scalehist"
)

// Sharing says how a metric of a workload divides over its replicas.
type Sharing string

// The kinds of sharing.
const (
	// Divided is work in total, which the ready replicas share evenly: CPU of a service in cores, requests per second. What a replica
	// cannot take (a CPU limit) and what nobody is ready for is lost.
	Divided Sharing = "divided"
	// Queued work waits until a replica serves it: messages per second of a queue. Its metric is how many wait.
	Queued Sharing = "queued"
	// Held is work in total, as Divided, but what comes while nobody is ready is held, as a proxy before a service at zero does, until one is, at most
	// Series.Hold; what waited longer is lost.
	Held Sharing = "held"
	// Each replica has it, however many there are: memory in bytes.
	Each Sharing = "each"
	// Aged is as Each, by how long a container has run: a leak. Of its points, instants count from Series.Origin as from the container's start.
	Aged Sharing = "aged"
	// External is a value that replicas have no part in: it is what it was.
	External Sharing = "external"
)

// Sharings lists the kinds.
var Sharings = []Sharing{Divided, Queued, Held, Each, Aged, External}

// The names of the metrics that are usage of resources.
const (
	CPU    = "cpu"    // in cores
	Memory = "memory" // in bytes
)

// Series is the demand of a workload for one metric over time.
type Series struct {
	Workload scalehist.WorkloadRef
	// Container whose usage it is; empty for a metric of whole pods, and for the usage of all containers of a pod, of which then the first
	// has all.
	Container string
	// Metric is CPU, Memory, or a name as an autoscaler asks for it.
	Metric  string
	Sharing Sharing
	// Serves is what one ready replica takes off a queue, per second. Only of Queued.
	Serves float64
	// Hold is how long work waits for a ready replica before it is lost. Only of Held.
	Hold time.Duration `json:",omitempty"`
	// Origin is the instant among the points at which containers start. Only of Aged.
	Origin time.Time `json:",omitzero"`
	// Latency is how soon its work is to be done; nil where nobody says.
	Latency *Latency `json:",omitempty"`
	// Points are in time order; each holds until the next. Before the first the value is not known.
	Points []Point
}

// Point is a value from an instant on. NaN stands for "not known": a gap of a recording.
type Point struct {
	At    time.Time
	Value float64
}

// MarshalJSON implements json.Marshaler; JSON has no NaN.
func (p Point) MarshalJSON() ([]byte, error) {
	if math.IsNaN(p.Value) {
		return json.Marshal([]any{p.At, nil})
	}
	return json.Marshal([]any{p.At, p.Value})
}

// Check refuses what no demand can be.
func (s *Series) Check() error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("metric %s of %s: %w", s.Metric, s.Workload, fmt.Errorf(format, args...))
	}
	switch {
	case s.Metric == "":
		return wrong("has no name")
	case !slices.Contains(Sharings, s.Sharing):
		return wrong("sharing %q: choose divided, queued, held, each, aged or external", s.Sharing)
	case s.Sharing == Queued && !(s.Serves > 0) || math.IsInf(s.Serves, 0):
		return wrong("serves %v per second and replica: a queue needs a number above 0", s.Serves)
	case (s.Sharing == Held) != (s.Hold > 0):
		return wrong("hold %s: what is held needs how long, more than 0, and only that", s.Hold)
	case s.Sharing != Queued && s.Serves != 0:
		return wrong("serves is only for what is queued")
	case s.Sharing != Aged && !s.Origin.IsZero():
		return wrong("an origin is only for what is aged")
	case len(s.Points) == 0:
		return wrong("has no points")
	}
	if err := s.checkLatency(); err != nil {
		return wrong("%w", err)
	}
	for i, p := range s.Points {
		switch {
		case i > 0 && !p.At.After(s.Points[i-1].At):
			return wrong("point %d at %s is not after the one before it", i+1, p.At.UTC().Format(time.RFC3339))
		case p.Value < 0 && s.Sharing != External, math.IsInf(p.Value, 0):
			return wrong("point %d: %v is no amount of work", i+1, p.Value)
		}
	}
	return nil
}

// after is the index of the first point after an instant.
func (s *Series) after(t time.Time) int {
	return sort.Search(len(s.Points), func(i int) bool { return s.Points[i].At.After(t) })
}

// At is the value at an instant; false where it is not known.
func (s *Series) At(t time.Time) (float64, bool) {
	i := s.after(t) - 1
	if i < 0 || math.IsNaN(s.Points[i].Value) {
		return 0, false
	}
	return s.Points[i].Value, true
}

// Check refuses a set of series that says two things about one.
func Check(all []Series) error {
	type key struct {
		scalehist.WorkloadRef
		container, metric string
	}
	seen := map[key]bool{}
	var errs []error
	for i := range all {
		s := &all[i]
		k := key{s.Workload, s.Container, s.Metric}
		if err := s.Check(); err != nil {
			errs = append(errs, err)
		} else if seen[k] {
			errs = append(errs, fmt.Errorf("metric %s of %s is given twice", s.Metric, s.Workload))
		}
		seen[k] = true
	}
	return errors.Join(errs...)
}
