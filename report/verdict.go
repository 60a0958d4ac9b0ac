package report

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// VerdictLine is the verdict against the recording on one line: "agrees", "differs in scaled-down, unschedulable"; empty where
// there is none. Further questions may be asked, as Agreement.Agrees takes them.
func VerdictLine(r *scalehist.ReplayReport, asked ...scalehist.Question) string {
	a := r.Agreement
	switch {
	case a == nil:
		return ""
	case a.Agrees(asked...):
		return "agrees"
	}
	differs, unknown := []string{}, []string{}
	for _, q := range a.Against(asked...) {
		if x, ok := a.Answer(q); ok && x.Verdict == scalehist.AnswerDiffers {
			differs = append(differs, string(q))
		} else {
			unknown = append(unknown, string(q))
		}
	}
	var parts []string
	if len(differs) > 0 {
		parts = append(parts, "differs in "+strings.Join(differs, ", "))
	}
	if len(unknown) > 0 {
		parts = append(parts, strings.Join(unknown, ", ")+" unknown")
	}
	return strings.Join(parts, "; ")
}

// VerdictText is the verdict with the answer to each question, in lines; empty where there is none.
func VerdictText(r *scalehist.ReplayReport, asked ...scalehist.Question) string {
	r = plaintext.Values(r)
	a := r.Agreement
	if a == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verdict: %s\n", VerdictLine(r, asked...))
	b.WriteString(indent(answerTable(a), "  ") + "\n")
	for _, x := range a.Questions {
		if x.Verdict != scalehist.AnswerAgreed {
			fmt.Fprintf(&b, "  %s: %s\n", x.Question, x.Text)
		}
	}
	if r.Recorded != nil {
		until := ""
		if a.Until != nil {
			until = "; compared up to " + offset(r, *a.Until) + ", where the recording ends"
		}
		fmt.Fprintf(&b, "  source of the recorded sizes: %s%s\n", r.Recorded.Source, until)
	}
	return b.String()
}

func answerTable(a *scalehist.Agreement) string {
	t := newTable()
	t.AppendHeader(table.Row{"question", "verdict", "recorded", "replayed"})
	for _, x := range a.Questions {
		t.AppendRow(table.Row{x.Question, x.Verdict, orDash(x.Recorded), orDash(x.Replayed)})
	}
	return t.Render()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// VerdictPage is the verdict, and below it the steps that are not as recorded; empty where there is none.
func VerdictPage(r *scalehist.ReplayReport) string {
	r = plaintext.Values(r)
	a := r.Agreement
	if a == nil {
		return ""
	}
	var b strings.Builder
	within := 0
	for _, d := range a.Differences {
		if d.Within {
			within++
			continue
		}
		fmt.Fprintf(&b, "  %-7s %s\n          %s\n", d.Kind, StepPair(r, d), d.Reason)
	}
	if b.Len() == 0 {
		return VerdictText(r)
	}
	if within > 0 {
		fmt.Fprintf(&b, "  and %s within one scan interval\n", plural.Of(within, "step"))
	}
	return VerdictText(r) + "differences from the recording:\n" + b.String()
}

// StepPair is what was recorded and what was replayed of a difference: "recorded std 1->2 at +10s, replayed std 1->2 at +12s".
func StepPair(r *scalehist.ReplayReport, d scalehist.Difference) string {
	var parts []string
	for _, s := range []struct {
		word string
		step *scalehist.RecordedStep
	}{{"recorded", d.Recorded}, {"replayed", d.Replayed}} {
		if s.step != nil {
			parts = append(parts, fmt.Sprintf("%s %s %d->%d at %s", s.word, s.step.NodeGroup, s.step.From, s.step.To, offset(r, s.step.At)))
		}
	}
	return strings.Join(parts, ", ")
}

// scaledOtherwise says whether a group grew or shrank by another number of nodes than recorded.
func scaledOtherwise(a *scalehist.Agreement, group string) bool {
	for _, q := range []scalehist.Question{scalehist.QuestionScaledUp, scalehist.QuestionScaledDown} {
		x, _ := a.Answer(q)
		for _, g := range x.Groups {
			if g.NodeGroup == group {
				return true
			}
		}
	}
	return false
}
