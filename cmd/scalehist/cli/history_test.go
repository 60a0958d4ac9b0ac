package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
)

const historyLog = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":5,"targetSize":1,"machineType":"m5.large"}}}
{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}}
{"at":"2026-01-01T00:00:10Z","op":"update","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":5,"targetSize":3,"machineType":"m5.large"}}}
`

// scalehist runs the command line and gives its exit code and what it printed.
func scalehist(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Execute(t.Context(), args, cli.IO{In: strings.NewReader(stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

func TestImportInspectExport(t *testing.T) {
	dir := t.TempDir()
	log, db, copied := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.db"), filepath.Join(dir, "y.db")
	if err := os.WriteFile(log, []byte(historyLog), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := scalehist(t, "", "import", log, "-o", db, "--cluster", "test")
	if code != cli.ExitOK || !strings.Contains(out, "3 lines, 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z: 1 objects added, 1 updates") {
		t.Fatalf("import: %d\n%s%s", code, out, errs)
	}
	if !strings.Contains(errs, "warning: skipped 1 lines of kind example.com/v1/Widget") {
		t.Errorf("import does not warn:\n%s", errs)
	}
	if code, _, errs = scalehist(t, "", "import", log, "-o", db); code != cli.ExitFailed || !strings.Contains(errs, "replace it with --force") {
		t.Errorf("second import: %d\n%s", code, errs)
	}
	code, out, errs = scalehist(t, "", "inspect", db)
	if code != cli.ExitOK {
		t.Fatalf("inspect: %d\n%s", code, errs)
	}
	for _, want := range []string{"(cluster test)", "NodeGroup        1         2", "g     m5.large", "1->3", "warning: node group g has no template"} {
		if !strings.Contains(out, want) {
			t.Errorf("inspect lacks %q:\n%s", want, out)
		}
	}
	var first, second struct {
		SHA256     string           `json:"sha256"`
		NodeGroups []map[string]any `json:"nodeGroups"`
	}
	_, out, _ = scalehist(t, "", "inspect", db, "-o", "json")
	if err := json.Unmarshal([]byte(out), &first); err != nil || len(first.NodeGroups) != 1 || first.NodeGroups[0]["final"] != 3.0 {
		t.Fatalf("inspect -o json: %v\n%s", err, out)
	}
	code, exported, errs := scalehist(t, "", "export", db)
	if code != cli.ExitOK {
		t.Fatalf("export: %d\n%s", code, errs)
	}
	if code, _, errs = scalehist(t, exported, "import", "-", "-o", copied); code != cli.ExitOK {
		t.Fatalf("import of the export: %d\n%s", code, errs)
	}
	_, out, _ = scalehist(t, "", "inspect", copied, "-o", "json")
	if err := json.Unmarshal([]byte(out), &second); err != nil || first.SHA256 != second.SHA256 {
		t.Errorf("the copy differs: %s, want %s (%v)", second.SHA256, first.SHA256, err)
	}
	zipped := filepath.Join(dir, "x.jsonl.gz")
	if code, _, errs = scalehist(t, "", "export", db, "--from", "+5s", "-o", zipped); code != cli.ExitOK {
		t.Fatalf("export of a window: %d\n%s", code, errs)
	}
	if b, err := os.ReadFile(zipped); err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("%s is not compressed (%v)", zipped, err)
	}
	if code, _, errs = scalehist(t, "", "export", db, "--from", "+8s", "--to", "+2s"); code != cli.ExitFailed || !strings.Contains(errs, "is before --from") {
		t.Errorf("export of a reversed window: %d\n%s", code, errs)
	}
}
