package load

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
)

// rampStep is how far apart the points of a ramp are: what a metrics server sees at most (--metric-resolution).
const rampStep = 15 * time.Second

// maxPoints bounds what the ramps of a file come to.
const maxPoints = 1_000_000

// Source gives the series of a replay that starts at an instant.
type Source func(start time.Time) ([]Series, error)

// Given is a source of series that are known.
func Given(series ...Series) Source {
	return func(time.Time) ([]Series, error) { return series, Check(series) }
}

// file is a file of series.
type file struct {
	Series []fileSeries `json:"series"`
}

type fileSeries struct {
	Workload  string       `json:"workload"`
	Container string       `json:"container,omitempty"`
	Metric    string       `json:"metric"`
	Sharing   Sharing      `json:"sharing,omitempty"`
	Serves    float64      `json:"serves,omitempty"`
	Hold      string       `json:"hold,omitempty"`
	Latency   *fileLatency `json:"latency,omitempty"`
	Points    []filePoint  `json:"points"`
}

type fileLatency struct {
	Limit   scalehist.Duration `json:"limit"`
	Service scalehist.Duration `json:"service,omitempty"`
}

type filePoint struct {
	At    string             `json:"at"`
	Value *resource.Quantity `json:"value"`
	Over  string             `json:"over,omitempty"`
}

// Parse reads a file of series (YAML). Its offsets count from the start of the replay. The sharing is divided for cpu, each for memory and external for others
// where the file does not say it; a point with "over" is reached in a straight line that begins at its instant.
//
//	series:
//	- workload: Deployment/shop/web
//	  metric: cpu
//	  points:
//	  - {at: 0s, value: 500m}
//	  - {at: 10m, value: 4, over: 30m}
func Parse(data []byte) (Source, error) {
	var f file
	if err := decode.YAML(data, &f); err != nil {
		return nil, err
	}
	if len(f.Series) == 0 {
		return nil, errors.New("there are no series in it")
	}
	if _, err := f.at(time.Time{}); err != nil {
		return nil, err
	}
	return f.at, nil
}

// at gives the series of a replay that starts at an instant; at the zero one, only what is wrong whenever it starts.
func (f file) at(start time.Time) ([]Series, error) {
	var out []Series
	for i, s := range f.Series {
		parsed, err := s.parse(start)
		if err != nil {
			return nil, fmt.Errorf("series %d: %w", i+1, err)
		}
		if start.IsZero() && s.mixed() {
			parsed.Points = parsed.Points[:min(1, len(parsed.Points))] // their order depends on the start
		}
		out = append(out, parsed)
	}
	return out, Check(out)
}

// mixed says whether there are offsets and instants among the points.
func (f fileSeries) mixed() bool {
	offsets := 0
	for _, p := range f.Points {
		if _, err := time.ParseDuration(p.At); err == nil {
			offsets++
		}
	}
	return offsets > 0 && offsets < len(f.Points)
}

func (f fileSeries) parse(start time.Time) (Series, error) {
	s := Series{Container: f.Container, Metric: f.Metric, Sharing: f.Sharing, Serves: f.Serves}
	var err error
	if s.Workload, err = ParseWorkload(f.Workload); err != nil {
		return s, err
	}
	if s.Sharing == "" {
		s.Sharing = usualSharing(s.Metric)
	}
	if s.Sharing == Aged {
		s.Origin = start
	}
	if l := f.Latency; l != nil {
		s.Latency = &Latency{Limit: time.Duration(l.Limit), Service: time.Duration(l.Service)}
	}
	if f.Hold != "" {
		if s.Hold, err = time.ParseDuration(f.Hold); err != nil {
			return s, fmt.Errorf("hold: %q is no duration such as 2m", f.Hold)
		}
	}
	last := 0.0
	for i, p := range f.Points {
		at, err := instant(p.At, start)
		if err != nil {
			return s, fmt.Errorf("point %d: at: %w", i+1, err)
		}
		if _, notOffset := time.ParseDuration(p.At); notOffset != nil && s.Sharing == Aged {
			return s, fmt.Errorf("point %d: at: %s is an instant: what is aged counts from the start of each container, so write an offset such as 10m", i+1, p.At)
		}
		if p.Value == nil {
			return s, fmt.Errorf("point %d: value is not set", i+1)
		}
		value := p.Value.AsApproximateFloat64()
		if p.Over != "" {
			over, err := time.ParseDuration(p.Over)
			if err != nil || over <= 0 {
				return s, fmt.Errorf("point %d: over: %q is no duration such as 30m", i+1, p.Over)
			}
			if i == 0 {
				return s, fmt.Errorf("point 1: over: there is no value before it to begin from")
			}
			steps := int((over + rampStep - 1) / rampStep)
			if len(s.Points)+steps > maxPoints {
				return s, fmt.Errorf("point %d: over: ramps come to more than %d points, one every %s", i+1, maxPoints, rampStep)
			}
			for n := 1; n < steps; n++ {
				s.Points = append(s.Points, Point{at.Add(time.Duration(n) * rampStep), last + (value-last)*float64(n)*float64(rampStep)/float64(over)})
			}
			at = at.Add(over)
		}
		s.Points, last = append(s.Points, Point{at, value}), value
	}
	return s, nil
}

func usualSharing(metric string) Sharing {
	switch metric {
	case CPU:
		return Divided
	case Memory:
		return Each
	}
	return External
}

// instant reads an offset from start, or an instant.
func instant(text string, start time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return start.Add(d), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither an offset from the start such as 10m nor an instant such as 2024-05-28T10:00:00Z", text)
	}
	return at.UTC(), nil
}

// ParseWorkload reads "Deployment/shop/web".
func ParseWorkload(text string) (scalehist.WorkloadRef, error) {
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return scalehist.WorkloadRef{}, fmt.Errorf("workload %q: write KIND/NAMESPACE/NAME, such as Deployment/shop/web", text)
	}
	return scalehist.WorkloadRef{Kind: parts[0], Namespace: parts[1], Name: parts[2]}, nil
}
