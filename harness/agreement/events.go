package agreement

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/internal/plural"
)

// oneEvent is how close together recorded steps belong to one scale-up: a balanced plan is carried out group by group,
// and a real autoscaler that has acted looks again at once, within tens of milliseconds.
const oneEvent = 2 * time.Second

// ScaleUpEvents groups the recorded increases that belong together.
func ScaleUpEvents(steps []scalehist.RecordedStep) [][]scalehist.RecordedStep {
	var out [][]scalehist.RecordedStep
	for _, s := range steps {
		if s.To <= s.From {
			continue
		}
		if n := len(out); n > 0 && s.At.Sub(out[n-1][len(out[n-1])-1].At) <= oneEvent {
			out[n-1] = append(out[n-1], s)
			continue
		}
		out = append(out, []scalehist.RecordedStep{s})
	}
	return out
}

// Increases are what an event is judged by: the recorded ones hold nothing else.
func Increases(steps []scalehist.RecordedStep) []scalehist.RecordedStep {
	return slices.DeleteFunc(slices.Clone(steps), func(s scalehist.RecordedStep) bool { return s.To <= s.From })
}

// SameGrowth says whether each node group grew by as many nodes in an event that was recorded and as it was replayed.
func SameGrowth(recorded, replayed []scalehist.RecordedStep) bool {
	a, b := Net(Increases(recorded)), Net(Increases(replayed))
	for _, name := range unionKeys(a, b) {
		if a[name] != b[name] {
			return false
		}
	}
	return true
}

// OfEvents is the agreement of a playback of single events: every event agreed; the differences name those that did not, the groups
// add them up. No time passes within an event, and nothing but growth is decided, so the only question with an answer is how
// groups grew.
func OfEvents(events []scalehist.EventReplay) *scalehist.Agreement {
	a := &scalehist.Agreement{}
	sums := map[string]*scalehist.GroupDifference{}
	differ := 0
	allRecorded, allReplayed := map[string]int{}, map[string]int{}
	for _, e := range events {
		recorded, replayed := Net(e.Recorded), Net(Increases(e.Replayed))
		for _, name := range unionKeys(recorded, replayed) {
			allRecorded[name] += recorded[name]
			allReplayed[name] += replayed[name]
		}
		if e.Agreed {
			continue
		}
		differ++
		for _, name := range unionKeys(recorded, replayed) {
			if recorded[name] == replayed[name] {
				continue
			}
			if sums[name] == nil {
				sums[name] = &scalehist.GroupDifference{NodeGroup: name}
			}
			sums[name].Recorded += recorded[name]
			sums[name].Replayed += replayed[name]
			a.Differences = append(a.Differences, scalehist.Difference{
				Kind: "size", Recorded: stepOf(e.Recorded, name), Replayed: stepOf(Increases(e.Replayed), name),
				Reason: fmt.Sprintf("event at %s: %s recorded %+d, replayed %+d", moment.Stamp(e.At), name, recorded[name], replayed[name]),
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		a.Groups = append(a.Groups, *sums[name])
	}
	grown := byGroup(scalehist.QuestionScaledUp, "+", allRecorded, allReplayed)
	grown.Groups = a.Groups // sums over events may hide what single events differ in
	grown.Verdict, grown.Text = scalehist.AnswerAgreed, "each event was decided alike"
	if differ > 0 {
		grown.Verdict, grown.Text = scalehist.AnswerDiffers, fmt.Sprintf("%d of %s decided otherwise", differ, plural.Of(len(events), "event"))
	}
	for _, q := range scalehist.Questions {
		if q == scalehist.QuestionScaledUp {
			a.Questions = append(a.Questions, grown)
			continue
		}
		a.Questions = append(a.Questions, scalehist.Answer{Question: q, Verdict: scalehist.AnswerUnknown, Text: "single moments were decided, and no time passed in them"})
	}
	a.Agreed = a.Agrees()
	return a
}

// stepOf finds the first step of a group.
func stepOf(steps []scalehist.RecordedStep, group string) *scalehist.RecordedStep {
	for i := range steps {
		if steps[i].NodeGroup == group {
			return &steps[i]
		}
	}
	return nil
}
