package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/recorder/history"
)

func TestJoinedGaps(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	gap := func(from, to int, why string, kinds ...string) history.Gap {
		return history.Gap{From: at(from), To: at(to), Kinds: kinds, Why: why}
	}
	got := JoinGaps([]history.Gap{gap(0, 10, "cut", "Pod"), gap(1, 12, "cut", "Node"), gap(1, 12, "cut", "Pod"), gap(2, 5, "refused", "Job"),
		gap(3, 4, "cut"), gap(20, 21, "cut", "Pod")})
	want := []history.Gap{gap(0, 12, "cut", "Node", "Pod"), gap(2, 5, "refused", "Job"), gap(3, 4, "cut"), gap(20, 21, "cut", "Pod")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}
