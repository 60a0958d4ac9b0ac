package vertical

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/recommender/vertical/boosted"
)

var boostedKind = Kind{
	Name:  "boosted",
	About: "the highest usage of the next hours that boosted trees predict, which were trained on a history or on generated load",
	Options: []Option{
		{Name: "model", Default: "", About: "file of a model that 'scalehist train boosted' made (default: one trained on generated load)"},
		{Name: "margin", Default: "0.05", About: "what is added to what is predicted, as a fraction"},
		{Name: "band", Default: "0.35", About: "how far a request may be above the target, as a fraction of it, before it is changed"},
	},
	Make: func(o *spec.Values) Maker {
		margin, band := o.Number("margin", 0, 100), o.Number("band", 0, 100)
		m, err := readModel(o.Text("model"), defaultBoosted, ParseBoostedModel)
		if o.Err == nil {
			o.Err = err
		}
		return func(Workload) (Recommender, error) {
			return &boostedRecommender{model: m, margin: margin, band: band}, nil
		}
	},
}

//go:embed models/boosted.json
var boostedModel []byte

var defaultBoosted = sync.OnceValues(func() (*BoostedModel, error) { return ParseBoostedModel(bytes.NewReader(boostedModel)) })

// maxModel bounds a file of a model, in bytes.
const maxModel = 64 << 20

// readModel reads a model of a file, or the one that is built in where there is no file.
func readModel[M any](path string, builtIn func() (*M, error), parse func(io.Reader) (*M, error)) (m *M, err error) {
	if path == "" {
		return builtIn()
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	if m, err = parse(f); err != nil {
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	return m, nil
}

// ModelVersion is that of files of models.
const ModelVersion = 1

// Trained says what a model is and where it came from; every file of a model has it.
type Trained struct {
	Version int `json:"version"`
	// Recommender is the name of the recommender that takes it.
	Recommender string `json:"recommender"`
	Seed        uint64 `json:"seed"`
	// On are the names of what it was trained on.
	On []string `json:"on"`
}

func (t *Trained) check(name string) error {
	if t.Version != ModelVersion || t.Recommender != name {
		return fmt.Errorf("it is version %d of a model of %q: want version %d of %q: train it again with 'scalehist train %s'", t.Version, t.Recommender, ModelVersion, name, name)
	}
	return nil
}

// BoostedModel is what the boosted recommender predicts with: a share of the highest usage of a day, from a row of past.
type BoostedModel struct {
	Trained
	// Horizon is how far is predicted, in steps of PastStep.
	Horizon int            `json:"horizon"`
	CPU     *boosted.Model `json:"cpu"`
	Memory  *boosted.Model `json:"memory"`
}

// ParseBoostedModel reads a model, and checks it.
func ParseBoostedModel(r io.Reader) (*BoostedModel, error) {
	m, err := decodeModel[BoostedModel](r)
	if err != nil {
		return nil, err
	}
	return m, m.Check()
}

func decodeModel[M any](r io.Reader) (*M, error) {
	m := new(M)
	d := json.NewDecoder(io.LimitReader(r, maxModel))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return nil, fmt.Errorf("it is no model: %w", err)
	}
	return m, nil
}

// Check says what is wrong with the model.
func (m *BoostedModel) Check() error {
	if err := m.check("boosted"); err != nil {
		return err
	}
	if m.Horizon < 1 || m.Horizon > pastDay || m.CPU == nil || m.Memory == nil {
		return fmt.Errorf("horizon of %d steps: want 1 to %d, and trees of both resources", m.Horizon, pastDay)
	}
	for _, one := range []*boosted.Model{m.CPU, m.Memory} {
		if err := one.Check(Features); err != nil {
			return err
		}
	}
	return nil
}

// boostedRecommender recommends what its model predicts.
type boostedRecommender struct {
	seen[pasts]
	model        *BoostedModel
	margin, band float64
	// answers are what was recommended last, by container, until what is known of it changes.
	answers map[string]*answer
}

// answer is a recommendation, and what it was made of.
type answer struct {
	last        int64
	cpu, memory int64
	is          Recommendation
}

// Observe implements Recommender. Memory that ran out counts as what upstream takes for needed.
func (b *boostedRecommender) Observe(s Sample) error { return observePast(&b.seen, s) }

func observePast(all *seen[pasts], s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.OOM {
		s.Usage = Amount{Unset, restarted(s.Requested)}
	}
	c := all.of(s.Container)
	c.CPU.add(s.At, s.Usage.CPUMilli)
	c.Memory.add(s.At, s.Usage.MemoryBytes)
	return nil
}

// recommendPast asks of for each container of which something new is known, and answers as before for the others.
func recommendPast(all *seen[pasts], answers *map[string]*answer, of func(c *pasts, r *Recommendation)) []Recommendation {
	if *answers == nil {
		*answers = map[string]*answer{}
	}
	var out []Recommendation
	for _, name := range all.names() {
		c := all.of(name)
		a := (*answers)[name]
		cpu, memory := c.CPU.Values[len(c.CPU.Values)-1], c.Memory.Values[len(c.Memory.Values)-1]
		if a == nil || a.last != c.CPU.Last || a.cpu != cpu || a.memory != memory {
			a = &answer{last: c.CPU.Last, cpu: cpu, memory: memory, is: Recommendation{name, None, None, None}}
			of(c, &a.is)
			(*answers)[name] = a
		}
		if a.is.Target != None {
			out = append(out, a.is)
		}
	}
	return out
}

// Recommend implements Recommender: the target is what is predicted, or what is used now if that is more, and the margin; the lower bound is
// that without the margin, the upper one has the band. For the first hour it is what max-usage recommends.
func (b *boostedRecommender) Recommend(context.Context, time.Time) ([]Recommendation, error) {
	return recommendPast(&b.seen, &b.answers, func(c *pasts, r *Recommendation) {
		r.Lower.CPUMilli, r.Target.CPUMilli, r.Upper.CPUMilli = b.bounds(&c.CPU, b.model.CPU)
		r.Lower.MemoryBytes, r.Target.MemoryBytes, r.Upper.MemoryBytes = b.bounds(&c.Memory, b.model.Memory)
	}), nil
}

func (b *boostedRecommender) bounds(p *past, m *boosted.Model) (lower, target, upper int64) {
	if len(p.Values) <= pastHour {
		most, _ := p.window(pastHour+1, 0)
		return most, times(most, 1.15), times(most, 1.3) // the margin of max-usage
	}
	row, scale, ok := p.row(b.model.Horizon)
	if !ok {
		return Unset, Unset, Unset
	}
	needed := max(m.Predict(row[:]), row[0], 0) * scale
	return up(needed), up(needed * (1 + b.margin)), up(needed * (1 + b.margin) * (1 + b.band))
}

// Reset implements Recommender.
func (b *boostedRecommender) Reset() { b.seen.Reset(); b.answers = nil }

// Load implements Recommender.
func (b *boostedRecommender) Load(r io.Reader) error {
	b.answers = nil
	return loadPast(&b.seen, r)
}

// loadPast refuses what was saved without values.
func loadPast(s *seen[pasts], r io.Reader) error {
	var loaded seen[pasts]
	if err := loaded.Load(r); err != nil {
		return err
	}
	for name, c := range loaded.Containers {
		if len(c.CPU.Values) == 0 || len(c.Memory.Values) == 0 || len(c.CPU.Values) > 5*pastDay || len(c.Memory.Values) > 5*pastDay {
			return fmt.Errorf("what was saved of a recommender: container %s has %d and %d values: want 1 to %d", name, len(c.CPU.Values), len(c.Memory.Values), 5*pastDay)
		}
	}
	*s = loaded
	return nil
}
