package boosted

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Options say how a model is trained.
type Options struct {
	// Quantile is what is predicted, between 0 and 1.
	Quantile float64
	// Trees is how many there are at most, Depth how deep each is, Leaf how many rows a leaf has at least.
	Trees, Depth, Leaf int
	// Rate is how much of a tree counts, Sample the share of rows that each tree is fitted to.
	Rate, Sample float64
	Seed         uint64
}

// DefaultOptions are those of a model of a quantile.
func DefaultOptions(quantile float64, seed uint64) Options {
	return Options{Quantile: quantile, Trees: 120, Depth: 5, Leaf: 40, Rate: 0.1, Sample: 0.5, Seed: seed}
}

// Data are rows with a target each.
type Data struct {
	Rows    [][]float64
	Targets []float64
}

// Point is one of the learning curve: the mean loss after so many trees, of the rows that were trained on and of those held back.
type Point struct {
	Trees           int
	Trained, Tested float64
}

// maxBins is into how many parts the values of a feature are divided at most.
const maxBins = 64

// Train fits a model. The trees after the one with the least loss of what was held back are left out of it; the curve has all.
func Train(ctx context.Context, train, held Data, o Options) (*Model, []Point, error) {
	if len(train.Rows) < 2*o.Leaf || len(held.Rows) == 0 {
		return nil, nil, fmt.Errorf("there are %d rows to train on and %d to test with: want %d and 1, or more: give more load, or longer", len(train.Rows), len(held.Rows), 2*o.Leaf)
	}
	if o.Quantile <= 0 || o.Quantile >= 1 || o.Trees < 1 || o.Depth < 1 || o.Depth > 10 || o.Leaf < 1 || !(o.Sample > 0) {
		return nil, nil, errors.New("options of trees are out of range")
	}
	t := &trainer{o: o, train: train, dice: rand.New(rand.NewPCG(o.Seed, 0))}
	t.bin()
	m := &Model{Quantile: o.Quantile, Features: len(train.Rows[0]), Base: quantile(slices.Clone(train.Targets), o.Quantile)}
	t.predicted = constant(len(train.Rows), m.Base)
	tested := constant(len(held.Rows), m.Base)
	curve := []Point{{0, o.loss(train.Targets, t.predicted), o.loss(held.Targets, tested)}}
	best := 0
	for n := range o.Trees {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		tree := t.tree()
		for i, row := range train.Rows {
			t.predicted[i] += float64(tree.value(row))
		}
		for i, row := range held.Rows {
			tested[i] += float64(tree.value(row))
		}
		m.Trees = append(m.Trees, tree)
		curve = append(curve, Point{n + 1, o.loss(train.Targets, t.predicted), o.loss(held.Targets, tested)})
		if curve[n+1].Tested < curve[best].Tested {
			best = n + 1
		}
	}
	m.Trees = m.Trees[:best:best]
	return m, curve, nil
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// loss is the mean pinball loss.
func (o *Options) loss(targets, predicted []float64) float64 {
	sum := 0.0
	for i, y := range targets {
		if d := y - predicted[i]; d > 0 {
			sum += o.Quantile * d
		} else {
			sum -= (1 - o.Quantile) * d
		}
	}
	return sum / float64(len(targets))
}

// quantile is the nearest rank; it sorts the values.
func quantile(values []float64, q float64) float64 {
	slices.Sort(values)
	return values[min(len(values)-1, max(0, int(math.Ceil(q*float64(len(values))))-1))]
}

type trainer struct {
	o         Options
	train     Data
	dice      *rand.Rand
	cuts      [][]float32 // by feature, in order
	bins      [][]uint8   // by feature and row: how many cuts are less than the value
	predicted []float64
}

// bin divides the values of each feature where equally many rows are.
func (t *trainer) bin() {
	rows := t.train.Rows
	for f := range rows[0] {
		values := make([]float64, len(rows))
		for i, row := range rows {
			values[i] = row[f]
		}
		slices.Sort(values)
		var cuts []float32
		for k := 1; k < maxBins; k++ {
			cut := float32(values[k*len(values)/maxBins])
			if float64(cut) < values[len(values)-1] && (len(cuts) == 0 || cut > cuts[len(cuts)-1]) {
				cuts = append(cuts, cut)
			}
		}
		bins := make([]uint8, len(rows))
		for i, row := range rows {
			at, _ := slices.BinarySearchFunc(cuts, row[f], func(cut float32, v float64) int {
				if float64(cut) < v {
					return -1
				}
				return 1
			})
			bins[i] = uint8(at)
		}
		t.cuts, t.bins = append(t.cuts, cuts), append(t.bins, bins)
	}
}

// tree fits one to a sample of the rows: splits by the gradient of the loss, which is Quantile above what is predicted and Quantile-1 below it,
// and leaves with the quantile of what is left.
func (t *trainer) tree() Tree {
	var rows []int
	for i := range t.train.Rows {
		if t.dice.Float64() < t.o.Sample {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		rows = []int{0}
	}
	out := Tree{}
	out.node()
	t.grow(&out, 0, rows, 0)
	return out
}

func (t *Tree) node() int {
	t.Feature, t.At, t.Left, t.Value = append(t.Feature, -1), append(t.At, 0), append(t.Left, 0), append(t.Value, 0)
	return len(t.Feature) - 1
}

func (t *trainer) grow(out *Tree, n int, rows []int, depth int) {
	feature, cut := -1, 0
	if depth < t.o.Depth && len(rows) >= 2*t.o.Leaf {
		feature, cut = t.split(rows)
	}
	if feature < 0 {
		rest := make([]float64, len(rows))
		for k, i := range rows {
			rest[k] = t.train.Targets[i] - t.predicted[i]
		}
		out.Value[n] = float32(t.o.Rate * quantile(rest, t.o.Quantile))
		return
	}
	var left, right []int
	for _, i := range rows {
		if int(t.bins[feature][i]) <= cut {
			left = append(left, i)
		} else {
			right = append(right, i)
		}
	}
	out.Feature[n], out.At[n] = feature, t.cuts[feature][cut]
	out.Left[n] = out.node()
	out.node()
	t.grow(out, out.Left[n], left, depth+1)
	t.grow(out, out.Left[n]+1, right, depth+1)
}

// tie is within what a target counts as the one that is predicted.
const tie = 1e-6

// split is the feature and the cut that part the gradients best, -1 where none does. Gradients have three values, 0 of a target that is what is
// predicted, so sums are counts.
func (t *trainer) split(rows []int) (feature, cut int) {
	side := make([]uint8, len(rows))
	var all [3]int // below, as predicted, above
	for k, i := range rows {
		switch d := t.train.Targets[i] - t.predicted[i]; {
		case d > tie:
			side[k] = 2
		case d >= -tie:
			side[k] = 1
		}
		all[side[k]]++
	}
	sum := func(n [3]int) float64 { // squared, by rows
		s := t.o.Quantile*float64(n[2]) - (1-t.o.Quantile)*float64(n[0])
		return s * s / float64(n[0]+n[1]+n[2])
	}
	feature = -1
	best := sum(all) + 1e-9
	for f := range t.bins {
		var count [maxBins][3]int
		for k, i := range rows {
			count[t.bins[f][i]][side[k]]++
		}
		var left [3]int
		for c := range t.cuts[f] {
			right := all
			for k := range left {
				left[k] += count[c][k]
				right[k] -= left[k]
			}
			if n := left[0] + left[1] + left[2]; n < t.o.Leaf || len(rows)-n < t.o.Leaf {
				continue
			}
			if s := sum(left) + sum(right); s > best {
				best, feature, cut = s, f, c
			}
		}
	}
	return feature, cut
}
