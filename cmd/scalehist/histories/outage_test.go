package histories

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOutageIsReportedOnce: whatever the watches say while they are down, one line when they go and one when they are back.
func TestOutageIsReportedOnce(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var o outage
	var got []string
	for _, trouble := range []string{"", "Pod: refused", "", "Pod: refused", "20 kinds:\n  refused", "19 kinds: EOF", "Node: EOF", "", "", "Pod: EOF", "Pod: EOF"} {
		if line := o.next(trouble, now); line != "" {
			got = append(got, line)
		}
		now = now.Add(time.Second)
	}
	want := []string{
		"20 kinds: refused; trying again until it works, what is missed becomes a gap",
		"all kinds are watched again after 4s",
		"Pod: EOF; trying again until it works, what is missed becomes a gap",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
