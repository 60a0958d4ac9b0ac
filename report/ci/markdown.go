package ci

import (
	"fmt"
	"strings"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// longestSummary bounds a summary in bytes: GitHub takes 1 MiB a step, and nothing of what is longer.
const longestSummary = 900_000

var marks = map[Status]string{Passed: "✅", Failed: "❌", Broken: "💥", NotRun: "⏭️"}

// Markdown is the run as a job summary: a table, and below it what was not as expected.
func (r Run) Markdown() string {
	var b strings.Builder
	mark := marks[Passed]
	if r.Count(Passed) != len(r.Outcomes) || len(r.Outcomes) == 0 {
		mark = marks[Failed]
	}
	fmt.Fprintf(&b, "## %s %s\n\n%s.\n\n", mark, html(r.Title), r.Headline())
	if len(r.Outcomes) > 0 {
		b.WriteString("| | scenario | what scaled | seconds | file |\n|---|---|---|--:|---|\n")
	}
	for _, o := range r.Outcomes {
		at := o.File
		if o.Line > 0 {
			at += fmt.Sprintf(":%d", o.Line)
		}
		fmt.Fprintf(&b, "| %s %s | %s | %s | %.2f | %s |\n", marks[o.Status], o.Status, cell(o.Name), cell(o.Summary), o.Seconds, code(at))
	}
	b.WriteString("\n")
	for _, o := range r.Outcomes {
		if len(o.Problems) == 0 {
			continue
		}
		var d strings.Builder
		fmt.Fprintf(&d, "<details open><summary><b>%s</b></summary>\n\n", html(plaintext.Escape(o.Name)))
		for _, p := range o.Problems {
			fmt.Fprintf(&d, "%s\n\n%s\n", code(strings.TrimSuffix(p.At()+" "+p.Title, " ")), fenced(p.Message))
		}
		if o.Artifacts != "" {
			fmt.Fprintf(&d, "Artifacts: %s\n\n", code(o.Artifacts))
		}
		d.WriteString("</details>\n\n")
		if b.Len()+d.Len() > longestSummary {
			b.WriteString("More is in the artifacts: a summary may not be longer.\n\n")
			break
		}
		b.WriteString(d.String())
	}
	return b.String()
}

// fenced is a code block, with a fence that is not in the text.
func fenced(text string) string {
	text = plaintext.Lines(text)
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// code is a code span in a table or a line of text.
func code(s string) string {
	s = strings.NewReplacer("`", "'", "\n", " ", "|", "\\|").Replace(plaintext.Lines(s))
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// cell is text in a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[").Replace(html(s))
}

func html(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(plaintext.Lines(s))
}
