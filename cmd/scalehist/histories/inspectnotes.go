package histories

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder"
	"github.com/scalehist/scalehist/recorder/history"
)

// recorderNotes is what a recorder noted about its own work.
type recorderNotes struct {
	// Clock is what was wrong with the recorder's clock, in time order.
	Clock []clockNote `json:"clock"`
	// Missed are the deletions that nobody saw, in recorded order.
	Missed []missedDeletion `json:"missedDeletions"`
	// Series are the recorded metric series by name; the clock's are among them.
	Series []seriesCount `json:"series"`
}

// clockNote is one finding about the recorder's clock.
type clockNote struct {
	At time.Time `json:"at"`
	// What is skew (the clock is behind the API server's from At on; negative: ahead, zero: no longer) or jump (it was
	// set forward at At; negative: back).
	What    string  `json:"what"`
	Seconds float64 `json:"seconds"`
}

func (n clockNote) String() string {
	by := time.Duration(n.Seconds * float64(time.Second)).Round(time.Millisecond)
	switch {
	case n.What == "jump" && by < 0:
		return "set back by " + by.Abs().String()
	case n.What == "jump":
		return "set forward by " + by.String() + ", or the machine slept"
	case by == 0:
		return "agrees with the API server's again"
	case by < 0:
		return by.Abs().String() + " ahead of the API server's"
	}
	return by.String() + " behind the API server's"
}

// missedDeletion is an object that was deleted in [From, Seen).
type missedDeletion struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	From      time.Time `json:"from"`
	Seen      time.Time `json:"seen"`
	Why       string    `json:"why"`
}

// seriesCount counts the samples of all label sets of one metric series.
type seriesCount struct {
	Name    string    `json:"name"`
	Samples int64     `json:"samples"`
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
}

func readNotes(ctx context.Context, db *history.DB) (recorderNotes, error) {
	n := recorderNotes{Clock: []clockNote{}, Missed: []missedDeletion{}, Series: []seriesCount{}}
	missed, err := db.Missed(ctx, time.Time{}, time.Time{})
	if err != nil {
		return n, err
	}
	for _, m := range missed {
		n.Missed = append(n.Missed, missedDeletion{m.Kind, m.Namespace, m.Name, m.From, m.Seen, m.Why})
	}
	index := map[string]int{}
	for sample, err := range db.Samples(ctx, time.Time{}, time.Time{}) {
		if err != nil {
			return n, err
		}
		i, ok := index[sample.Series]
		if !ok {
			i = len(n.Series)
			index[sample.Series] = i
			n.Series = append(n.Series, seriesCount{Name: sample.Series, From: sample.At})
		}
		n.Series[i].Samples, n.Series[i].To = n.Series[i].Samples+1, sample.At
		if math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0) { // of an object log: no clock is off by that
			continue
		}
		switch sample.Series {
		case recorder.SkewSeries:
			n.Clock = append(n.Clock, clockNote{sample.At, "skew", sample.Value})
		case recorder.JumpSeries:
			n.Clock = append(n.Clock, clockNote{sample.At, "jump", sample.Value})
		}
	}
	slices.SortFunc(n.Series, func(a, b seriesCount) int { return cmp.Compare(a.Name, b.Name) })
	return n, nil
}

// shownMissed is how many missed deletions a table names; -o wide names all.
const shownMissed = 5

func (n *recorderNotes) print(s console.IO, f console.Format, usages int64) {
	if usages > 0 || len(n.Series) > 0 {
		t := console.Table{Title: "\nMeasurements", Columns: []console.Column{{Name: "series"}, {Name: "samples", Right: true}, {Name: "from", Wide: true}, {Name: "to", Wide: true}}}
		if usages > 0 {
			t.Rows = append(t.Rows, []string{"usage of containers", console.Count(usages), "", ""})
		}
		for _, c := range n.Series {
			t.Rows = append(t.Rows, []string{c.Name, console.Count(c.Samples), stamp(c.From), stamp(c.To)})
		}
		s.PrintTable(t, f)
	}
	if len(n.Clock) > 0 {
		t := console.Table{Title: "\nClock of the recorder", Columns: []console.Column{{Name: "at"}, {Name: "what"}}}
		for _, c := range n.Clock {
			t.Rows = append(t.Rows, []string{stamp(c.At), c.String()})
		}
		s.PrintTable(t, f)
	}
	if len(n.Missed) == 0 {
		return
	}
	t := console.Table{Title: fmt.Sprintf("\nDeletions that nobody saw (%d)", len(n.Missed)),
		Columns: []console.Column{{Name: "object"}, {Name: "went after"}, {Name: "missed by"}, {Name: "why", Wide: true}}}
	for i, m := range n.Missed {
		if f != console.FormatWide && i == shownMissed {
			t.Rows = append(t.Rows, []string{fmt.Sprintf("and %d more", len(n.Missed)-i)})
			break
		}
		name := m.Name
		if m.Namespace != "" {
			name = m.Namespace + "/" + name
		}
		t.Rows = append(t.Rows, []string{m.Kind + " " + name, stamp(m.From), stamp(m.Seen), m.Why})
	}
	s.PrintTable(t, f)
}
