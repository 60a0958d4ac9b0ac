package report_test

import (
	"encoding/json"
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

// TestUnknownKeysAreIgnored: keys that a later scalehist adds change nothing of what is read, wherever they are.
func TestUnknownKeysAreIgnored(t *testing.T) {
	const known = "testdata/explain/pending.json"
	b, err := os.ReadFile(known)
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(b, &whole); err != nil {
		t.Fatal(err)
	}
	whole["futureKey"] = map[string]any{"a": 1}
	for _, list := range []string{"decisions", "nodeGroups", "batches"} {
		for _, item := range whole[list].([]any) {
			item.(map[string]any)["futureKey"] = "b"
		}
	}
	if b, err = json.Marshal(whole); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, b, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := report.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := report.Read(known)
	if err != nil {
		t.Fatal(err)
	}
	if report.Text(got) != report.Text(want) {
		t.Error("unknown keys change what is read")
	}
}
