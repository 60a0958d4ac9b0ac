package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

const historyLog = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":5,"targetSize":1,"machineType":"m5.large"}}}
{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}}
{"at":"2026-01-01T00:00:10Z","op":"update","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"minSize":1,"maxSize":5,"targetSize":3,"machineType":"m5.large"}}}
`

// scalehist runs the command line and gives its exit code and what it printed.
func scalehist(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = cli.Execute(t.Context(), args, console.IO{In: strings.NewReader(stdin), Out: &out, Err: &errs, Getenv: func(string) string { return "" }})
	return code, out.String(), errs.String()
}

func TestImportInspectExport(t *testing.T) {
	dir := t.TempDir()
	log, db, copied := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.db"), filepath.Join(dir, "y.db")
	if err := os.WriteFile(log, []byte(historyLog), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, errs := scalehist(t, "", "import", log, "-o", db, "--cluster", "test")
	if code != console.ExitOK || !strings.Contains(out, "3 lines, 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z: 1 object added, 1 update") {
		t.Fatalf("import: %d\n%s%s", code, out, errs)
	}
	if !strings.Contains(errs, "warning: skipped 1 line of kind example.com/v1/Widget") {
		t.Errorf("import does not warn:\n%s", errs)
	}
	if code, _, errs = scalehist(t, "", "import", log, "-o", db); code != console.ExitFailed || !strings.Contains(errs, "replace it with --overwrite") {
		t.Errorf("second import: %d\n%s", code, errs)
	}
	code, out, errs = scalehist(t, "", "inspect", db)
	if code != console.ExitOK {
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
	if code != console.ExitOK {
		t.Fatalf("export: %d\n%s", code, errs)
	}
	if code, _, errs = scalehist(t, exported, "import", "-", "-o", copied); code != console.ExitOK {
		t.Fatalf("import of the export: %d\n%s", code, errs)
	}
	_, out, _ = scalehist(t, "", "inspect", copied, "-o", "json")
	if err := json.Unmarshal([]byte(out), &second); err != nil || first.SHA256 != second.SHA256 {
		t.Errorf("the copy differs: %s, want %s (%v)", second.SHA256, first.SHA256, err)
	}
	zipped := filepath.Join(dir, "x.jsonl.gz")
	if code, _, errs = scalehist(t, "", "export", db, "--from", "+5s", "-o", zipped); code != console.ExitOK {
		t.Fatalf("export of a window: %d\n%s", code, errs)
	}
	if b, err := os.ReadFile(zipped); err != nil || !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		t.Errorf("%s is not compressed (%v)", zipped, err)
	}
	if code, _, errs = scalehist(t, "", "export", db, "--from", "+8s", "--to", "+2s"); code != console.ExitFailed || !strings.Contains(errs, "is before --from") {
		t.Errorf("export of a reversed window: %d\n%s", code, errs)
	}
}

// TestErrorsNameWhatWasAsked: an output that cannot be written is named as it was given, not as a temporary file.
func TestErrorsNameWhatWasAsked(t *testing.T) {
	dir := t.TempDir()
	log, db, folder := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.db"), filepath.Join(dir, "folder")
	if err := os.WriteFile(log, []byte(historyLog), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := scalehist(t, "", "import", log, "-o", db); code != console.ExitOK || strings.Contains(errs, "importing") {
		t.Fatalf("import: %d\n%s", code, errs)
	}
	if code, _, errs := scalehist(t, "", "export", db, "-o", filepath.Join(dir, "y.jsonl")); code != console.ExitOK || errs != "" {
		t.Errorf("export: %d, printed %q", code, errs)
	}
	missing := filepath.Join(dir, "nope", "x")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export", db, "-o", folder}, "write " + folder + ": it is a directory"},
		{[]string{"export", db, "-o", missing}, "write " + missing + ": folder " + filepath.Dir(missing) + ": no such file or directory"},
		{[]string{"import", log, "-o", ""}, "import: no file to make: give -o FILE.db"},
		{[]string{"import", log, "-o", folder}, "write " + folder + ": it is a directory"},
		{[]string{"import", log, "-o", folder, "--overwrite"}, "write " + folder + ": it is a directory"},
		{[]string{"import", log, "-o", missing}, "write " + missing + ": folder " + filepath.Dir(missing) + ": no such file or directory"},
	} {
		code, _, errs := scalehist(t, "", c.args...)
		if code != console.ExitFailed || !strings.Contains(errs, c.want) || strings.Contains(errs, "/.") {
			t.Errorf("%v: exit %d, %q; want %q", c.args, code, errs, c.want)
		}
	}
}

// TestImportRefusesSlips: what would silently make another history than was meant.
func TestImportRefusesSlips(t *testing.T) {
	group := func(spec string) string {
		return `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{` + spec + `}}}`
	}
	for _, c := range []struct{ log, want string }{
		{group(`"minSzie":1,"maxSize":3`), `standard input:1: object (NodeGroup g): key "spec.minSzie" is not known`},
		{group(`"minSize":5,"maxSize":3`), `standard input:1: object (NodeGroup g): key "spec.minSize": 5 is more than maxSize 3`},
		{`{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}}`, "standard input has no objects that a history is made of"},
		{`{"at":"2026-01-01T00:00:00Z","op":"delete","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}}`, "standard input has no objects that a history is made of"},
	} {
		db := filepath.Join(t.TempDir(), "x.db")
		code, _, errs := scalehist(t, c.log, "import", "-", "-o", db)
		if code != console.ExitFailed || !strings.Contains(errs, c.want) {
			t.Errorf("exit %d, %q; want %q", code, errs, c.want)
		}
		if _, err := os.Stat(db); err == nil {
			t.Errorf("%s: a history was made", c.want)
		}
	}
}

// TestInspectSizesFromEvents: without target sizes the groups are as the scale-ups below them say.
func TestInspectSizesFromEvents(t *testing.T) {
	const log = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"p3"},"spec":{"maxSize":5,"targetSize":1}}}
{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"still"},"spec":{"maxSize":5,"targetSize":2}}}
{"at":"2026-01-01T00:00:10Z","op":"add","object":{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default","uid":"u1"},"involvedObject":{"kind":"Pod","namespace":"default","name":"web"},"reason":"TriggeredScaleUp","message":"pod triggered scale-up: [{p3 1->3 (max: 5)}]","firstTimestamp":"2026-01-01T00:00:10Z","count":1}}
`
	db := filepath.Join(t.TempDir(), "x.db")
	if code, _, errs := scalehist(t, log, "import", "-", "-o", db); code != console.ExitOK {
		t.Fatalf("import: %d\n%s", code, errs)
	}
	var got struct {
		NodeGroups []struct {
			Name                 string
			Initial, Peak, Final int
		} `json:"nodeGroups"`
	}
	_, out, _ := scalehist(t, "", "inspect", db, "-o", "json")
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		Name                 string
		Initial, Peak, Final int
	}{{"p3", 1, 3, 3}, {"still", 2, 2, 2}}
	if diff := cmp.Diff(want, got.NodeGroups); diff != "" {
		t.Errorf("node groups (-want +got):\n%s", diff)
	}
}
