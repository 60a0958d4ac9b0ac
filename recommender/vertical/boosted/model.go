package boosted

import (
	"errors"
	"fmt"
	"math"
)

// Model predicts a quantile of a target from a row of numbers.
type Model struct {
	Quantile float64 `json:"quantile"`
	// Features is how many numbers a row has.
	Features int `json:"features"`
	// Base is what is predicted without trees; each tree adds to it.
	Base  float64 `json:"base"`
	Trees []Tree  `json:"trees"`
}

// Tree has its nodes in columns; node 0 is the root. A node whose Feature is -1 is a leaf with a Value. Another goes to node Left where the
// row's feature is at most At, and to the one after Left otherwise.
type Tree struct {
	Feature []int     `json:"feature"`
	At      []float32 `json:"at"`
	Left    []int     `json:"left"`
	Value   []float32 `json:"value"`
}

// Predict is what the model says of a row, which has as many numbers as Features.
func (m *Model) Predict(row []float64) float64 {
	out := m.Base
	for i := range m.Trees {
		out += float64(m.Trees[i].value(row))
	}
	return out
}

func (t *Tree) value(row []float64) float32 {
	n := 0
	for t.Feature[n] >= 0 {
		next := t.Left[n]
		if row[t.Feature[n]] > float64(t.At[n]) {
			next++
		}
		n = next
	}
	return t.Value[n]
}

// The most of what Check takes.
const (
	maxTrees = 10_000
	maxNodes = 1 << 12
)

// Check says what is wrong with a model that was read for rows of so many numbers: Predict of one without errors ends, and does not panic.
func (m *Model) Check(features int) error {
	switch {
	case m.Features != features:
		return fmt.Errorf("it takes %d features: want %d", m.Features, features)
	case !(m.Quantile > 0 && m.Quantile < 1), math.IsNaN(m.Base) || math.IsInf(m.Base, 0):
		return fmt.Errorf("quantile %g, base %g: want a quantile between 0 and 1, and a number", m.Quantile, m.Base)
	case len(m.Trees) > maxTrees:
		return fmt.Errorf("it has %d trees: want at most %d", len(m.Trees), maxTrees)
	}
	for i := range m.Trees {
		if err := m.Trees[i].check(features); err != nil {
			return fmt.Errorf("tree %d: %w", i, err)
		}
	}
	return nil
}

func (t *Tree) check(features int) error {
	n := len(t.Feature)
	if n == 0 || n > maxNodes || len(t.At) != n || len(t.Left) != n || len(t.Value) != n {
		return errors.New("its columns do not have the same number of nodes, from 1 to 4096")
	}
	for k, f := range t.Feature {
		if f < -1 || f >= features {
			return fmt.Errorf("node %d looks at feature %d", k, f)
		}
		if f >= 0 && (t.Left[k] <= k || t.Left[k] >= n-1) { // children come later, so that walks end
			return fmt.Errorf("node %d goes to node %d", k, t.Left[k])
		}
	}
	return nil
}
