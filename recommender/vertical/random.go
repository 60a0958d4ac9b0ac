package vertical

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scalehist/scalehist/internal/spec"
)

var randomKind = Kind{
	Name:  "random",
	About: "bounds and target drawn evenly from a range at each recommendation: what any other must beat",
	Options: []Option{
		{Name: "seed", Default: "1", About: "seed of what is drawn"},
		{Name: "min-cpu", Default: "10m", About: "least CPU"}, {Name: "max-cpu", Default: "4", About: "most CPU"},
		{Name: "min-memory", Default: "16Mi", About: "least memory"}, {Name: "max-memory", Default: "8Gi", About: "most memory"},
	},
	Make: func(o *spec.Values) Maker {
		seed := o.Whole("seed")
		from := Amount{o.Quantity("min-cpu", true), o.Quantity("min-memory", false)}
		to := Amount{o.Quantity("max-cpu", true), o.Quantity("max-memory", false)}
		if o.Err == nil && (from.CPUMilli > to.CPUMilli || from.MemoryBytes > to.MemoryBytes) {
			o.Err = fmt.Errorf("the least is more than the most: swap them")
		}
		return func(w Workload) (Recommender, error) { return newRandom(seed, from, to, w), nil }
	},
}

// random draws for each container from a source of its own, so that another container changes nothing.
type random struct {
	seed     uint64
	from, to Amount
	sources  map[string]*rand.PCG
}

// newRandom mixes the seed with the names of the workload, so that two workloads do not get the same.
func newRandom(seed uint64, from, to Amount, w Workload) *random {
	return &random{seed: seed ^ hash(w.Namespace+"/"+w.Name), from: from, to: to}
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // which cannot fail
	return h.Sum64()
}

func (r *random) source(container string) *rand.PCG {
	if r.sources == nil {
		r.sources = map[string]*rand.PCG{}
	}
	if r.sources[container] == nil {
		r.sources[container] = rand.NewPCG(r.seed, hash(container))
	}
	return r.sources[container]
}

// Observe implements Recommender.
func (r *random) Observe(s Sample) error {
	r.source(s.Container)
	return s.check()
}

// Recommend implements Recommender: each call draws again.
func (r *random) Recommend(context.Context, time.Time) ([]Recommendation, error) {
	var out []Recommendation
	for _, name := range (&seen[rand.PCG]{r.sources}).names() {
		dice := rand.New(r.source(name))
		draw := func(from, to int64) []int64 {
			three := []int64{from + dice.Int64N(to-from+1), from + dice.Int64N(to-from+1), from + dice.Int64N(to-from+1)}
			slices.Sort(three)
			return three
		}
		cpu, memory := draw(r.from.CPUMilli, r.to.CPUMilli), draw(r.from.MemoryBytes, r.to.MemoryBytes)
		out = append(out, Recommendation{name, Amount{cpu[0], memory[0]}, Amount{cpu[1], memory[1]}, Amount{cpu[2], memory[2]}})
	}
	return out, nil
}

// Reset implements Recommender: what is drawn begins again.
func (r *random) Reset() { r.sources = nil }

// Save implements Recommender.
func (r *random) Save(w io.Writer, _ time.Time) error {
	states := map[string][]byte{}
	for name, s := range r.sources {
		b, err := s.MarshalBinary()
		if err != nil {
			return err
		}
		states[name] = b
	}
	return json.NewEncoder(w).Encode(states)
}

// Load implements Recommender.
func (r *random) Load(in io.Reader) error {
	states := map[string][]byte{}
	if err := json.NewDecoder(in).Decode(&states); err != nil {
		return fmt.Errorf("what was saved of a recommender: %w", err)
	}
	r.sources = nil
	for name, b := range states {
		if err := r.source(name).UnmarshalBinary(b); err != nil {
			return fmt.Errorf("container %s: %w", name, err)
		}
	}
	return nil
}
