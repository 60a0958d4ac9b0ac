package docstest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// page is what the tests need of a Markdown file.
type page struct {
	links   []link
	anchors map[string]bool
}

// link is a reference as it is written: "docs/serve.md#api".
type link struct {
	target string
	line   int
}

var (
	headingLine   = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	inlineLink    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	referenceLink = regexp.MustCompile(`^\s{0,3}\[[^\]]+\]:\s+<?([^\s>]+)>?`)
	htmlAnchor    = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)
	htmlTarget    = regexp.MustCompile(`<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"`)
	codeSpan      = regexp.MustCompile("`+[^`]*`+")
	linkText      = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// parse reads headings and links. Fenced code and code spans have neither.
func parse(text string) page {
	p := page{anchors: map[string]bool{}}
	times := map[string]int{}
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if fence != "" {
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			continue
		}
		if mark := fenceMark(trimmed); mark != "" {
			fence = mark
			continue
		}
		if m := headingLine.FindStringSubmatch(line); m != nil {
			slug := slugOf(m[2])
			n := times[slug]
			times[slug]++
			if n > 0 {
				slug = fmt.Sprintf("%s-%d", slug, n)
			}
			p.anchors[slug] = true
		}
		plain := codeSpan.ReplaceAllString(line, "")
		for _, m := range htmlAnchor.FindAllStringSubmatch(plain, -1) {
			p.anchors[m[1]] = true
		}
		for _, pattern := range []*regexp.Regexp{inlineLink, referenceLink, htmlTarget} {
			for _, m := range pattern.FindAllStringSubmatch(plain, -1) {
				p.links = append(p.links, link{target: m[1], line: i + 1})
			}
		}
	}
	return p
}

// fenceMark is the run of backticks or tildes that opens a code block, or "".
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// slugOf is the anchor GitHub makes of a heading: in lower case, spaces as hyphens, without punctuation.
func slugOf(heading string) string {
	heading = linkText.ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}
