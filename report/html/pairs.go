package html

import (
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report/compare"
)

// buildPair holds a run against the first: where they first part, and whether they can be compared at all.
func buildPair(n int, a, b *scalehist.ReplayReport) pair {
	p := pair{Run: n, Where: compare.Comparable(a, b)}
	d := compare.FirstDifference(a, b)
	if d == nil {
		return p
	}
	at := ms(time.Duration(d.Offset))
	p.First = &first{Kind: d.Kind, At: at, A: inForce(a, at), B: inForce(b, at),
		ActedA: d.Baseline.Acted, ActedB: d.Side.Acted}
	return p
}

// inForce is the number of the last decision by an offset; of several at that instant the first that acted, else the last.
func inForce(r *scalehist.ReplayReport, at int64) int {
	found := -1
	for i := range r.Decisions {
		d := &r.Decisions[i]
		t := ms(d.At.Sub(r.StartTime))
		if t > at {
			break
		}
		found = i
		if t == at && (d.Acted() || len(d.Deleting) > 0) {
			break
		}
	}
	return found
}
