package main

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	conform "github.com/scalehist/scalehist/virtualca/conformance"
)

var root = filepath.Join("..", "..", "..")

func loaded(t *testing.T) []mutation {
	t.Helper()
	all, err := load(list)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestListIsUpToDate: every old text occurs once, what becomes of it is Go, and the table in the tree knows it. Whether
// the cases notice is for `make mutation`.
func TestListIsUpToDate(t *testing.T) {
	all := loaded(t)
	if len(all) < 12 {
		t.Errorf("%d mutations are too few to say anything", len(all))
	}
	table, err := os.ReadFile(filepath.Join(root, pageFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		text, err := m.apply(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.File, text, parser.SkipObjectResolution); err != nil {
			t.Errorf("mutation %s: %v", m.Name, err)
		}
		if row := "| " + m.Name + " | " + m.Rule + " | " + m.File + " |"; !strings.Contains(string(table), row) {
			t.Errorf("%s has no row %q: run make mutation", pageFile, row)
		}
	}
	if n := strings.Count(string(table), "\n| ") - 1; n != len(all) {
		t.Errorf("%s has %d rows for %d mutations: run make mutation", pageFile, n, len(all))
	}
	if strings.Contains(string(table), "**nothing**") {
		t.Errorf("%s shows a survivor", pageFile)
	}
}

func TestApplyRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a // twice twice\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for old, want := range map[string]string{
		"twice": "mutation x: its old text occurs 2 times in a.go, not once: bring mutations.yaml up to date",
		"gone":  "mutation x: its old text occurs 0 times in a.go, not once: bring mutations.yaml up to date",
	} {
		if _, err := (mutation{Name: "x", File: "a.go", Old: old, New: "n"}).apply(dir); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", old, err, want)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"- {name: a, rule: r, file: f, old: o, new: n}\n- {name: a, rule: r, file: f, old: o, new: n}": "name a is there twice",
		"- {name: a, rule: r, file: f, old: o}":                                                        `entry 1 ("a"): name, rule, file, old and new must be set`,
		"- {name: a, rule: r, file: f, old: o, new: o}":                                                "a changes nothing",
		"- {name: a, rules: r, file: f, old: o, new: nn}":                                              `unknown field "rules"`,
	} {
		if _, err := load([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nconst x = 1 < 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	file, err := (mutation{Name: "x", File: "a.go", Old: "<", New: ">"}).overlay(dir, out)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Replace map[string]string }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(got.Replace[filepath.Join(dir, "a.go")])
	if err != nil || string(text) != "package a\n\nconst x = 1 > 2\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestPage(t *testing.T) {
	m := mutation{Name: "m", Rule: "r", File: "f.go"}
	got := page([]verdict{
		{mutation: m, cases: []conform.Disagreement{{Name: "a-1", Category: "a"}, {Name: "b-1", Category: "b"}, {Name: "b-2", Category: "b"}, {Name: "c-1", Category: "c"}}},
		{mutation: m, tests: []string{"TestX"}}, {mutation: m, crashed: true}, {mutation: m},
	}, 9)
	for _, want := range []string{
		"4 mutations, 9 cases: 2 are caught by cases, 1 by unit tests alone, 1 survive.",
		"| m | r | f.go | 4 | b 2, a 1, c 1 | a-1, b-1, b-2, ... |\n",
		"| m | r | f.go | 0 |  | unit tests only: TestX |\n",
		"| m | r | f.go | 0 |  | the run of the cases does not end well |\n",
		"| m | r | f.go | 0 |  | **nothing** |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
