package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedTest is a test as docs/security.md names it: its package's folder, a dot, its function.
var namedTest = regexp.MustCompile("`([a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)`")

// TestThreatsHaveTests: each row of the table of threats names tests, and they exist.
func TestThreatsHaveTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Threats")
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| threat |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		named := namedTest.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(named) == 0 || len(named) != strings.Count(cells[2], "`")/2 {
			t.Errorf("want a threat, what holds, and tests as `folder.TestName`: %s", line)
		}
		for _, m := range named {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("there is no test %s in %s: %s", m[2], m[1], line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("found %d threats: where is the table?", rows)
	}
}

// hasTest says whether a package has a test of this name.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
