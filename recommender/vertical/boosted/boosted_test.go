package boosted

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// data are rows of which the first number decides how wide the target varies, and the second nothing.
func data(n int, seed uint64) (d Data) {
	dice := rand.New(rand.NewPCG(seed, 7))
	for range n {
		x := dice.Float64()
		d.Rows, d.Targets = append(d.Rows, []float64{x, dice.Float64()}), append(d.Targets, math.Floor(4*x)*dice.Float64())
	}
	return d
}

// TestTrain: the share of targets below what is predicted is the quantile, on rows that were not seen, for each value of what decides;
// the curve falls; the same seed gives the same bytes and another others.
//
//scalehist:unraced
func TestTrain(t *testing.T) {
	for _, q := range []float64{0.1, 0.5, 0.9} {
		m, curve, err := Train(t.Context(), data(8000, 1), data(4000, 2), DefaultOptions(q, 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Check(2); err != nil {
			t.Error(err)
		}
		fresh := data(8000, 3)
		var below, all [4]float64
		for i, row := range fresh.Rows {
			k := int(4 * row[0])
			all[k]++
			if fresh.Targets[i] <= m.Predict(row) {
				below[k]++
			}
		}
		for k := 1; k < 4; k++ {
			if got := below[k] / all[k]; math.Abs(got-q) > 0.06 {
				t.Errorf("quantile %g, part %d: %.3f are below", q, k, got)
			}
		}
		if last := curve[len(m.Trees)]; last.Tested >= curve[0].Tested*0.9 {
			t.Errorf("quantile %g: loss %g at first, %g at last", q, curve[0].Tested, last.Tested)
		}
		again, _, err := Train(t.Context(), data(8000, 1), data(4000, 2), DefaultOptions(q, 1))
		if err != nil {
			t.Fatal(err)
		}
		other, _, err := Train(t.Context(), data(8000, 1), data(4000, 2), DefaultOptions(q, 2))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(written(t, m), written(t, again)) || bytes.Equal(written(t, m), written(t, other)) {
			t.Error("a seed does not decide what is trained")
		}
	}
}

func written(t *testing.T, m *Model) []byte {
	t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTrainRefuses(t *testing.T) {
	if _, _, err := Train(t.Context(), data(10, 1), data(10, 2), DefaultOptions(0.9, 1)); err == nil || !strings.Contains(err.Error(), "10 rows") {
		t.Error(err)
	}
}

// FuzzCheck: what Check lets through can be asked.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"quantile":0.5,"features":2,"base":1,"trees":[{"feature":[0,-1,-1],"at":[1,0,0],"left":[1,0,0],"value":[0,1,2]}]}`))
	f.Add([]byte(`{"quantile":0.5,"features":2,"base":1,"trees":[{"feature":[0],"at":[1],"left":[0],"value":[0]}]}`))
	f.Add([]byte(`{"quantile":0.5,"features":2,"base":1,"trees":[{"feature":[7,-1,-1],"at":[1,0,0],"left":[1,0,0],"value":[0,1,2]}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var m Model
		if json.Unmarshal(in, &m) == nil && m.Check(2) == nil {
			m.Predict([]float64{1, 2})
		}
	})
}
