package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wallClock lists who may read or wait on the wall clock, and why: packages, or single files.
var wallClock = map[string]string{
	"cmd/...":                     "a command line talks to a person",
	"harness/runinfo":             "the run section of a report is not compared",
	"harness/kvcl":                "it starts real processes",
	"harness/kvcl/internal/plane": "it measures what it costs",
	"harness/kvcl/assets":         "it runs builds",
	"fixtures/workload/record":    "it is a program that drives a real cluster",
	"internal/leaktest":           "it waits for goroutines to end",
	"engines/realca":              "it runs the real autoscaler in real time",
	"load/emulate/worker.go":      "it burns the time of real processors",
}

// banned are the functions of package time that read or wait on the wall clock.
var banned = []string{"Now", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Since", "Until"}

// TestNoWallClock: time is a dependency. Everything but the packages above takes a clock.
func TestNoWallClock(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "tools" || name == "gen" || name == "bin" || strings.HasPrefix(name, ".") && name != "." && name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		pkg := strings.TrimSuffix(file, "/"+name)
		for allowed := range wallClock {
			if matches(allowed, pkg) || allowed == file {
				return nil
			}
		}
		return checkFile(t, path, file)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkFile(t *testing.T, path, name string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	local := ""
	for _, spec := range file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil && p == "time" {
			local = "time"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && slices.Contains(banned, sel.Sel.Name) {
			t.Errorf("%s:%d: time.%s: time is a dependency; take a clock from k8s.io/utils/clock or wait on state",
				name, fset.Position(sel.Pos()).Line, sel.Sel.Name)
		}
		return true
	})
	return nil
}
