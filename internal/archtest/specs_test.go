package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
)

// specLines is how long the body of a spec may be: a reader sees what is given, what runs and what is wanted at once.
const specLines = 15

// specNodes are the functions of Ginkgo whose bodies are specs, or run around them.
var specNodes = []string{
	"It", "Specify", "DescribeTable", "Entry", "BeforeEach", "JustBeforeEach", "AfterEach", "JustAfterEach", "BeforeAll", "AfterAll",
}

// TestSpecsAreShort: the bodies of specs under scenarios have at most specLines lines. What they share, and what takes long to say, is a function with a name.
func TestSpecsAreShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "scenarios", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	specs := 0
	for _, path := range files {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			for _, body := range specBodies(n) {
				specs++
				begin, end := fset.Position(body.Lbrace), fset.Position(body.Rbrace)
				if lines := end.Line - begin.Line - 1; lines > specLines {
					t.Errorf("scenarios/%s:%d: the body of this spec has %d lines, want at most %d: move set-up to a named function, and assertions to a matcher",
						filepath.Base(path), begin.Line, lines, specLines)
				}
			}
			return true
		})
	}
	if specs == 0 {
		t.Error("there are no specs under scenarios: this test looks in the wrong place")
	}
}

// specBodies are the bodies of the function literals that a node gives to Ginkgo to run.
func specBodies(n ast.Node) []*ast.BlockStmt {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	name, ok := call.Fun.(*ast.Ident)
	if !ok || !slices.Contains(specNodes, name.Name) {
		return nil
	}
	var bodies []*ast.BlockStmt
	for _, a := range call.Args {
		if f, ok := a.(*ast.FuncLit); ok {
			bodies = append(bodies, f.Body)
		}
	}
	return bodies
}
