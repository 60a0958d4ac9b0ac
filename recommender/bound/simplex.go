package bound

// maximise finds x >= 0 with the largest c·x under a·x <= b, for b >= 0, by the simplex method on a dense tableau. It
// returns the values it has when it ends; ok says that they are the best, up to rounding.
//
// It is here, and not a library's, because libraries sum up in an order that depends on how memory is aligned: the same
// program gave different vertices from call to call. This one does the same operations in the same order everywhere; the
// conversions keep processors from fusing a product and a sum. A test holds it against gonum's.
func maximise(c []float64, a [][]float64, b []float64) (x []float64, ok bool) {
	const eps = 1e-9
	n, m := len(c), len(b)
	// Row i is basic[i] = b[i] - Σ t[i][j]*free[j]; the last row is the objective.
	t := make([][]float64, m+1)
	for i := range m {
		t[i] = append(append(make([]float64, 0, n+1), a[i]...), b[i])
	}
	t[m] = make([]float64, n+1)
	for j := range c {
		t[m][j] = -c[j]
	}
	basic, free := make([]int, m), make([]int, n)
	for i := range basic {
		basic[i] = n + i
	}
	for j := range free {
		free[j] = j
	}
	// The steepest column first; after many steps Bland's rule, which cannot cycle.
	steps := 50 * (n + m)
	for step := range 2 * steps {
		enter := -1
		for j := range n {
			switch {
			case t[m][j] >= -eps:
			case enter < 0,
				step < steps && t[m][j] < t[m][enter]-eps,
				step >= steps && free[j] < free[enter]:
				enter = j
			}
		}
		if enter < 0 {
			ok = true
			break
		}
		leave, least := -1, 0.0
		for i := range m {
			if t[i][enter] <= eps {
				continue
			}
			ratio := t[i][n] / t[i][enter]
			if leave < 0 || ratio < least-eps || ratio <= least+eps && basic[i] < basic[leave] {
				leave, least = i, ratio
			}
		}
		if leave < 0 {
			break // unbounded
		}
		pivot(t, leave, enter)
		basic[leave], free[enter] = free[enter], basic[leave]
	}
	x = make([]float64, n)
	for i, v := range basic {
		if v < n {
			x[v] = max(0, t[i][n])
		}
	}
	return x, ok
}

// pivot exchanges a basic and a free variable.
func pivot(t [][]float64, row, col int) {
	p := 1 / t[row][col]
	for j := range t[row] {
		t[row][j] *= p
	}
	t[row][col] = p
	for i := range t {
		f := t[i][col]
		if i == row || f == 0 {
			continue
		}
		for j, v := range t[row] {
			if v != 0 {
				t[i][j] -= float64(f * v)
			}
		}
		t[i][col] = -float64(f * p)
	}
}
