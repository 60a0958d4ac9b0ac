package ci

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/internal/plaintext"
)

var update = flag.Bool("update", false, "rewrite the golden files; please read the diff before committing it")

// nasty has what the formats escape: percent signs, colons, commas, line ends, tags, pipes, fences, commands and bytes that are no text.
func nasty() Run {
	return Run{Title: "a <title>", Outcomes: []Outcome{
		{Name: "fine", Status: Passed, File: "s/a.yaml", Line: 3, Seconds: 1.25, Summary: "batch 0->3", Artifacts: "gen/fine", Rerun: "scalehist test s/a.yaml --run '^fine$'"},
		{Name: "100%: a, b|c `d` <e>", Status: Failed, File: "s/a.yaml", Line: 9, Seconds: 0.5, Artifacts: "gen/x", Problems: []Problem{
			{Title: "scaledUp", File: "s/a.yaml", Line: 11, Column: 5, Message: "first line, 50%\n  second: ```\n::error::no\r\n\x00\xff"},
			{Title: "cost", File: "s/a.yaml", Line: 12, Message: "too dear"},
		}},
		{Name: "broken", Status: Broken, File: "s/b.yaml", Line: 1, Problems: []Problem{{File: "s/b.yaml", Line: 2, Column: 1, Message: "no such history"}}},
		{Name: "later", Status: NotRun, File: "s/b.yaml", Line: 20},
	}}
}

// TestGolden: the formats as files of testdata.
func TestGolden(t *testing.T) {
	junit, err := nasty().JUnit()
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		"run.github": nasty().GitHub(func(string) string { return "" }), "run.md": nasty().Markdown(), "run.junit.xml": string(junit),
		"group.github": Group("50%\nof it", "  ::error::no\nfine ##[error]no\n::stop-commands::x\n"),
	} {
		goldentest.Text(t, filepath.Join("testdata", name), got, *update)
	}
	if got, want := nasty().Headline(), "4 scenarios: 1 passed, 1 failed, 1 could not be judged, 1 not run"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !strings.HasPrefix((Run{Title: "x", Outcomes: []Outcome{{Name: "a", Status: Passed}}}).Markdown(), "## ✅ x\n\n1 scenario: 1 passed.") {
		t.Error("a run that passed")
	}
}

// TestAnyTextIsOneCommand: whatever is in it, an annotation is one line, whose properties are ours; what it says can be had back.
func TestAnyTextIsOneCommand(t *testing.T) {
	back := strings.NewReplacer("%0A", "\n", "%0D", "\r", "%3A", ":", "%2C", ",", "%25", "%")
	rapid.Check(t, func(rt *rapid.T) {
		a := Annotation{Error, rapid.String().Draw(rt, "file"), 3, 4, rapid.String().Draw(rt, "title"), rapid.String().Draw(rt, "message")}
		got := a.String()
		if strings.ContainsAny(got, "\r\n") {
			rt.Fatalf("%q", got)
		}
		head, message, _ := strings.Cut(strings.TrimPrefix(got, "::"), "::")
		if back.Replace(message) != plaintext.Lines(a.Message) {
			rt.Errorf("message %q of %q", message, got)
		}
		want := 4
		if a.File == "" {
			want = 1
		}
		if n := len(strings.Split(head, ",")); n != want {
			rt.Errorf("%d properties in %q", n, got)
		}
		if !strings.HasSuffix(head, "title="+property.Replace(plaintext.Lines(a.Title))) {
			rt.Errorf("title of %q", got)
		}
	})
}

// TestNothingIsACommand: no line of an inert text begins a command.
func TestNothingIsACommand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"::", "error", " ", "\t", "##[", "\n", "x", "group::", "#"})).Draw(rt, "parts")
		for line := range strings.SplitSeq(Inert(strings.Join(parts, "")), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") {
				rt.Errorf("%q", line)
			}
		}
	})
}

// TestAnyTextIsXML: JUnit of any text can be read.
func TestAnyTextIsXML(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "text"))
		b, err := Run{Title: text, Outcomes: []Outcome{{Name: text, Status: Failed, File: text, Rerun: text, Problems: []Problem{{Title: text, File: text, Message: text}}}}}.JUnit()
		if err != nil {
			rt.Fatal(err)
		}
		if err := xml.Unmarshal(b, new(struct{})); err != nil {
			rt.Errorf("%v\n%s", err, b)
		}
	})
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä line of text\n", 10_000)
	if got := shorten(long, longestMessage); len(got) > longestMessage+100 || !utf8.ValidString(got) || !strings.HasSuffix(got, "(the rest is in the artifacts)") {
		t.Errorf("%d bytes, ends in %q", len(got), got[len(got)-60:])
	}
	run := Run{Title: "x"}
	for range 20 {
		run.Outcomes = append(run.Outcomes, Outcome{Name: "a", Status: Failed, Problems: []Problem{{Message: long}}})
	}
	if got := run.Markdown(); len(got) > 1<<20 || !strings.Contains(got, "More is in the artifacts") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestWorkspace(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	in := func(root string) func(string) string {
		return func(k string) string { return map[string]string{Workspace: root}[k] }
	}
	for _, tt := range []struct{ root, path, want string }{
		{"", "a.yaml", "a.yaml"},
		{filepath.Dir(here), "a.yaml", "ci/a.yaml"},
		{filepath.Dir(here), filepath.Join(here, "a.yaml"), "ci/a.yaml"},
		{filepath.Join(here, "below"), "a.yaml", "a.yaml"},
	} {
		if got := FromWorkspace(in(tt.root), tt.path); got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.path, tt.root, got, tt.want)
		}
	}
	if err := Summarize(func(k string) string { return filepath.Join(t.TempDir(), "no", "such") }, "x"); err == nil || !strings.Contains(err.Error(), StepSummary) {
		t.Error(err)
	}
}
