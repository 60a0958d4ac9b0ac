package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plural"
	"github.com/scalehist/scalehist/recorder/history"
)

var clockRules = []Rule{
	{Code: "SH121", Title: "objects seen before they were created", Severity: Warning, run: createdLater,
		Doc: "Objects say that they were created after the recorder saw them: the clock of the cluster is ahead of the recorder's. Every time " +
			"in the history that the cluster gave (events, conditions, deletions) is then off by as much against the observed times a replay runs by.",
		Advice: "set both clocks by NTP and record again; in this history, trust offsets between observed times only"},
	{Code: "SH122", Title: "objects seen long after they were created", Severity: Warning, run: seenLate,
		Doc: "Objects that were not part of a first list were seen long after they say they were created: the recorder's clock is ahead, or it was " +
			"cut off and noted no gap. A replay feeds a pod in when it was seen.",
		Advice: "set both clocks by NTP; look for trouble in the recorder's log at that time"},
	{Code: "SH123", Title: "events from the future", Severity: Warning, run: futureEvents,
		Doc:    "Events give a time of their own that lies after the instant they were seen: the clock of the machine that wrote them is ahead.",
		Advice: "set the clocks of the autoscaler's and scheduler's machines by NTP; a replay goes by the observed time"},
	{Code: "SH124", Title: "recorder's clock is off", Severity: Warning, run: notedClock,
		Doc: "The recorder itself noted that its clock was not the API server's, or that it was set while it recorded. Observed times, by which a replay " +
			"runs, are the recorder's; after a jump there is a stretch that never was, or one in which time goes slower.",
		Advice: "set the recorder's clock by NTP; choose a window that does not contain a jump"},
}

const (
	// ahead: object times are cut to seconds, never rounded up; what is beyond is a clock.
	ahead = 2 * time.Second
	// late is how long a watch may lag under load.
	late = 30 * time.Second
	// listing is how long the first lists of a recording may take.
	listing = 10 * time.Second
)

// skewed gathers, over objects that came in the window, the distance from creation to first sight where odd says so.
func skewed(in *Input, odd func(time.Duration) bool) (worst time.Duration, first *scalehist.Change, n int) {
	for i, ch := range in.Changes {
		created := ch.Object.GetCreationTimestamp()
		if ch.Op != scalehist.OpAdd || created.IsZero() || in.listed(ch.At) {
			continue
		}
		d := ch.At.Sub(created.Time)
		if !odd(d) {
			continue
		}
		if n++; first == nil {
			first = &in.Changes[i]
		}
		if d.Abs() > worst.Abs() {
			worst = d
		}
	}
	return worst, first, n
}

// listed: what was seen then may come from a list and not from a watch: at the start of a recording, and after a gap.
func (in *Input) listed(at time.Time) bool {
	within := func(t time.Time) bool { return !at.Before(t) && !at.After(t.Add(listing)) }
	return slices.ContainsFunc(in.Recordings, func(r history.Recording) bool { return within(r.From) }) ||
		slices.ContainsFunc(in.Gaps, func(g history.Gap) bool { return within(g.To) || !at.Before(g.From) && at.Before(g.To) })
}

func createdLater(_ context.Context, in *Input) ([]Finding, error) {
	worst, first, n := skewed(in, func(d time.Duration) bool { return d < -ahead })
	if n == 0 {
		return nil, nil
	}
	return []Finding{{At: first.At, Object: refOf(first.Object).String(),
		Message: fmt.Sprintf("%s created after they were seen, at most %s (this one is the first)", plural.Of(n, "object"), -worst)}}, nil
}

func seenLate(_ context.Context, in *Input) ([]Finding, error) {
	worst, first, n := skewed(in, func(d time.Duration) bool { return d > late })
	if n == 0 {
		return nil, nil
	}
	return []Finding{{At: first.At, Object: refOf(first.Object).String(),
		Message: fmt.Sprintf("%s seen long after their creation, at most %s (this one is the first)", plural.Of(n, "object"), worst)}}, nil
}

func futureEvents(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	type source struct {
		i     int
		n     int
		worst time.Duration
	}
	by := map[string]*source{}
	for _, e := range in.Events {
		d := max(e.At.Sub(e.ObservedAt), e.LastAt.Sub(e.LastObservedAt))
		if d <= ahead {
			continue
		}
		s := by[e.Component]
		if s == nil {
			s = &source{i: len(out)}
			by[e.Component] = s
			out = append(out, Finding{At: e.ObservedAt, Object: regarding(e)})
		}
		s.n++
		s.worst = max(s.worst, d)
		out[s.i].Message = fmt.Sprintf("%s of %s from after they were seen, at most %s ahead (this one is the first)", plural.Of(s.n, "event"), component(e), s.worst)
	}
	return out, nil
}

func notedClock(_ context.Context, in *Input) ([]Finding, error) {
	var out []Finding
	for _, n := range in.Clock {
		off := time.Duration(n.value * float64(time.Second)).Round(100 * time.Millisecond)
		message := ""
		switch {
		case n.series == jumpSeries && off > 0:
			message = fmt.Sprintf("the clock was set forward by %s, or the machine slept", off)
		case n.series == jumpSeries:
			message = fmt.Sprintf("the clock was set back by %s", -off)
		case off > 0:
			message = fmt.Sprintf("from here the clock is %s behind the API server's", off)
		case off < 0:
			message = fmt.Sprintf("from here the clock is %s ahead of the API server's", -off)
		default:
			continue // it agrees again
		}
		out = append(out, Finding{At: n.at, Message: message})
	}
	return out, nil
}
