package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/report"
)

// TestReadRefusesLists of nothing, which take a hundred times their size in memory; null elsewhere, and in texts, is read.
func TestReadRefusesLists(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		refused    bool
	}{
		{"a null", `{"version": "v1", "decisions": [null]}`, true},
		{"nulls behind one that is not", `{"version": "v1", "decisions": [{"loop": 1} , null]}`, true},
		{"no list", `{"version": "v1", "decisions": null}`, false},
		{"a text", `{"version": "v1", "scenario": "a \", [null, null]"}`, false},
		{"a text that ends in a backslash", `{"version": "v1", "scenario": "\\", "decisions": [null]}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := report.Read(path)
			if refused := err != nil && strings.Contains(err.Error(), "element null"); refused != tt.refused {
				t.Errorf("error %v, want one about null: %t", err, tt.refused)
			}
		})
	}
}
