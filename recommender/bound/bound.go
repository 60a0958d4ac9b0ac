package bound

import (
	"cmp"
	"math"
	"slices"
)

// The bound is that of a linear program: fractions of nodes and of pods, and of all rules only which groups may take
// which pods, how much of each resource a fresh node has, and how many nodes a group may get.
//
//	min Σ objective(t) x(t)   s.t.   Σt y(c,t) = n(c),   Σc size(c,t,k) y(c,t) <= x(t),   x(t) <= headroom(t)
//
// size(c,t,k) is the share of a fresh node that a pod takes of a resource; and, to see that pods are not cut in pieces, what
// dual feasible functions make of that share (Fekete and Schepers, 2001): with k=1 a pod that needs more than half of a node
// counts as a whole one. Its dual has a price w(t,k) for the resources of each type, and every choice of prices gives a bound:
//
//	Σc n(c) min over t of Σk w(t,k) size(c,t,k)  -  Σt headroom(t) max(0, Σk w(t,k) - objective(t))
//
// So the bound that is reported is computed from the prices for all classes, whatever the solver did; the solver's part is to find
// good prices. It maximises the bound under cuts of this concave function (Kelley): few classes have all their cuts from the
// start, and many share them, so that the program stays small for any number of classes.

const (
	// functions is how many dual feasible functions each resource gets.
	functions = 4
	// maxClusters bounds the sums that have cuts of their own, maxRounds the times cuts are added, closeEnough ends it.
	maxClusters = 32
	maxRounds   = 20
	closeEnough = 1e-4
)

// Problem asks for nodes for the pods of some classes. All amounts are lists of the same resources, in the same order, in units
// that are whole numbers.
type Problem struct {
	Classes []Class
	Types   []Type
	// CPU, Memory and Pods are the places of these resources in amounts. Of the last each pod takes one.
	CPU, Memory, Pods int
}

// Class are pods that are alike.
type Class struct {
	// Count is how many pods there are, Demand what each of them asks for.
	Count  int
	Demand []int64
	// May says by type whether its nodes may take them.
	May []bool
}

// Type are node groups whose fresh nodes are alike.
type Type struct {
	// Free is what a fresh node has, Headroom how many the groups may get, Objective what each of them costs, not below zero.
	Free      []int64
	Headroom  int
	Objective float64
}

// relaxation is the program of a problem.
type relaxation struct {
	*Problem
	// size is by class, type and kind of size.
	size  [][][]float64
	kinds int
	// clusterOf is by class.
	clusterOf []int
	clusters  int
}

// relax states the program. Kinds of sizes that are zero for all are left out.
func (b *Problem) relax() *relaxation {
	r := &relaxation{Problem: b}
	var kinds [][2]int // resource, function
	for slot := range b.Types[0].Free {
		for f := range functions + 1 {
			if slot == b.Pods && f > 0 {
				continue
			}
			used := false
			for _, c := range b.Classes {
				for at, ty := range b.Types {
					used = used || c.May[at] && sizeOn(c.Demand[slot], ty.Free[slot], f) > 0
				}
			}
			if used {
				kinds = append(kinds, [2]int{slot, f})
			}
		}
	}
	r.kinds = len(kinds)
	for _, c := range b.Classes {
		byType := make([][]float64, len(b.Types))
		for at, ty := range b.Types {
			byType[at] = make([]float64, len(kinds))
			for k, kind := range kinds {
				byType[at][k] = sizeOn(c.Demand[kind[0]], ty.Free[kind[0]], kind[1])
			}
		}
		r.size = append(r.size, byType)
	}
	r.cluster()
	return r
}

// sizeOn is the share of a node that a pod takes; with a function k above 0, what the dual feasible function of that
// number makes of it: x when (k+1)x is whole, else floor((k+1)x)/k.
func sizeOn(need, have int64, k int) float64 {
	if need <= 0 {
		return 0
	}
	if have <= 0 {
		return 1
	}
	if whole := int64(k+1) * need; k > 0 && whole%have != 0 {
		return float64(whole/have) / float64(k)
	}
	return float64(need) / float64(have)
}

// Lower is below the objective of every plan that takes the pods of the problem.
func (b *Problem) Lower() float64 {
	if len(b.Classes) == 0 || len(b.Types) == 0 {
		return 0
	}
	r := b.relax()
	best := 0.0
	cuts := r.firstCuts()
	for range maxRounds {
		w, most, ok := r.solve(cuts)
		value, more := r.evaluate(w)
		best = max(best, value)
		if !ok || most-best <= closeEnough*most {
			break
		}
		cuts = append(cuts, more...)
	}
	return b.rounded(best)
}

// cut is a linear function of the prices that is nowhere below a cluster's part of the bound.
type cut struct {
	cluster int
	size    []float64 // by type and kind
}

// cluster splits the classes into as many parts as have cuts of their own: those with the same types and like shapes
// together.
func (r *relaxation) cluster() {
	order := make([]int, len(r.Classes))
	ratio := make([]float64, len(r.Classes))
	for k, c := range r.Classes {
		order[k] = k
		ratio[k] = float64(c.Demand[r.CPU]) / float64(max(1, c.Demand[r.Memory]))
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(slices.CompareFunc(r.Classes[a].May, r.Classes[b].May, func(x, y bool) int {
			switch {
			case x == y:
				return 0
			case x:
				return 1
			}
			return -1
		}), cmp.Compare(ratio[a], ratio[b]))
	})
	r.clusters = min(maxClusters, len(order))
	r.clusterOf = make([]int, len(order))
	for at, k := range order {
		r.clusterOf[k] = at * r.clusters / len(order)
	}
}

// firstCuts give all pods of a cluster to one type, for each type, as far as it may take them. For a cluster of one class
// these are all cuts there are.
func (r *relaxation) firstCuts() []cut {
	var out []cut
	for favourite := range r.Types {
		out = append(out, r.cutsOf(func(k int) int {
			if r.Classes[k].May[favourite] {
				return favourite
			}
			return slices.Index(r.Classes[k].May, true)
		})...)
	}
	return out
}

// cutsOf are the cuts for a choice of type for every class.
func (r *relaxation) cutsOf(choice func(k int) int) []cut {
	out := make([]cut, r.clusters)
	for j := range out {
		out[j] = cut{j, make([]float64, len(r.Types)*r.kinds)}
	}
	for k := range r.Classes {
		at := choice(k)
		if at < 0 {
			continue
		}
		for j, s := range r.size[k][at] {
			out[r.clusterOf[k]].size[at*r.kinds+j] += float64(float64(r.Classes[k].Count) * s)
		}
	}
	return out
}

// evaluate is the bound that prices give, and the cuts there.
func (r *relaxation) evaluate(w []float64) (float64, []cut) {
	choice := make([]int, len(r.Classes))
	value := 0.0
	for k := range r.Classes {
		choice[k] = -1
		least := math.Inf(1)
		for at := range r.Types {
			if !r.Classes[k].May[at] {
				continue
			}
			v := 0.0
			for j, s := range r.size[k][at] {
				v += float64(w[at*r.kinds+j] * s)
			}
			if v < least {
				least, choice[k] = v, at
			}
		}
		if choice[k] >= 0 {
			value += float64(float64(r.Classes[k].Count) * least)
		}
	}
	for at, t := range r.Types {
		sum := 0.0
		for j := range r.kinds {
			sum += w[at*r.kinds+j]
		}
		if over := sum - t.Objective; over > 0 {
			value -= float64(float64(t.Headroom) * over)
		}
	}
	return value, r.cutsOf(func(k int) int { return choice[k] })
}

// solve finds the best prices under the cuts:
//
//	max Σj v(j) - Σt headroom(t) m(t)   s.t.   v(j) <= cut(w) for all cuts of j,   Σk w(t,k) - m(t) <= objective(t)
func (r *relaxation) solve(cuts []cut) (w []float64, most float64, ok bool) {
	types, prices := len(r.Types), len(r.Types)*r.kinds
	cols := prices + types + r.clusters
	c := make([]float64, cols)
	var a [][]float64
	var b []float64
	scale := 0.0
	for _, t := range r.Types {
		scale = max(scale, t.Objective)
	}
	if scale == 0 {
		return make([]float64, prices), 0, false // everything is free
	}
	for _, cut := range cuts {
		row := make([]float64, cols)
		largest := 1.0
		for _, v := range cut.size {
			largest = max(largest, v)
		}
		for j, v := range cut.size {
			row[j] = -v / largest
		}
		row[prices+types+cut.cluster] = 1 / largest
		a, b = append(a, row), append(b, 0)
	}
	for at, t := range r.Types {
		row := make([]float64, cols)
		for j := range r.kinds {
			row[at*r.kinds+j] = 1
		}
		row[prices+at] = -1
		a, b = append(a, row), append(b, t.Objective/scale)
		c[prices+at] = -float64(t.Headroom)
	}
	for j := range r.clusters {
		c[prices+types+j] = 1
	}
	x, ok := maximise(c, a, b)
	for j, v := range x {
		most += float64(c[j]*v) * scale
	}
	w = x[:prices]
	for j := range w {
		w[j] *= scale
	}
	return w, most, ok
}

// rounded takes rounding errors off a bound, and rounds it up to what plans can cost at all: with prices that are
// multiples of something, so is every sum of them.
func (b *Problem) rounded(bound float64) float64 {
	bound -= 1e-9 * bound
	const per = 1e6
	step := int64(0)
	for _, t := range b.Types {
		n := math.Round(t.Objective * per)
		if n <= 0 || n > 1e15 || math.Abs(n-t.Objective*per) > 1e-6*max(1, n*1e-6) {
			return math.Floor(bound*1e6) / 1e6
		}
		step = gcd(step, int64(n))
	}
	return math.Ceil(bound*per/float64(step)-1e-6) * float64(step) / per
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
