package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Explain is what a rule checks, what a finding means and what to do, for people.
func (r Rule) Explain() string {
	return fmt.Sprintf("%s: %s (%s)\n\n%s\n\nWhat to do: %s.\n", r.Code, r.Title, r.Severity, wrap(r.Doc, 100), wrap(r.Advice, 100))
}

// wrap breaks text into lines of at most width characters.
func wrap(text string, width int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		if i > 0 {
			if column+1+len(word) > width {
				b.WriteByte('\n')
				column = 0
			} else {
				b.WriteByte(' ')
				column++
			}
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// subjects are the hundreds of codes.
var subjects = []struct{ digit, name string }{
	{"0", "The file"}, {"1", "The recording and its clock"}, {"2", "Pods and what they refer to"}, {"3", "Node groups"},
	{"4", "The autoscaler's settings"}, {"5", "What the autoscaler was seen to do"}, {"6", "What a replay does not model"}, {"7", "Metrics"},
}

// Markdown is docs/doctor.md: how to run the check, and every rule.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# scalehist doctor

<!-- Written by go test ./doctor -update from the table of rules. Do not edit. -->

` + "`scalehist doctor FILE...`" + ` checks recorded histories before somebody trusts a replay of them: whether the file is whole, whether what a
replay needs was recorded, and what a replay will have to guess. It reads; it changes nothing.

<!-- setup
cp fixtures/full-day/recording.db prod.db
-->
<!-- exit: 0 1 -->
` + "```" + `sh
scalehist doctor prod.db                          # all rules, the whole history
scalehist doctor prod.db --from +20m --to +30m    # only what bears on this window
scalehist doctor fixtures/*/recording.db --min-severity warning
scalehist doctor prod.db -o json                  # every finding; text shows five of a rule
scalehist doctor prod.db -o github                # annotations of a GitHub workflow
scalehist doctor prod.db --disable SH301,SH403    # leave rules out
scalehist doctor --explain SH501                  # what one means
` + "```" + `

The exit code is the worst finding's: 0 for none or remarks (info), 1 for warnings, 2 for errors. Findings that --min-severity or --disable leaves
out do not count. It is 2 as well when a file is not there.

- **error**: the history cannot be replayed, or a replay of it means nothing.
- **warning**: a replay runs, and something in it is guessed or missing.
- **info**: worth knowing when a replay differs from what happened.

A finding has the severity of its rule, or a milder one where its text says so. Codes are stable: a rule keeps its code, and no code is used twice.
In JSON each file is ` + "`{file, from, to, first, errors, warnings, infos, findings: [{code, severity, title, at, object, message, advice}]}`" + `; ` + "`at`" + ` is an
instant of the history and ` + "`object`" + ` is "Kind namespace/name", both absent where a finding is about none.
`)
	rules := Rules()
	for _, s := range subjects {
		of := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Code[2:3] != s.digit })
		fmt.Fprintf(&b, "\n## %s\n\n| code | what | severity |\n|---|---|---|\n", s.name)
		for _, r := range of {
			fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Title, r.Severity)
		}
		for _, r := range of {
			fmt.Fprintf(&b, "\n### %s\n\n**%s** (%s). %s\n\nWhat to do: %s.\n", r.Code, r.Title, r.Severity, r.Doc, r.Advice)
		}
	}
	return b.String()
}
