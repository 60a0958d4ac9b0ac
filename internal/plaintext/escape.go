package plaintext

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable says whether a terminal shows r as itself. Controls (C0, DEL, C1), line and paragraph separators and the invisible characters
// that reorder text (https://trojansource.codes) are not. The two joiners are: emoji and the scripts of Persia and India are written with them.
func Printable(r rune) bool {
	return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || r == '\u200c' || r == '\u200d'
}

// Escape is a value as one line of printable text, in which nothing is a command of a CI system.
func Escape(s string) string { return escape(s, false) }

// Lines is a text of several lines that is ours in its lines, such as a message that was laid out already: newlines and tabs stay.
func Lines(s string) string { return escape(s, true) }

// command is what runners of CI systems look for anywhere in a line: "##[error]" (GitHub, Azure), "##vso[task.complete]" (Azure),
// "##teamcity[buildStatus]".
var command = regexp.MustCompile(`##[A-Za-z]*\[`)

func escape(s string, layout bool) string {
	if strings.Contains(s, "##") {
		s = command.ReplaceAllStringFunc(s, func(c string) string { return strings.TrimSuffix(c, "[") + " [" })
	}
	if clean(s, layout) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Printable(r) || layout && (r == '\n' || r == '\t'):
			b.WriteString(s[i : i+n])
		default:
			b.WriteString(escaped(r))
		}
		i += n
	}
	return b.String()
}

// clean says whether no character of s needs to be escaped; it costs no memory, as nearly every string is.
func clean(s string, layout bool) bool {
	for i, r := range s {
		switch {
		case r >= ' ' && r < 0x7f, layout && (r == '\n' || r == '\t'):
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return false
			}
		case !Printable(r):
			return false
		}
	}
	return true
}

// escaped is how Go writes a rune that is not printable.
func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// Sprintf is fmt.Sprintf with every argument made inert: the format is ours, the arguments are not.
func Sprintf(format string, args ...any) string {
	out := make([]any, len(args))
	for i, a := range args {
		switch a.(type) {
		case int, int32, int64, uint64, float64, bool, nil: // also the widths of "%*d"
			out[i] = a
		default:
			out[i] = value{a}
		}
	}
	return fmt.Sprintf(format, out...)
}

// value is an argument that is formatted as it would be, and made inert then.
type value struct{ v any }

// Format implements fmt.Formatter.
func (v value) Format(state fmt.State, verb rune) {
	_, _ = fmt.Fprint(state, Escape(fmt.Sprintf(fmt.FormatString(state, verb), v.v))) // the state keeps its own errors
}
