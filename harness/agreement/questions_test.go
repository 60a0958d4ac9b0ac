package agreement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

// TestQuestions: each question by itself. An answer is "question verdict: recorded / replayed"; those that agree are left out.
func TestQuestions(t *testing.T) {
	pending := func(p50, p95 float64) scalehist.PendingStats {
		return scalehist.PendingStats{Of: 10, P50: p50, P95: p95}
	}
	tests := []struct {
		name string
		c    Comparison
		want []string
	}{
		{name: "nothing scaled", c: compared(nil, nil, nil)},
		{
			name: "up and down again, against nothing at all: the net is the same",
			c:    compared(steps("10 a 1 3", "90 a 3 1"), nil, nil),
			want: []string{"scaled-up differs: a +2 / nothing", "scaled-down differs: a -2 / nothing", "peak-size differs: a 3 / nothing", "steps differs: 2 steps / 0 steps"},
		},
		{
			name: "in time but in another size on the way", c: compared(steps("10 a 1 3", "90 a 3 2"), steps("10 a 1 4", "90 a 4 2"), nil),
			want: []string{"scaled-up differs: a +2 / a +3", "scaled-down differs: a -1 / a -2", "peak-size differs: a 3 / a 4", "steps differs: 2 steps / 2 steps"},
		},
		{name: "late by one scan interval", c: compared(steps("20 a 1 3"), steps("30 a 1 3"), nil)},
		{name: "late by more", c: compared(steps("20 a 1 3"), steps("31 a 1 3"), nil), want: []string{"steps differs: 1 step / 1 step"}},
		{name: "in two steps, in time", c: compared(steps("20 a 1 3"), steps("20 a 1 2", "29 a 2 3"), nil)},
		{
			name: "missing and extra so late that they may come after the end",
			c:    compared(steps("20 a 1 3", "591 a 3 2"), steps("20 a 1 3", "599 b 0 1"), nil),
		},
		{
			name: "missing just before that", c: compared(steps("20 a 1 3", "590 a 3 2"), steps("20 a 1 3"), nil),
			want: []string{"scaled-down differs: a -1 / nothing", "steps differs: 2 steps / 1 step"},
		},
		{
			name: "the same steps twice: those of the recording explain the first ones only",
			c:    compared(steps("20 a 1 3", "100 a 3 1"), steps("20 a 1 3", "100 a 3 1", "200 a 1 3", "300 a 3 1"), nil),
			want: []string{"scaled-up differs: a +2 / a +4", "scaled-down differs: a -2 / a -4", "steps differs: 2 steps / 4 steps"},
		},
		{
			name: "pods are left",
			c:    changed(func(c *Comparison) { c.Left = 1 }),
			want: []string{"unschedulable differs: 0 pods / 1 pod"},
		},
		{
			name: "cut off, and nobody recorded the pods",
			c:    changed(func(c *Comparison) { c.Truth.Pending, c.Cut = nil, true }),
			want: []string{"unschedulable unknown:  / 0 pods", "waits unknown:  / p50 0s, p95 0s"},
		},
		{
			name: "how long nodes take is assumed",
			c:    changed(func(c *Comparison) { c.Left, c.Assumed = 1, []string{"a"} }),
			want: []string{"unschedulable unknown: 0 pods / 1 pod", "waits unknown: p50 0s, p95 0s / p50 0s, p95 0s"},
		},
		{
			name: "waits of the same magnitude",
			c:    changed(func(c *Comparison) { *c.Truth.Pending, c.Pending = pending(0, 60), pending(10, 130) }),
		},
		{
			name: "waits of another magnitude",
			c:    changed(func(c *Comparison) { *c.Truth.Pending, c.Pending = pending(0, 60), pending(0, 130.1) }),
			want: []string{"waits differs: p50 0s, p95 1m0s / p50 0s, p95 2m10.1s"},
		},
		{
			name: "waits that are shorter than recorded by that",
			c:    changed(func(c *Comparison) { *c.Truth.Pending, c.Pending = pending(40, 60), pending(14, 60) }),
			want: []string{"waits differs: p50 40s, p95 1m0s / p50 14s, p95 1m0s"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := tt.c.Agreement()
			var got []string
			for i, x := range a.Questions {
				if x.Question != scalehist.Questions[i] || x.Text == "" {
					t.Errorf("answer %d is to %s, %q; want one to %s, with a text", i, x.Question, x.Text, scalehist.Questions[i])
				}
				if x.Verdict != scalehist.AnswerAgreed {
					got = append(got, fmt.Sprintf("%s %s: %s / %s", x.Question, x.Verdict, x.Recorded, x.Replayed))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// changed is a comparison of nothing, with a change.
func changed(change func(*Comparison)) Comparison {
	c := compared(nil, nil, nil)
	change(&c)
	return c
}

// TestGroupsThatDifferAreShown: of many groups an answer names some, those that differ among them.
func TestGroupsThatDifferAreShown(t *testing.T) {
	recorded, replayed := map[string]int{}, map[string]int{}
	for i := range 9 {
		recorded[fmt.Sprintf("g%d", i)], replayed[fmt.Sprintf("g%d", i)] = 1, 1
	}
	replayed["g8"] = 4
	got := byGroup(scalehist.QuestionScaledUp, "+", recorded, replayed)
	if want := "g8 +4, g0 +1, g1 +1, g2 +1, g3 +1, g4 +1 and 3 more"; got.Replayed != want {
		t.Errorf("got %q, want %q", got.Replayed, want)
	}
}
