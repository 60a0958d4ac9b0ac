package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnracedMarksTests: make test finds what runs without the race detector by a mark and the test on the next line. A mark elsewhere does
// nothing, and a test that is called like a marked one would not run at all.
func TestUnracedMarksTests(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^UNRACED +=(.+)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no UNRACED")
	}
	unraced := regexp.MustCompile(`^(` + strings.TrimSpace(string(list[1])) + `)$`)
	mark := regexp.MustCompile(`(?m)^//scalehist:unraced`)
	test := regexp.MustCompile(`(?m)^(//scalehist:unraced\n)?func (Test\w+)\(t \*testing\.T\)`)
	marked, plain := map[string]bool{}, map[string][]string{}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		marks := len(mark.FindAll(text, -1))
		for _, m := range test.FindAllSubmatch(text, -1) {
			switch name := string(m[2]); {
			case len(m[1]) > 0:
				marks--
				marked[name] = true
			case !unraced.MatchString(filepath.ToSlash(dir)):
				plain[name] = append(plain[name], path)
			}
		}
		if marks != 0 {
			t.Errorf("%s: %d marks are not on the line before a test", path, marks)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(marked) == 0 {
		t.Error("no test is marked")
	}
	for name, files := range plain {
		if marked[name] {
			t.Errorf("%s: %s is called like a test that is marked //scalehist:unraced, so make test does not run it: mark it too, or rename it", strings.Join(files, ", "), name)
		}
	}
}
