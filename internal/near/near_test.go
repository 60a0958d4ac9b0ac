package near

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNames(t *testing.T) {
	known := []string{"m5.large", "m5.xlarge", "c5.large", "m5a.large", "pending.p95", "cost"}
	for name, want := range map[string][]string{
		"m5.larg":     {"m5.large", "c5.large"},
		"M5.LARGE":    {"m5.large", "c5.large"},
		"pending.p59": {"pending.p95"},
		"pend":        {"pending.p95"},
		"costs":       {"cost"},
		"zzz":         nil,
		"":            nil,
	} {
		if diff := cmp.Diff(want, Names(name, known, 2)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
	if got, want := Suggest("costs", known), `; did you mean "cost"?`; got != want {
		t.Errorf("Suggest: %q, want %q", got, want)
	}
	if got := Suggest("zzz", known); got != "" {
		t.Errorf("Suggest of nothing near: %q", got)
	}
}
