package agreement

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalehist/scalehist"
)

// The logs of these tests start at epoch.
var epoch = time.Date(2026, time.March, 2, 9, 0, 0, 0, time.UTC)

const (
	sec    = time.Second
	minute = time.Minute
)

// steps reads "10 std 1 3" as std going from 1 to 3 ten seconds after epoch.
func steps(lines ...string) []scalehist.RecordedStep {
	var out []scalehist.RecordedStep
	for _, line := range lines {
		var at int
		var s scalehist.RecordedStep
		if _, err := fmt.Sscanf(line, "%d %s %d %d", &at, &s.NodeGroup, &s.From, &s.To); err != nil {
			panic(err)
		}
		s.At = epoch.Add(time.Duration(at) * sec)
		out = append(out, s)
	}
	return out
}

// compared is a comparison of steps alone: no pod waited, none is left.
func compared(recorded, replayed []scalehist.RecordedStep, decisions []scalehist.Decision) Comparison {
	truth := &scalehist.RecordedTruth{Steps: recorded, Pending: &scalehist.PendingStats{}}
	truth.ScaledUpNodeGroups, truth.ScaledDownNodeGroups = moved(recorded)
	return Comparison{Truth: truth, Replayed: replayed, Decisions: decisions, Start: epoch, Until: epoch.Add(10 * minute), Scan: 10 * sec}
}

func TestDifferences(t *testing.T) {
	chosen := func(at int, group string, from, to int) scalehist.Decision {
		return scalehist.Decision{
			At: epoch.Add(time.Duration(at) * sec), Outcome: scalehist.ScaleUpSuccessful,
			Options:  []scalehist.Option{{NodeGroup: group, NodeCount: to - from, Pods: 7, Chosen: true, Reason: "least-waste 0.1"}},
			Skipped:  []scalehist.GroupReason{{NodeGroup: "full", Reason: "max size reached"}},
			ScaleUps: []scalehist.ScaleUp{{NodeGroup: group, From: from, To: to, Max: 9}},
		}
	}
	tests := []struct {
		name               string
		recorded, replayed []scalehist.RecordedStep
		decisions          []scalehist.Decision
		wantGroups         []scalehist.GroupDifference
		// want are the differences as "kind: part of the reason".
		want []string
	}{
		{name: "the same", recorded: steps("10 a 1 3", "20 b 0 1"), replayed: steps("10 a 1 3", "20 b 0 1")},
		{name: "nothing on either side"},
		{
			name: "at the next loop", recorded: steps("13 a 1 3"), replayed: steps("20 a 1 3"),
			want: []string{"time within: 7s later than recorded, within the scan interval 10s"},
		},
		{
			name: "much earlier", recorded: steps("50 a 1 3"), replayed: steps("20 a 1 3"), decisions: []scalehist.Decision{chosen(20, "a", 1, 3)},
			want: []string{"time: 30s earlier than recorded: option a (nodes 2, pods 7) was chosen: least-waste 0.1"},
		},
		{
			name: "in one step instead of two", recorded: steps("20 a 1 3", "30 a 3 4"), replayed: steps("20 a 1 4"), decisions: []scalehist.Decision{chosen(20, "a", 1, 4)},
			want: []string{"size within: the replay went 1->4 in one step at +20s: option a (nodes 3, pods 7)", "size within: the replay went 1->4 in one step"},
		},
		{
			name: "in the other order", recorded: steps("20 a 1 3", "30 b 0 1"), replayed: steps("20 b 0 1", "30 a 1 3"),
			want: []string{"time within: 10s later than recorded, within", "time within: 10s earlier than recorded, within", "order within: recorded after a 1->3, replayed before it"},
		},
		{
			name: "another group", recorded: steps("20 full 1 3"), replayed: steps("20 a 1 3"), decisions: []scalehist.Decision{chosen(20, "a", 1, 3)},
			wantGroups: []scalehist.GroupDifference{{NodeGroup: "a", Replayed: 2}, {NodeGroup: "full", Recorded: 2}},
			want: []string{
				"missing: at +20s the replay decided ScaleUpSuccessful {a 1->3 (max: 9)}; full: max size reached",
				"extra: option a (nodes 2, pods 7) was chosen",
			},
		},
		{
			name: "one node too few", recorded: steps("20 a 1 4"), replayed: steps("20 a 1 3"),
			wantGroups: []scalehist.GroupDifference{{NodeGroup: "a", Recorded: 3, Replayed: 2}},
			want:       []string{"missing: no loop of the replay looked at unschedulable pods after it"},
		},
		{
			name: "a scale-down that did not come", recorded: steps("20 a 3 2"),
			wantGroups: []scalehist.GroupDifference{{NodeGroup: "a", Recorded: -1}},
			want:       []string{"missing: no loop of the replay took a node off the group"},
		},
		{
			name: "up, down and up again: the net is the same, the steps are not", recorded: steps("10 a 1 3", "60 a 3 1", "90 a 1 3"), replayed: steps("10 a 1 3"),
			want: []string{"missing: no loop of the replay took a node off", "missing: no loop of the replay looked"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := compared(tt.recorded, tt.replayed, tt.decisions).Agreement()
			if diff := cmp.Diff(tt.wantGroups, got.Groups, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			var lines []string
			for _, d := range got.Differences {
				within := ""
				if d.Within {
					within = " within"
				}
				lines = append(lines, d.Kind+within+": "+d.Reason)
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("differences %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("difference %d is %q, want %q", i, lines[i], want)
				}
			}
		})
	}
}

func TestScaleUpEvents(t *testing.T) {
	got := ScaleUpEvents(steps("10 a 1 3", "11 b 0 1", "14 a 3 4", "20 a 4 3", "60 a 3 4"))
	want := [][]scalehist.RecordedStep{steps("10 a 1 3", "11 b 0 1"), steps("14 a 3 4"), steps("60 a 3 4")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEventAgreement(t *testing.T) {
	got := OfEvents([]scalehist.EventReplay{
		{Recorded: steps("10 a 1 3"), Replayed: steps("10 a 1 3", "10 b 2 1"), Agreed: true},
		{Recorded: steps("20 a 3 4"), Replayed: steps("20 b 0 2")},
		{Recorded: steps("30 a 4 5"), Replayed: steps()},
	})
	want := []scalehist.GroupDifference{{NodeGroup: "a", Recorded: 2}, {NodeGroup: "b", Replayed: 2}}
	if diff := cmp.Diff(want, got.Groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	if got.Agreed || len(got.Differences) != 3 || got.Differences[0].Recorded.To != 4 || got.Differences[1].Replayed.To != 2 {
		t.Errorf("agreement %+v, want three differences", got)
	}
}
