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
	rowsHaveTests(t, filepath.Join("docs", "security.md"), "\n## Threats", "| threat |")
}

// TestRegressionsHaveTests: the table of scenarios/README.md names tests that are there.
func TestRegressionsHaveTests(t *testing.T) {
	rowsHaveTests(t, filepath.Join("scenarios", "README.md"), "\n## Regressions", "| what went wrong |")
}

// rowsHaveTests holds a table of three columns, of which the last names tests.
func rowsHaveTests(t *testing.T, file, heading, header string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), heading)
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, header) {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		named := namedTest.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(cells) != 3 || len(named) == 0 || len(named) != strings.Count(cells[2], "`")/2 {
			t.Errorf("%s: want three cells, the last with tests as `folder.TestName`: %s", file, line)
		}
		for _, m := range named {
			if !hasTest(t, m[1], m[2]) {
				t.Errorf("%s: there is no test %s in %s: %s", file, m[2], m[1], line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("%s: found %d rows: where is the table?", file, rows)
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
