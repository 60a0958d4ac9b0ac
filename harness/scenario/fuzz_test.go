package scenario

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: no text makes the parser panic, what is wrong has a place in the file, and what is right can be judged.
func FuzzParse(f *testing.F) {
	f.Add(everything)
	for _, text := range []string{
		"history: a\nexpect: {scaledUp: {}}\n", "- &a [*a]\n", "a: &a {<<: *a}\n", "expect: &e {unschedulable: 3}\n---\nexpect: {cost: <= 3}\n", "- - -\n", "history: \"", "? {}\n: expect\n",
		"expect: {decisions: [{at: +1s..+2s}], metrics: {cost: <= 3 or >= 4}}\nfaults: [{kind: slow, delay: 1s}]\n",
	} {
		f.Add(text)
	}
	examples, err := filepath.Glob(filepath.Join("..", "..", "examples", "scenarios", "*.yaml"))
	if err != nil || len(examples) == 0 {
		f.Fatal("no examples: ", err)
	}
	for _, path := range examples {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := Parse([]byte(text), "x.yaml", someEngines{})
		var wrong *FileError
		switch {
		case errors.As(err, &wrong):
			if len(wrong.Problems) == 0 {
				t.Error("an error without a problem")
			}
			for _, p := range wrong.Problems {
				if p.File != "x.yaml" || p.Message == "" || p.Line < 0 || p.Column < 0 {
					t.Errorf("%+v", p)
				}
			}
		case err != nil:
			if !errors.Is(err, ErrNoScenario) {
				t.Error(err)
			}
		default:
			for _, s := range all {
				if len(s.expectations(Judging{})) == 0 || s.Name == "" || s.Slug() == "" {
					t.Errorf("%+v", s)
				}
			}
		}
	})
}
