package scenario

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/plaintext"
	"github.com/scalehist/scalehist/prices"
)

// Engines are the autoscalers a scenario may name.
type Engines interface {
	// Names lists them, the default first; Engine also takes URLs and exec:PATH.
	Names() []string
	Engine(name string) (harness.Option, error)
	// RealTime says whether an engine is a program of its own, which is played in real time.
	RealTime(name string) bool
	// CheckFlags refuses flags that an engine would not understand.
	CheckFlags(name string, flags []string) error
	// Controls are the options for what settings say of controllers, whose files path finds.
	Controls(s *harness.Settings, path func(string) string) ([]harness.Option, error)
	// JudgeScaleUps says of each scale-up of a report that keeps its moments how far it was from the cheapest one.
	JudgeScaleUps(ctx context.Context, r *scalehist.ReplayReport, prices *prices.Table) error
}

// Problem is something wrong in a scenario file. Line and Column count from 1; 0 is unknown.
type Problem struct {
	File         string
	Line, Column int
	Message      string
}

// Error is the problem with its place: "file:line:column: message".
func (p Problem) Error() string {
	at := p.File
	if p.Line > 0 {
		at += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	return at + ": " + p.Message
}

// FileError is everything that is wrong in scenario files, in their order.
type FileError struct{ Problems []Problem }

func (e *FileError) Error() string {
	lines := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		lines = append(lines, plaintext.Escape(p.Error()))
	}
	return strings.Join(lines, "\n")
}

// ErrNoScenario is wrapped by the error for a YAML file that is about something else: a price table, a policy.
var ErrNoScenario = errors.New("this is not a scenario: it has neither history nor expect")

// maxFile bounds a file in bytes, maxKeys what aliases may make of it.
const (
	maxFile = decode.MaxFile
	maxKeys = 200_000
)

// Load reads one file: one scenario, a list of them, or several YAML documents. What is wrong in it is a *FileError.
func Load(file string, engines Engines) ([]*Scenario, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("scenario file: %w", err)
	}
	return Parse(data, file, engines)
}

// Parse reads the text of a file; relative paths in it start at the file's directory.
func Parse(data []byte, file string, engines Engines) ([]*Scenario, error) {
	fail := func(line int, format string, args ...any) error {
		return &FileError{[]Problem{{file, line, min(line, 1), fmt.Sprintf(format, args...)}}}
	}
	if len(data) > maxFile {
		return nil, fail(0, "%d bytes are more than %d", len(data), maxFile)
	}
	var items []*yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		err := documents.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line, message := syntax(err)
			return nil, fail(line, "this is not YAML: %s", message)
		}
		switch top := resolved(doc.Content[0]); {
		case top.Kind == yaml.SequenceNode:
			items = append(items, top.Content...)
		case top.Kind == yaml.ScalarNode && top.Tag == "!!null":
		default:
			items = append(items, top)
		}
	}
	if len(items) == 0 {
		return nil, fail(1, "there is no scenario in it: 'scalehist new scenario FILE.db' writes one to begin with")
	}
	if !slices.ContainsFunc(items, isScenario) {
		return nil, fmt.Errorf("%s:%d:%d: %w", file, items[0].Line, items[0].Column, ErrNoScenario)
	}
	d := &decoder{file: file, left: maxKeys}
	out := make([]*Scenario, 0, len(items))
	for i, item := range items {
		item = resolved(item)
		if !d.spend(item) {
			break
		}
		s := &Scenario{File: file, Line: item.Line, Column: item.Column, at: map[string]position{"": {item.Line, item.Column}}}
		d.at = s.at
		d.value(item, s, "")
		switch {
		case s.Name != "":
		case len(items) == 1:
			s.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		default:
			d.addf(item, "scenario %d of %d has no name", i+1, len(items))
		}
		out = append(out, s)
	}
	if d.left <= 0 { // the rest would say the same
		return nil, &FileError{d.problems}
	}
	for _, s := range out {
		s.check(d, engines)
	}
	d.problems = append(d.problems, Twice(out)...)
	if len(d.problems) > 0 {
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
		return nil, &FileError{d.problems}
	}
	return out, nil
}

var atLine = regexp.MustCompile(`^line (\d+): `)

// syntax takes the line off an error of the YAML parser.
func syntax(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := atLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1]) // digits
		message = message[len(m[0]):]
	}
	return line, message + ` (a text that begins with > or * must be quoted)`
}

// isScenario says whether a node was meant to be one: it has a key that only scenarios have, or nearly.
func isScenario(n *yaml.Node) bool {
	n = resolved(n)
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		for _, key := range []string{"history", "expect"} {
			if near.Distance(n.Content[i].Value, key) <= 2 {
				return true
			}
		}
	}
	return false
}

// Twice finds the scenarios whose artifacts would be in the same place as those of an earlier one.
func Twice(all []*Scenario) []Problem {
	var out []Problem
	seen := map[string]*Scenario{}
	for _, s := range all {
		if s.Name == "" {
			continue
		}
		first, again := seen[s.Slug()]
		if again {
			p := s.pos("name")
			out = append(out, Problem{s.File, p.line, p.column, fmt.Sprintf("the name %q is that of the scenario at %s:%d, or would have the same files: give it another", s.Name, first.File, first.Line)})
			continue
		}
		seen[s.Slug()] = s
	}
	return out
}

// Slug is the name as part of a path: letters and digits, in lower case, and hyphens.
func (s *Scenario) Slug() string { return Slug(s.Name) }

// Slug makes a name part of a path.
func Slug(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), ".")
}

// pos is where a key is, else where what it belongs to does.
func (s *Scenario) pos(path string) position {
	for {
		if p, ok := s.at[path]; ok {
			return p
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return position{s.Line, s.Column}
		}
		path = path[:i]
	}
}

// Path is a path of the file, from where this process is.
func (s *Scenario) Path(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(s.File), path)
}
