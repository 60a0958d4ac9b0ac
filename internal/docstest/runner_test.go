package docstest

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBlocks(t *testing.T) {
	const page = "# A\n\n<!-- a remark -->\ntext\n<!-- setup\ncp a b\n-->\n<!-- exit: 0 1 -->\n```console\n$ one\nout\n$ two \\\n  more\n```\n" +
		"- item\n\n  <!-- not run: needs a cluster -->\n  ```sh\n  three # it's\n  four 'a\n  b'\n  ```\n\n```sql\nSELECT 1;\n```\n\n```text\n1\n```\n"
	all, err := blocks(page)
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Lang, NotRun string
		Exits        []int
		Line         int
		TextNext     bool
		Commands     []string
	}
	var got []seen
	for _, b := range all {
		s := seen{Lang: b.lang, NotRun: b.notRun, Exits: b.exits, Line: b.line, TextNext: b.textNext}
		if b.lang == "console" || b.lang == "sh" {
			for _, c := range b.commands() {
				s.Commands = append(s.Commands, c.text+"|"+strings.Join(c.shown, "|"))
			}
		}
		got = append(got, s)
	}
	want := []seen{
		{Lang: "setup", Line: 5},
		{Lang: "console", Line: 10, Exits: []int{0, 1}, Commands: []string{"one|out", "two \\\n  more|"}},
		{Lang: "sh", Line: 19, NotRun: "needs a cluster", Commands: []string{"three # it's|", "four 'a\nb'|"}},
		{Lang: "sql", Line: 25, TextNext: true},
		{Lang: "text", Line: 29},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}

// TestBlocksRefused: a block of which nobody knows whether it is run is an error with its line.
func TestBlocksRefused(t *testing.T) {
	for text, want := range map[string]string{
		"```\nmake\n```":                                   "line 1: the block has no language",
		"```text\n$ make\n```":                             "make it console",
		"```console\nmake\n```":                            "begins with a command",
		"```perl\nprint\n```":                              `language "perl"`,
		"<!-- not run: -->\n```sh\na\n```":                 "say what",
		"<!-- exit: one -->\n```sh\na\n```":                "line 1: exit",
		"<!-- not run: needs Docker -->\n\nA paragraph.\n": "this is none",
	} {
		if _, err := blocks(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("blocks(%q) = %v, want %q", text, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	for text, want := range map[string]bool{
		"a":                            false,
		`a \`:                          true,
		"a 'b":                         true,
		"a # it's":                     false,
		"a#'b'":                        false,
		"cat <<'X'\na":                 true,
		"cat <<'X'\na\nX":              false,
		"for f in a; do\n  echo":       true,
		"for f in a; do\n  echo\ndone": false,
		`a "it's"`:                     false,
	} {
		if got := open(text); got != want {
			t.Errorf("open(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestShowsAndUpdated(t *testing.T) {
	printed := []string{"head 1  ", "a 1", "b 2", "run: memory, boot 0.03s, total 0.09s", "tail 3"}
	for _, c := range []struct {
		name  string
		shown []string
		ok    bool
		fresh []string // what -update makes of it, if it is not ok
	}{
		{"all of it", []string{"head 1", "a 1", "b 2", "run: envtest, boot 1.20s, total 2s", "tail 3", ""}, true, nil},
		{"elided between", []string{"head 1", "...", "tail 3"}, true, nil},
		{"elided at both ends", []string{"...", "b 2", "..."}, true, nil},
		{"a line missing at the end", []string{"head 1", "a 1", "b 2", "run: memory, boot 0s"}, false,
			[]string{"head 1", "a 1", "b 2", "run: memory, boot 0.03s, total 0.09s", "tail 3"}},
		{"another number", []string{"head 1", "...", "b 5", "..."}, false, []string{"head 1", "...", "b 2", "..."}},
		{"a line that is gone", []string{"head 1", "...", "c 5", "..."}, false, nil},
		{"nothing shown", nil, false, []string{"head 1", "a 1", "b 2", "run: memory, boot 0.03s, total 0.09s", "tail 3"}},
		{"more shown", append(slices.Clone(printed), "more"), false, []string{"head 1", "a 1", "b 2", "run: memory, boot 0.03s, total 0.09s", "tail 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := shows(c.shown, printed); (err == nil) != c.ok {
				t.Errorf("shows = %v, want ok %v", err, c.ok)
			}
			if c.ok {
				return
			}
			fresh, ok := updated(c.shown, printed)
			if ok != (c.fresh != nil) {
				t.Fatalf("updated = %q, %v", fresh, ok)
			}
			if diff := cmp.Diff(c.fresh, fresh); diff != "" {
				t.Errorf("updated (-want +got):\n%s", diff)
			}
		})
	}
}

func TestColumns(t *testing.T) {
	var b bytes.Buffer
	if err := columns(&b, [][]string{{"name", "n"}, {"é", "10"}, {"std-0", cell(2.0)}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("name   n\n-----  ---\né      10\nstd-0  2.0\n", b.String()); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
}
