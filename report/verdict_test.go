package report_test

import (
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
	r.Agreement = nil
	if report.VerdictLine(r) != "" || report.VerdictPage(r) != "" {
		t.Error("a report without a verdict has one")
	}
}
