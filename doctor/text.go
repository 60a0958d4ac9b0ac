package doctor

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/scalehist/scalehist/internal/moment"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/internal/plural"
)

// shown is how many findings of one rule text output lists; JSON has all.
const shown = 5

// Paint colours the words of a severity for a terminal; nil leaves them as they are.
type Paint func(s Severity, text string) string

// Text writes the report for people: a line for the file, then the rules that found something, worst first, each with
// what it found and what to do.
func (r *Report) Text(w io.Writer, paint Paint) error {
	if paint == nil {
		paint = func(_ Severity, text string) string { return text }
	}
	r = plaintext.Values(r)
	var b strings.Builder
	b.WriteString(r.File)
	if !r.From.IsZero() {
		fmt.Fprintf(&b, ": %s to %s (%s)", moment.Stamp(r.From), moment.Stamp(r.To), r.To.Sub(r.From).Round(time.Millisecond))
	}
	fmt.Fprintf(&b, ": %s\n", r.summary())
	for i := 0; i < len(r.Findings); {
		of := r.Findings[i:]
		n := 0
		for n < len(of) && of[n].Code == of[0].Code && of[n].Severity == of[0].Severity {
			n++
		}
		fmt.Fprintf(&b, "\n%s %s: %s\n", paint(of[0].Severity, string(of[0].Severity)), of[0].Code, of[0].Title)
		for _, f := range of[:min(n, shown)] {
			b.WriteString("  ")
			if !f.At.IsZero() {
				fmt.Fprintf(&b, "%s  ", r.offset(f.At))
			}
			if f.Object != "" {
				fmt.Fprintf(&b, "%s: ", f.Object)
			}
			fmt.Fprintf(&b, "%s\n", oneLine(f.Message))
		}
		if n > shown {
			fmt.Fprintf(&b, "  and %d more (-o json lists all)\n", n-shown)
		}
		fmt.Fprintf(&b, "  -> %s\n", of[0].Advice)
		i += n
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// offset is the time since the history began, as --from takes it.
func (r *Report) offset(at time.Time) string {
	d := at.Sub(r.First).Round(time.Millisecond)
	if d < 0 {
		return d.String()
	}
	return "+" + d.String()
}

func (r *Report) summary() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{r.Errors, "error"}, {r.Warnings, "warning"}, {r.Infos, "remark"}} {
		if p.n > 0 {
			parts = append(parts, plural.Of(p.n, p.what))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// github escapes (https://docs.github.com/actions/reference/workflow-commands-for-github-actions).
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes the findings as annotations of a GitHub workflow: ::error, ::warning and ::notice.
func (r *Report) GitHub(w io.Writer) error {
	r = plaintext.Values(r)
	var b strings.Builder
	commands := map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}
	for _, f := range r.Findings {
		message := f.Message
		if f.Object != "" {
			message = f.Object + ": " + message
		}
		if !f.At.IsZero() {
			message = r.offset(f.At) + " " + message
		}
		fmt.Fprintf(&b, "::%s file=%s,title=%s::%s\n", commands[f.Severity], githubProperty.Replace(r.File),
			githubProperty.Replace(f.Code+" "+f.Title), githubData.Replace(message+" -> "+f.Advice))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
