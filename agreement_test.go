package scalehist

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAsk(t *testing.T) {
	answers := func(steps AnswerVerdict) []Answer {
		return []Answer{{Question: QuestionScaledUp, Verdict: AnswerAgreed}, {Question: QuestionScaledDown, Verdict: AnswerAgreed}, {Question: QuestionSteps, Verdict: steps}}
	}
	a := &Agreement{Agreed: true, Questions: answers(AnswerDiffers)}
	if !a.Agrees() || a.Agrees(QuestionSteps) {
		t.Errorf("agrees %t, with steps %t, want true and false", a.Agrees(), a.Agrees(QuestionSteps))
	}
	a.Ask(QuestionWaits, QuestionSteps, QuestionSteps, QuestionScaledUp)
	if diff := cmp.Diff([]Question{QuestionSteps, QuestionWaits}, a.Asked); diff != "" || a.Agreed {
		t.Errorf("agreed %t; asked (-want +got):\n%s", a.Agreed, diff)
	}
	if diff := cmp.Diff([]Question{QuestionSteps, QuestionWaits}, a.Against()); diff != "" {
		t.Errorf("against (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Question{QuestionSteps}, a.Differing()); diff != "" {
		t.Errorf("differing (-want +got):\n%s", diff)
	}
}
