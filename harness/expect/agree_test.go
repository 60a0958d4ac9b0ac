package expect_test

import (
	"strings"
	"testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/expect"
)

// answered is a sample with these answers, by question; all others are unknown.
func answered(answers map[scalehist.Question]scalehist.AnswerVerdict) *scalehist.ReplayReport {
	r := sample()
	r.Agreement = &scalehist.Agreement{}
	for _, q := range scalehist.Questions {
		x := scalehist.Answer{Question: q, Verdict: scalehist.AnswerUnknown, Text: "nobody looked"}
		if v := answers[q]; v != "" {
			x.Verdict, x.Recorded, x.Replayed, x.Text = v, "seen", "got", "text of "+string(q)
		}
		r.Agreement.Questions = append(r.Agreement.Questions, x)
	}
	r.Agreement.Agreed = r.Agreement.Agrees()
	return r
}

func TestAgreeWithRecordingAsksQuestions(t *testing.T) {
	const up, down, left, steps, waits = scalehist.QuestionScaledUp, scalehist.QuestionScaledDown, scalehist.QuestionUnschedulable, scalehist.QuestionSteps, scalehist.QuestionWaits
	const yes, no = scalehist.AnswerAgreed, scalehist.AnswerDiffers
	type answers = map[scalehist.Question]scalehist.AnswerVerdict
	for name, tc := range map[string]struct {
		answers answers
		asked   []scalehist.Question
		want    bool
		line    string // of the failure message, or of that of its negation
	}{
		"all that decides agrees":            {answers{up: yes, down: yes, left: yes, steps: no, waits: no}, nil, true, "verdict: agrees"},
		"unknown does not fail":              {answers{up: yes}, nil, true, "unschedulable: nobody looked"},
		"how groups grew must be known":      {answers{down: yes, left: yes}, nil, false, "verdict: scaled-up unknown"},
		"scaled down otherwise":              {answers{up: yes, down: no, left: no}, nil, false, "verdict: differs in scaled-down, unschedulable"},
		"asked for steps":                    {answers{up: yes, steps: no}, []scalehist.Question{expect.Steps}, false, "verdict: differs in steps"},
		"asked for waits, steps differ":      {answers{up: yes, steps: no, waits: yes}, []scalehist.Question{expect.Waits}, true, "steps: text of steps"},
		"asked for what is unknown":          {answers{up: yes, steps: no}, []scalehist.Question{expect.PeakSize, expect.Steps}, false, "verdict: differs in steps; peak-size unknown"},
		"asked for by name, decides already": {answers{up: yes, down: yes}, []scalehist.Question{left}, false, "verdict: unschedulable unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			m := expect.AgreeWithRecording(tc.asked...)
			ok, err := m.Match(answered(tc.answers))
			if err != nil || ok != tc.want {
				t.Fatalf("got %t, %v, want %t", ok, err, tc.want)
			}
			message := m.FailureMessage(nil)
			if ok {
				message = m.NegatedFailureMessage(nil)
			}
			if !strings.Contains(message, "  "+tc.line+"\n") {
				t.Errorf("message lacks the line %q:\n%s", tc.line, message)
			}
		})
	}
}

func TestDifferFromRecordingIn(t *testing.T) {
	r := answered(map[scalehist.Question]scalehist.AnswerVerdict{scalehist.QuestionScaledUp: scalehist.AnswerDiffers, expect.Steps: scalehist.AnswerDiffers, expect.Waits: scalehist.AnswerAgreed})
	if ok, err := expect.DifferFromRecordingIn(scalehist.QuestionScaledUp, expect.Steps).Match(r); err != nil || !ok {
		t.Errorf("got %t, %v, want a match", ok, err)
	}
	m := expect.DifferFromRecordingIn(expect.PeakSize, expect.Waits, expect.Steps)
	if ok, err := m.Match(r); err != nil || ok {
		t.Errorf("got %t, %v, want none", ok, err)
	}
	if message := m.FailureMessage(nil); !strings.Contains(message, "does not differ from the recording in peak-size, waits\n") {
		t.Errorf("message:\n%s", message)
	}
	if _, err := expect.DifferFromRecordingIn().Match(r); err == nil {
		t.Error("no question is no expectation, and should be an error")
	}
}
