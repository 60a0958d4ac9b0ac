package bound

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
	"pgregory.net/rapid"
)

// TestSimplexAgainstGonum holds the tableau against a library on random programs.
func TestSimplexAgainstGonum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 6).Draw(t, "variables"), rapid.IntRange(1, 6).Draw(t, "rows")
		c, b := make([]float64, n), make([]float64, m+n)
		a := make([][]float64, m+n)
		number := rapid.IntRange(-4, 9)
		for j := range c {
			c[j] = float64(number.Draw(t, "c"))
		}
		for i := range m {
			a[i] = make([]float64, n)
			for j := range n {
				a[i][j] = float64(number.Draw(t, "a"))
			}
			b[i] = float64(rapid.IntRange(0, 20).Draw(t, "b"))
		}
		for j := range n { // bounded
			a[m+j] = make([]float64, n)
			a[m+j][j], b[m+j] = 1, 50
		}
		x, ok := maximise(c, a, b)
		if !ok {
			t.Fatal("no optimum")
		}
		got := 0.0
		for j := range c {
			got += c[j] * x[j]
		}
		for i := range a {
			sum := 0.0
			for j := range x {
				sum += a[i][j] * x[j]
			}
			if sum > b[i]+1e-6 {
				t.Fatalf("row %d: %v > %v", i, sum, b[i])
			}
		}
		dense := mat.NewDense(m+n, n+m+n, nil)
		cost := make([]float64, n+m+n)
		for i := range a {
			for j := range n {
				dense.Set(i, j, a[i][j])
			}
			dense.Set(i, n+i, 1)
		}
		for j := range c {
			cost[j] = -c[j]
		}
		want, _, err := lp.Simplex(cost, dense, b, 1e-10, nil)
		if err != nil {
			t.Skip("gonum: ", err)
		}
		if math.Abs(got+want) > 1e-6*math.Max(1, math.Abs(want)) {
			t.Fatalf("%v, gonum has %v", got, -want)
		}
	})
}

// TestDualFeasible: no set of sizes that fits into a node adds up to more than one, whatever a function makes of them.
func TestDualFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := rapid.Int64Range(1, 1000).Draw(t, "have")
		left := have
		sums := make([]float64, functions+1)
		for left > 0 {
			need := rapid.Int64Range(1, left).Draw(t, "need")
			left -= need
			for k := range sums {
				sums[k] += sizeOn(need, have, k)
			}
		}
		for k, sum := range sums {
			if sum > 1+1e-9 {
				t.Fatalf("function %d gives %v", k, sum)
			}
		}
	})
}
