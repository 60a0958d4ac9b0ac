package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostLines is how many lines a package may have outside of its tests: what one person reads in a day or two.
const mostLines = 4000

// generated marks a file that a program wrote (https://go.dev/s/generatedcode).
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// TestPackagesAreSmall: no package has more than mostLines lines outside of its tests; generated files do not count.
func TestPackagesAreSmall(t *testing.T) {
	for _, p := range listPackages(t) {
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		lines := 0
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !generated.Match(text) {
				lines += bytes.Count(text, []byte("\n"))
			}
		}
		if lines > mostLines {
			t.Errorf("%s has %d lines outside of its tests, at most %d are allowed: move what is a matter of its own to another package", p.ImportPath, lines, mostLines)
		}
	}
}
