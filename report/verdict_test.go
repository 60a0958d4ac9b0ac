package report_test

import (
	"strings"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

func TestVerdictLine(t *testing.T) {
	r := sample()
	if got, want := report.VerdictLine(r), "differs in scaled-up, unschedulable"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := report.VerdictLine(r, scalehist.QuestionSteps, scalehist.QuestionWaits), "differs in scaled-up, unschedulable, steps; waits unknown"; got != want {
		t.Errorf("with questions: got %q, want %q", got, want)
	}
	r.Agreement = &scalehist.Agreement{Agreed: true}
	if got := report.VerdictLine(r); got != "agrees" {
		t.Errorf("an older report that agreed: %q", got)
	}
	r.Agreement = &scalehist.Agreement{Groups: []scalehist.GroupDifference{{NodeGroup: "a", Recorded: 1}}}
	if got, want := report.VerdictPage(r), "verdict: differs in the net change of node groups\n  a: recorded +1, replayed +0\n"; !strings.HasPrefix(got, want) {
		t.Errorf("an older report that differed: %q", got)
	}
	r.Agreement = nil
	if report.VerdictLine(r) != "" || report.VerdictPage(r) != "" {
		t.Error("a report without a verdict has one")
	}
}
