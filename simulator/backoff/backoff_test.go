package backoff

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// TestLengths: a failure during a backoff has its length again, one after it twice that up to the maximum, and one long after it the first.
func TestLengths(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(5*time.Minute, 30*time.Minute, 3*time.Hour)
	for _, step := range []struct{ at, want time.Duration }{
		{0, 5 * time.Minute},
		{time.Minute, 5 * time.Minute},
		{6 * time.Minute, 5 * time.Minute}, // it ends in this moment
		{12 * time.Minute, 10 * time.Minute},
		{23 * time.Minute, 20 * time.Minute},
		{44 * time.Minute, 30 * time.Minute},
		{80 * time.Minute, 30 * time.Minute},
		{80*time.Minute + 3*time.Hour + 1, 5 * time.Minute},
	} {
		now := start.Add(step.at)
		b.Forget(now)
		if got := b.Fail("a", "code", "why", now).Sub(now); got != step.want {
			t.Errorf("a failure at %s: backed off for %s, want %s", step.at, got, step.want)
		}
	}
}

// TestActive: a group is backed off up to the end and not at it, and what is listed is in the order of names.
func TestActive(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := New(time.Minute, time.Hour, time.Hour)
	until := b.Fail("b", "quota", "no more", now)
	b.Fail("a", "", "refused", now)
	if !b.Active("b", until.Add(-1)) || b.Active("b", until) || b.Active("c", now) {
		t.Error("not what is active: b up to its end")
	}
	if e := b.Of("b"); e.Code != "quota" || e.Reason != "no more" {
		t.Errorf("b: %+v", e)
	}
	want := []scalehist.GroupBackoff{{NodeGroup: "a", Until: until, Reason: "refused"}, {NodeGroup: "b", Until: until, Reason: "no more"}}
	if diff := cmp.Diff(want, b.List(now)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}
