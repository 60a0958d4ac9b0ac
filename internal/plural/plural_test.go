package plural

import "testing"

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		n          int
		noun, want string
	}{
		{0, "pod", "0 pods"}, {1, "pod", "1 pod"}, {2, "pod", "2 pods"}, {-1, "node", "-1 nodes"},
		{1, "batch", "1 batch"}, {3, "batch", "3 batches"}, {2, "policy", "2 policies"}, {2, "day", "2 days"}, {2, "class", "2 classes"}, {2, "update event", "2 update events"},
	} {
		if got := Of(tt.n, tt.noun); got != tt.want {
			t.Errorf("%d %s: %q, want %q", tt.n, tt.noun, got, tt.want)
		}
	}
	if Verb(1, "was", "were") != "was" || Verb(0, "was", "were") != "were" {
		t.Error("a verb follows its number")
	}
}
