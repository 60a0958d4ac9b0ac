package ci

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scalehist/scalehist/internal/plaintext"
)

// The variables of a GitHub workflow (https://docs.github.com/actions/reference/variables-reference). Workspace is where the
// repository is checked out; the file of StepSummary is shown as Markdown on the page of the run.
const (
	GitHubActions = "GITHUB_ACTIONS"
	Workspace     = "GITHUB_WORKSPACE"
	StepSummary   = "GITHUB_STEP_SUMMARY"
)

// InGitHub says whether this runs in a GitHub workflow.
func InGitHub(getenv func(string) string) bool { return getenv(GitHubActions) == "true" }

// Level is how an annotation is shown.
type Level string

// The levels.
const (
	Error   Level = "error"
	Warning Level = "warning"
)

// Annotation is a message at a line of a file, which GitHub shows in the diff of a pull request.
type Annotation struct {
	Level Level
	// File is relative to the repository. Line and Column count from 1; 0 leaves them out.
	File           string
	Line, Column   int
	Title, Message string
}

// The escapes of workflow commands (https://docs.github.com/actions/reference/workflow-commands-for-github-actions): properties end at
// a comma or a colon.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// longestMessage bounds an annotation in bytes: GitHub cuts what is longer, without a word.
const longestMessage = 60_000

// String is the workflow command, one line.
func (a Annotation) String() string {
	a.File, a.Title, a.Message = plaintext.Escape(a.File), plaintext.Lines(a.Title), plaintext.Lines(a.Message)
	var where []string
	if a.File != "" {
		where = append(where, "file="+property.Replace(filepath.ToSlash(a.File)))
		if a.Line > 0 {
			where = append(where, "line="+strconv.Itoa(a.Line))
			if a.Column > 0 {
				where = append(where, "col="+strconv.Itoa(a.Column))
			}
		}
	}
	where = append(where, "title="+property.Replace(a.Title))
	return fmt.Sprintf("::%s %s::%s", a.Level, strings.Join(where, ","), data.Replace(shorten(a.Message, longestMessage)))
}

// shorten cuts a text at a line, if there is one, and says so.
func shorten(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	s = s[:bytes]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	if i := strings.LastIndexByte(s, '\n'); i > bytes/2 {
		s = s[:i]
	}
	return strings.ToValidUTF8(s, "") + "\n(the rest is in the artifacts)"
}

// Group is a text that GitHub shows folded. No line of it is taken for a workflow command.
func Group(title, body string) string {
	return "::group::" + data.Replace(plaintext.Lines(title)) + "\n" + Inert(plaintext.Lines(body)) + "::endgroup::\n"
}

// Inert changes the lines of a text that a runner would take for commands, and ends it with a newline. A runner looks at what
// a line begins with after blanks, and for "##[" anywhere in it.
func Inert(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(strings.TrimSpace(l), "::") {
			l = "| " + l
		}
		lines[i] = strings.ReplaceAll(l, "##[", "# #[")
	}
	return strings.Join(lines, "\n") + "\n"
}

// GitHub are the annotations of a run: an error for each problem, at the line of the expectation. Paths start at the workspace.
func (r Run) GitHub(getenv func(string) string) string {
	var b strings.Builder
	for _, o := range r.Outcomes {
		for _, p := range o.Problems {
			a := Annotation{Error, FromWorkspace(getenv, p.File), p.Line, p.Column, o.Name, p.Message}
			if p.Title != "" {
				a.Title += ": " + p.Title
			}
			b.WriteString(a.String() + "\n")
		}
	}
	return b.String()
}

// FromWorkspace is a path as annotations want it: relative to the workspace, where the file is in it.
func FromWorkspace(getenv func(string) string, path string) string {
	root := getenv(Workspace)
	if root == "" {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return filepath.ToSlash(rel)
}

// Summarize appends Markdown to the job summary, if this is a step of a GitHub workflow.
func Summarize(getenv func(string) string, markdown string) (err error) {
	path := getenv(StepSummary)
	if path == "" {
		return nil
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", StepSummary, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if _, err = file.WriteString(markdown); err != nil {
		return fmt.Errorf("%s: %w", StepSummary, err)
	}
	return nil
}
