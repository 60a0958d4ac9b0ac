package docstest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// block is a fenced block of a page, or a setup comment, with what the comment above it says.
type block struct {
	line     int      // of its first line of text in the page, from 1
	lang     string   // "console", "sh", "sql", "yaml", ...; "setup" of a comment
	indent   string   // before each of its lines
	lines    []string // without indent
	notRun   string   // the reason
	where    string   // a shell test, and
	reason   string   // why it may fail
	exits    []int
	file     string
	printed  string
	until    string
	cluster  bool
	textNext bool // the next block is text and what this one prints
}

// dataLanguages are blocks that hold no commands.
var dataLanguages = []string{"go", "json", "yaml", "text", "toml", "dockerfile", "promql", "diff", "csv", "xml", "markdown", "groovy"}

var commentStart = regexp.MustCompile(`^\s*<!--\s*(.*)$`)

// blocks reads the fenced blocks and the comments that steer them. It refuses comments it does not know that are right above
// a block, and blocks without a language.
func blocks(text string) ([]block, error) {
	var out []block
	var above block // what comments have said since the last block or paragraph
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		if m := commentStart.FindStringSubmatch(lines[i]); m != nil {
			comment, end := m[1], i
			for !strings.Contains(comment, "-->") && end+1 < len(lines) {
				end++
				comment += "\n" + lines[end]
			}
			comment, _, _ = strings.Cut(comment, "-->")
			setup, err := above.read(strings.TrimSpace(comment), i+1)
			if err != nil {
				return nil, err
			}
			if setup != nil {
				out = append(out, *setup)
			}
			i = end
			continue
		}
		fence := fenceMark(trimmed)
		if fence == "" {
			if trimmed != "" {
				if above.said() {
					return nil, fmt.Errorf("line %d: the comment above steers a block, and this is none", i+1)
				}
			}
			continue
		}
		b := above
		above = block{}
		b.line, b.indent = i+2, lines[i][:strings.Index(lines[i], fence)]
		b.lang, _, _ = strings.Cut(strings.TrimSpace(strings.TrimLeft(trimmed, fence[:1])), " ")
		for i++; i < len(lines) && !closes(lines[i], fence); i++ {
			b.lines = append(b.lines, strings.TrimPrefix(lines[i], b.indent))
		}
		if err := b.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", b.line-1, err)
		}
		if b.lang == "text" && len(out) > 0 && out[len(out)-1].lang == "sql" {
			out[len(out)-1].textNext = true
		}
		out = append(out, b)
	}
	return out, nil
}

func closes(line, fence string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, fence) && strings.Trim(t, fence[:1]) == ""
}

// said says whether a comment has said anything.
func (b *block) said() bool {
	return b.notRun != "" || b.where != "" || len(b.exits) > 0 || b.file != "" || b.printed != "" || b.until != ""
}

// read takes one comment. A setup is a block of its own; a comment about something else is left alone.
func (b *block) read(comment string, line int) (*block, error) {
	word, rest, _ := strings.Cut(comment, ":")
	rest = strings.TrimSpace(rest)
	switch {
	case comment == "cluster":
		return &block{line: line, lang: "setup", cluster: true}, nil
	case strings.HasPrefix(comment, "setup\n"):
		return &block{line: line, lang: "setup", lines: strings.Split(strings.TrimPrefix(comment, "setup\n"), "\n")}, nil
	case word == "not run":
		b.notRun = rest
	case strings.HasPrefix(word, "run where "):
		b.where, b.reason = strings.TrimPrefix(word, "run where "), rest
	case word == "exit":
		for f := range strings.FieldsSeq(rest) {
			code, err := strconv.Atoi(f)
			if err != nil {
				return nil, fmt.Errorf("line %d: exit: %w", line, err)
			}
			b.exits = append(b.exits, code)
		}
	case word == "file":
		b.file = rest
	case word == "printed by":
		b.printed = rest
	case word == "until":
		b.until = rest
	default:
		return nil, nil
	}
	if rest == "" {
		return nil, fmt.Errorf("line %d: %q: say what, after the colon", line, word)
	}
	return nil, nil
}

// check refuses a block of which nobody knows whether it is run.
func (b *block) check() error {
	text := slices.ContainsFunc(b.lines, func(l string) bool { return strings.HasPrefix(l, "$ ") })
	switch {
	case b.lang == "":
		return fmt.Errorf("the block has no language: console for commands and what they print, sh for commands, text or yaml or the like for what is not run")
	case b.lang == "console" && (len(b.lines) == 0 || !strings.HasPrefix(b.lines[0], "$ ")):
		return fmt.Errorf(`a console block begins with a command: "$ COMMAND"`)
	case b.lang == "console" || b.lang == "sh" || b.lang == "sql":
		return nil
	case text:
		return fmt.Errorf(`the block is %s and has lines that begin with "$ ": make it console, so that they are run`, b.lang)
	case !slices.Contains(dataLanguages, b.lang):
		return fmt.Errorf("nobody knows whether a block of language %q is to be run: console, sh and sql are, %s are not", b.lang, strings.Join(dataLanguages, ", "))
	}
	return nil
}

// command is a command of a block and, of a console block, what the page shows below it.
type command struct {
	line  int // in the page
	text  string
	shown []string
	at    int // of the first shown line, as an index of the block's lines
}

// commands splits a console or sh block. A command goes on over lines while a quote, a here-document, a compound command or a
// backslash at the end of the line is open.
func (b *block) commands() []command {
	var out []command
	for i := 0; i < len(b.lines); i++ {
		l := b.lines[i]
		text, isCommand := strings.CutPrefix(l, "$ ")
		if b.lang == "console" && !isCommand {
			last := &out[len(out)-1]
			last.shown = append(last.shown, l)
			continue
		}
		if t := strings.TrimSpace(text); b.lang == "sh" && (t == "" || strings.HasPrefix(t, "#")) {
			continue
		}
		c := command{line: b.line + i, text: text}
		for open(c.text) && i+1 < len(b.lines) {
			i++
			c.text += "\n" + b.lines[i]
		}
		c.at = i + 1
		out = append(out, c)
	}
	return out
}

var (
	heredoc  = regexp.MustCompile(`<<-?\s*(?:'([^']+)'|"([^"]+)"|(\w+))`)
	shellFor = regexp.MustCompile(`(?m)^\s*(for|while|if)\b`)
	shellEnd = regexp.MustCompile(`(?m)(^|;)\s*(done|fi)\b`)
)

// open says whether a shell would read on.
func open(text string) bool {
	if strings.HasSuffix(text, `\`) {
		return true
	}
	if m := heredoc.FindStringSubmatch(text); m != nil {
		return !strings.Contains(text+"\n", "\n"+m[1]+m[2]+m[3]+"\n")
	}
	var quote, before rune
	escaped, comment := false, false
	for _, r := range text {
		switch {
		case comment:
			comment = r != '\n'
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case quote == 0 && r == '#' && (before == 0 || unicode.IsSpace(before)):
			comment = true
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case r == quote:
			quote = 0
		}
		before = r
	}
	return quote != 0 || shellFor.MatchString(text) && !shellEnd.MatchString(text)
}
