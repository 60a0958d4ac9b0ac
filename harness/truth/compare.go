package truth

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalehist/scalehist"
)

// sameStart is how far the beginning of a recording may be from the start of the run that it is of: the log begins when
// its recorder has listed everything.
const sameStart = 30 * time.Second

// Compare judges a report. It is an error when the report is not of a replay of this truth's whole recording: other node
// groups, another start, an end before the recording's, or single events.
func (f *File) Compare(r *scalehist.ReplayReport) (*scalehist.TruthVerdict, error) {
	if r == nil {
		return nil, errors.New("there is no report")
	}
	if err := f.fits(r); err != nil {
		return nil, fmt.Errorf("truth of %s: %w", f.Scenario, err)
	}
	v := &scalehist.TruthVerdict{
		Scenario: f.Scenario, Replayed: OutcomeOf(r), Outcomes: len(f.Outcomes), Runs: len(f.Runs), FirstSteps: len(f.FirstStepsInAllRuns),
	}
	for i, seen := range f.Outcomes {
		parts := partings(seen, v.Replayed)
		if len(parts) == 0 {
			v.Outcome, v.Nearest = i+1, nil
			break
		}
		if v.Nearest == nil || distance(parts) < distance(v.Nearest.Parts) {
			v.Nearest = &scalehist.NearestOutcome{Number: i + 1, Outcome: seen, Parts: parts}
		}
	}
	scan, err := f.scanInterval()
	if err != nil {
		return nil, fmt.Errorf("truth of %s: %w", f.Scenario, err)
	}
	for i, s := range f.FirstStepsInAllRuns {
		if v.FirstDifference = f.differs(i, s, r, scan); v.FirstDifference != nil {
			break
		}
	}
	v.Agreed = v.Outcome > 0 && v.FirstDifference == nil
	return v, nil
}

// Alike counts the runs that ended as another of them did: how often the real autoscaler agrees with what else was seen of it, each run
// held against the others. No replay can be asked for more.
func (f *File) Alike() int {
	n := 0
	for i, r := range f.Runs {
		if slices.ContainsFunc(append(slices.Clone(f.Runs[:i]), f.Runs[i+1:]...), func(o Run) bool { return len(partings(o.Outcome(), r.Outcome())) == 0 }) {
			n++
		}
	}
	return n
}

// Outcome is where a run ended.
func (r Run) Outcome() scalehist.Outcome {
	return scalehist.Outcome{ScaledUp: r.ScaledUp, ScaledDown: r.ScaledDown, FinalSizes: r.FinalSizes, UnschedulableAtEnd: len(r.UnschedulableAtEnd)}
}

// End is when the run that was recorded ended. A log ends with the last change in it, which may be long before: replay up to
// this instant.
func (f *File) End() time.Time { return f.seconds(f.Runs[0].DurationSeconds) }

// quietEnd bounds how long a recorded run is taken to go on after the last change in its log.
const quietEnd = time.Hour

// Length is how long to replay a recording that starts at an instant and is of some length: to the end of the run. A truth of another
// recording lengthens nothing without end; Compare reports it.
func (f *File) Length(start time.Time, recorded time.Duration) time.Duration {
	return max(recorded, min(f.End().Sub(start), recorded+quietEnd))
}

// fits says whether the report can be of this truth's recording.
func (f *File) fits(r *scalehist.ReplayReport) error {
	if r.Playback.SingleMoments() {
		return fmt.Errorf("a %s playback has no outcome: replay continuously", r.Playback)
	}
	var groups []string
	for _, g := range r.NodeGroups {
		groups = append(groups, g.Name)
	}
	slices.Sort(groups)
	if want := f.groupNames(); !slices.Equal(groups, want) {
		return fmt.Errorf("it has the node groups %s, the recording has %s: is it another recording's?", strings.Join(want, ", "), strings.Join(groups, ", "))
	}
	run := f.Runs[0]
	if d := r.StartTime.Sub(run.Start).Abs(); d > sameStart {
		return fmt.Errorf("its run began at %s, the replay at %s: replay the whole recording of that run", stamp(run.Start), stamp(r.StartTime))
	}
	if r.EndTime.Before(f.End()) {
		return fmt.Errorf("its run ended at %s, the replay at %s: replay to the end of the run", stamp(f.End()), stamp(r.EndTime))
	}
	return nil
}

// OutcomeOf is where a replay ended, in the form of a truth.
func OutcomeOf(r *scalehist.ReplayReport) scalehist.Outcome {
	o := scalehist.Outcome{
		ScaledUp: map[string]int{}, ScaledDown: map[string]int{}, FinalSizes: map[string]int{}, UnschedulableAtEnd: len(r.UnschedulableAtEnd),
	}
	for _, g := range r.NodeGroups {
		o.ScaledUp[g.Name], o.ScaledDown[g.Name], o.FinalSizes[g.Name] = g.ScaledUp, g.ScaledDown, g.Final
	}
	return o
}

// partings lists the numbers in which two outcomes part, by kind, then group.
func partings(seen, got scalehist.Outcome) []scalehist.Part {
	var out []scalehist.Part
	for _, c := range []struct {
		what      string
		seen, got map[string]int
	}{
		{"scaled up", seen.ScaledUp, got.ScaledUp}, {"scaled down", seen.ScaledDown, got.ScaledDown},
		{"final size", seen.FinalSizes, got.FinalSizes},
	} {
		for _, name := range slices.Sorted(maps.Keys(c.seen)) {
			if c.seen[name] != c.got[name] {
				out = append(out, scalehist.Part{What: c.what, NodeGroup: name, Seen: c.seen[name], Replayed: c.got[name]})
			}
		}
	}
	if seen.UnschedulableAtEnd != got.UnschedulableAtEnd {
		out = append(out, scalehist.Part{What: "unschedulable at end", Seen: seen.UnschedulableAtEnd, Replayed: got.UnschedulableAtEnd})
	}
	return out
}

func distance(parts []scalehist.Part) int {
	n := 0
	for _, p := range parts {
		n += max(p.Seen-p.Replayed, p.Replayed-p.Seen)
	}
	return n
}

// differs holds step i of all runs against the replay's; nil when they are alike.
func (f *File) differs(i int, s Step, r *scalehist.ReplayReport, scan time.Duration) *scalehist.StepDifference {
	seen := scalehist.SizeStep{At: f.seconds(s.At)}
	for _, name := range slices.Sorted(maps.Keys(s.Sizes)) {
		seen.Changes = append(seen.Changes, scalehist.SizeChange{NodeGroup: name, From: s.Sizes[name][0], To: s.Sizes[name][1]})
	}
	d := &scalehist.StepDifference{Number: i + 1, Seen: seen}
	if i >= len(r.Steps) {
		d.Kind = "missing"
		d.Reason = fmt.Sprintf("the replay took no step after %s", counted(len(r.Steps), "step"))
		d.Decision = due(r, seen, scan)
		if d.Decision == nil {
			d.Reason += ", and no loop by then had anything to explain"
		}
		return d
	}
	got := r.Steps[i]
	d.Replayed = &got
	first, last := f.stepTimes(i)
	switch {
	case !sameChanges(seen.Changes, got.Changes):
		d.Kind = "sizes"
		d.Reason = fmt.Sprintf("all runs went %s, the replay %s", changes(seen.Changes), changes(got.Changes))
	case got.At.Before(first.Add(-scan)):
		d.Kind = "time"
		d.Reason = fmt.Sprintf("%s earlier than in any run, more than the scan interval %s", first.Sub(got.At), scan)
	case got.At.After(last.Add(scan)):
		d.Kind = "time"
		d.Reason = fmt.Sprintf("%s later than in any run, more than the scan interval %s", got.At.Sub(last), scan)
	default:
		return nil
	}
	d.Decision = behind(r, got)
	return d
}

// stepTimes are the first and the last instant, on the clock of the first run, at which a run had taken step i: runs take
// a step alike and at other times.
func (f *File) stepTimes(i int) (first, last time.Time) {
	first = f.seconds(f.FirstStepsInAllRuns[i].At)
	last = first
	for _, r := range f.Runs {
		at, ok := 0.0, true
		for _, s := range f.FirstStepsInAllRuns[:i+1] {
			if at, ok = r.reached(s, at); !ok {
				break
			}
		}
		if !ok {
			continue
		}
		if t := f.seconds(at); t.Before(first) {
			first = t
		} else if t.After(last) {
			last = t
		}
	}
	return first, last
}

// reached is when a run had the sizes of a step, not before an offset.
func (r Run) reached(s Step, from float64) (at float64, ok bool) {
	for name, sizes := range s.Sizes {
		history := r.TargetSizes[name]
		i := slices.IndexFunc(history, func(e [2]float64) bool { return e[0] > 0 && e[0] >= from && int(e[1]) == sizes[1] })
		if i < 0 {
			return 0, false
		}
		at = max(at, history[i][0])
	}
	return at, true
}

func sameChanges(a, b []scalehist.SizeChange) bool {
	byGroup := func(c []scalehist.SizeChange) []scalehist.SizeChange {
		return slices.SortedFunc(slices.Values(c), func(x, y scalehist.SizeChange) int { return cmp.Compare(x.NodeGroup, y.NodeGroup) })
	}
	return slices.Equal(byGroup(a), byGroup(b))
}

// behind is the decision that took a step: the loop's, else the one that last began to delete a node of its groups.
func behind(r *scalehist.ReplayReport, s scalehist.SizeStep) *scalehist.Decision {
	var best *scalehist.Decision
	for i := range r.Decisions {
		d := &r.Decisions[i]
		if s.Loop > 0 && d.Loop == s.Loop {
			return d
		}
		if s.Loop == 0 && !d.At.After(s.At) && slices.ContainsFunc(d.Deleting, func(n scalehist.NodeDeletion) bool {
			return slices.ContainsFunc(s.Changes, func(c scalehist.SizeChange) bool { return c.NodeGroup == n.NodeGroup })
		}) {
			best = d
		}
	}
	return best
}

// due is the decision of the replay in which a step that all runs took should have come: the first one within a scan
// interval of it or later that has something to say, else the last one before.
func due(r *scalehist.ReplayReport, s scalehist.SizeStep, scan time.Duration) *scalehist.Decision {
	for i := range r.Decisions {
		if !r.Decisions[i].At.Before(s.At.Add(-scan)) {
			return &r.Decisions[i]
		}
	}
	if n := len(r.Decisions); n > 0 {
		return &r.Decisions[n-1]
	}
	return nil
}

// changes writes changes as "std 1->3, big 0->1".
func changes(list []scalehist.SizeChange) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, fmt.Sprintf("%s %d->%d", c.NodeGroup, c.From, c.To))
	}
	return strings.Join(parts, ", ")
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
