package scalehist

import "testing"

func TestSummary(t *testing.T) {
	up := []ScaleUp{{NodeGroup: "std", From: 1, To: 3, Max: 5}}
	down := []ScaleDown{{NodeGroup: "std", Node: "std-4", From: 5, To: 4}}
	leaving := []NodeDeletion{{NodeGroup: "std", Node: "std-4"}}
	for _, tt := range []struct {
		name string
		d    Decision
		want string
	}{
		{"a scale-up", Decision{Outcome: ScaleUpSuccessful, ScaleUps: up}, "ScaleUpSuccessful {std 1->3 (max: 5)}"},
		{"a loop that removes", Decision{Outcome: ScaleUpNotNeeded, Deleting: leaving, ScaleDowns: down}, "ScaleUpNotNeeded {std removing std-4} {std 5->4}"},
		{"work between loops", Decision{Outcome: ScaleUpNotTried, ScaleDowns: down}, "ScaleDown {std 5->4}"},
		{"work between loops of an autoscaler that says nothing of scale-up", Decision{ScaleDowns: down}, "{std 5->4}"},
		{"nothing", Decision{Outcome: ScaleUpNotTried, Notes: []string{"x"}}, "ScaleUpNotTried"},
		{"a refusal", Decision{Outcome: ScaleUpNotTried, Failed: []FailedScaleUp{{NodeGroup: "std", Delta: 1, Reason: "full"}}, ScaleDowns: down}, "ScaleUpNotTried {std +1 failed: full} {std 5->4}"},
	} {
		if got := tt.d.Summary(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
