package html

import (
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
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
	p.First = &first{Kind: d.Kind, At: at, By: d.Controller, A: d.Baseline.Entry, B: d.Side.Entry,
		ActedA: d.Baseline.Acted, ActedB: d.Side.Acted}
	if d.Controller == "" {
		p.First.A, p.First.B = inForce(a, at), inForce(b, at)
	}
	return p
}

// inForce is the number of the last decision of the node autoscaler by an offset; of several at that instant the first that acted, else the last.
func inForce(r *scalehist.ReplayReport, at int64) int {
	found := -1
	for i, e := range report.Entries(r) {
		t := ms(e.At.Sub(r.StartTime))
		if t > at {
			break
		}
		if e.Node == nil {
			continue
		}
		found = i
		if t == at && e.Acted() {
			break
		}
	}
	return found
}
