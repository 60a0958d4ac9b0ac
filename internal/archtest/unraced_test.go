package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestUnracedIsThere: every test that the Makefile names to run without the race detector exists, so that the list does not outlive them.
func TestUnracedIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^UNRACED_TESTS = (.+)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no UNRACED_TESTS")
	}
	missing := map[string]bool{}
	for name := range strings.SplitSeq(string(list[1]), "|") {
		missing[name] = true
	}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for name := range missing {
			if bytes.Contains(text, []byte("\nfunc "+name+"(")) {
				delete(missing, name)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range missing {
		t.Errorf("UNRACED_TESTS in the Makefile has %s, which no test is called", name)
	}
}
