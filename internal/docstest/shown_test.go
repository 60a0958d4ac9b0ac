package docstest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// elided is the line of a page that stands for any lines of what a command prints.
const elided = "..."

// varying are what differs between two runs of the same command by nature. Page and output are compared without it; a page keeps
// the values it has.
var varying = []struct {
	what    string
	pattern *regexp.Regexp
	with    string
}{
	{"what a replay cost", regexp.MustCompile(`^run: \w+, boot .*$`), "run: PLANE, COST"},
	{"how long a scenario took", regexp.MustCompile(`^(passed|failed) +[0-9.]+s`), "$1 TIME"},
	{"what replays cost together", regexp.MustCompile(`\b(took|in|wall|after) [0-9.]+(ms|s|m[0-9.]+s)\b`), "$1 TIME"},
	{"the version of scalehist", regexp.MustCompile(`^scalehist\s+\S+( \(\S+\))?$`), "scalehist VERSION"},
	{"a version of Go", regexp.MustCompile(`\bgo1\.\d+(\.\d+)?\b`), "GOVERSION"},
	{"a directory for temporary files", regexp.MustCompile(`/tmp/[A-Za-z0-9._/-]+`), "/tmp/NAME"},
	{"the hash of a report, which its goldens hold", regexp.MustCompile(`^report sha256:[0-9a-f]{64}$`), "report HASH"},
	{"the seconds of go test", regexp.MustCompile(`^(ok|FAIL)(\s+\S+)\s+([0-9.]+s|\(cached\))`), "$1$2 TIME"},
	{"bytes of a file SQLite laid out", regexp.MustCompile(`\b[0-9.]+ [KM]iB\b`), "SIZE"},
}

// settled is a line without what varies.
func settled(line string) string {
	line = strings.TrimRight(line, " \t\r")
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.with)
	}
	return line
}

// shows says whether the shown lines are what was printed, up to what varies and what is elided; if not, where it parts.
func shows(shown, printed []string) error {
	shown, printed = trimmed(shown), trimmed(printed)
	at := 0 // of printed
	for _, c := range chunks(shown) {
		found := -1
		for from := at; from+len(c.lines) <= len(printed); from++ {
			if equal(c.lines, printed[from:from+len(c.lines)]) {
				found = from
				break
			}
			if !c.after {
				break
			}
		}
		if found < 0 {
			return c.missing(printed[min(at, len(printed)):])
		}
		at = found + len(c.lines)
		if c.last && !c.before && at != len(printed) {
			// The tail must be the end; a chunk after "..." may be found further down.
			tail := len(printed) - len(c.lines)
			if c.after && tail >= found && equal(c.lines, printed[tail:]) {
				return nil
			}
			return fmt.Errorf("it prints more after that:\n%s", indented(printed[at:]))
		}
	}
	if len(shown) == 0 && len(printed) > 0 {
		return fmt.Errorf("the page shows nothing, it prints:\n%s", indented(printed))
	}
	return nil
}

// chunk is a run of shown lines between elisions.
type chunk struct {
	lines         []string
	at            int  // index of the first in what is shown
	after, before bool // an elision is before it, comes after it
	last          bool
}

func (c chunk) missing(printed []string) error {
	first := 0
	for first < len(c.lines) && first < len(printed) && settled(c.lines[first]) == settled(printed[first]) {
		first++
	}
	if c.after || first == len(c.lines) {
		return fmt.Errorf("it does not print, after %d lines that are as shown:\n%swhat is left of it:\n%s", c.at, indented(c.lines), indented(printed))
	}
	got := "nothing more\n"
	if first < len(printed) {
		got = indented(printed[first:])
	}
	return fmt.Errorf("the page shows:\n%sit prints:\n%s", indented(c.lines[first:first+1]), got)
}

func chunks(shown []string) []chunk {
	var out []chunk
	c := chunk{}
	for i, l := range append(slices.Clone(shown), elided) {
		if strings.TrimSpace(l) != elided || len(l) > 0 && i < len(shown) && strings.TrimSpace(l) != elided {
			if len(c.lines) == 0 {
				c.at = i
			}
			c.lines = append(c.lines, l)
			continue
		}
		c.before, c.last = i < len(shown), i == len(shown)
		if len(c.lines) > 0 {
			out = append(out, c)
		}
		c = chunk{after: true}
	}
	return out
}

func equal(a, b []string) bool {
	return slices.EqualFunc(a, b, func(x, y string) bool { return settled(x) == settled(y) })
}

// trimmed is lines without empty ones at the end.
func trimmed(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func indented(lines []string) string {
	const most = 60
	var b strings.Builder
	for i, l := range lines {
		if i == most {
			fmt.Fprintf(&b, "    ... and %d lines more\n", len(lines)-most)
			break
		}
		b.WriteString("    " + l + "\n")
	}
	return b.String()
}

// updated is what the page is to show of what was printed: all of it, or, where the page elides lines, those that look like the
// ones it has, in the same places. false if one of them is not printed any more: then somebody must choose again.
func updated(shown, printed []string) ([]string, bool) {
	end := shown[len(trimmed(shown)):]
	shown, printed = trimmed(shown), trimmed(printed)
	var out []string
	if !slices.ContainsFunc(shown, func(l string) bool { return strings.TrimSpace(l) == elided }) {
		for _, l := range printed {
			out = append(out, strings.TrimRight(l, " \t\r"))
		}
		return append(out, end...), true
	}
	at := 0
	for _, l := range shown {
		if strings.TrimSpace(l) == elided {
			out = append(out, l)
			continue
		}
		next := slices.IndexFunc(printed[at:], func(p string) bool { return skeleton(p) == skeleton(l) })
		if next < 0 {
			return nil, false
		}
		at += next + 1
		out = append(out, strings.TrimRight(printed[at-1], " \t\r"))
	}
	return append(out, end...), shows(out, printed) == nil
}

var numbers = regexp.MustCompile(`[0-9.]+`)

// skeleton is a line without its numbers and its widths.
func skeleton(line string) string {
	return strings.Join(strings.Fields(numbers.ReplaceAllString(settled(line), "0")), " ")
}
