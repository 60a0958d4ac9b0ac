package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

const longLog = `{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"maxSize":5,"targetSize":1}}}
{"at":"2026-01-02T00:00:00Z","op":"update","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"maxSize":5,"targetSize":2}}}
{"at":"2026-01-03T00:00:00Z","op":"update","object":{"apiVersion":"scalehist.io/v1alpha1","kind":"NodeGroup","metadata":{"name":"g"},"spec":{"maxSize":5,"targetSize":3}}}
`

func TestRetainCompactCut(t *testing.T) {
	dir := t.TempDir()
	db, window := filepath.Join(dir, "x.db"), filepath.Join(dir, "y.db")
	if code, _, errs := scalehist(t, longLog, "import", "-", "-o", db); code != console.ExitOK {
		t.Fatal(errs)
	}
	code, out, errs := scalehist(t, "", "cut", db, "--from", "2026-01-01T12:00:00Z", "--to", "+36h", "-f", window, "-o", "json")
	var cut struct{ File, From, To string }
	if err := json.Unmarshal([]byte(out), &cut); code != console.ExitOK || err != nil || cut.File != window || cut.From != "2026-01-01T12:00:00Z" || cut.To != "2026-01-02T12:00:00Z" {
		t.Errorf("cut: %d %v\n%s%s", code, err, out, errs)
	}
	if code, _, errs = scalehist(t, "", "cut", db, "-f", window); code != console.ExitFailed || !strings.Contains(errs, "exists already: remove it, or choose another name") {
		t.Errorf("cut over a file: %d\n%s", code, errs)
	}
	_, out, _ = scalehist(t, "", "export", window)
	if !strings.Contains(out, `"targetSize":1`) || !strings.Contains(out, `"targetSize":2`) || strings.Contains(out, `"targetSize":3`) {
		t.Errorf("the window holds\n%s", out)
	}
	code, out, errs = scalehist(t, "", "retain", db, "--keep", "1d12h", "-o", "json")
	var report struct {
		From          string
		Versions      int
		Before, After int64
	}
	if err := json.Unmarshal([]byte(out), &report); code != console.ExitOK || err != nil || report.From != "2026-01-01T12:00:00Z" || report.Before == 0 || report.After == 0 {
		t.Errorf("retain: %d %v\n%s%s", code, err, out, errs)
	}
	if code, out, errs = scalehist(t, "", "retain", db, "--keep", "1d"); code != console.ExitOK || !strings.Contains(out, "begins at 2026-01-02T00:00:00Z; forgot 1 versions") {
		t.Errorf("retain: %d\n%s%s", code, out, errs)
	}
	if code, out, errs = scalehist(t, "", "compact", db, window); code != console.ExitOK || strings.Count(out, ", was ") != 2 {
		t.Errorf("compact: %d\n%s%s", code, out, errs)
	}
	_, out, _ = scalehist(t, "", "inspect", db)
	if !strings.Contains(out, "2->3") || strings.Contains(out, "1->2") {
		t.Errorf("inspect after all:\n%s", out)
	}
}

func TestRetainErrors(t *testing.T) {
	text := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(text, []byte("hello"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"retain", text}, console.ExitFailed, `"keep" not set`},
		{[]string{"retain", text, "--keep", "soon"}, console.ExitFailed, `"soon" is no length of time such as 30d`},
		{[]string{"retain", text, "--keep", "-1h"}, console.ExitFailed, "not between nothing"},
		{[]string{"retain", text, "--keep", "30d"}, console.ExitFailed, "is not a scalehist history"},
		{[]string{"compact"}, console.ExitFailed, "missing argument FILE.db"},
		{[]string{"compact", text}, console.ExitFailed, "is not a scalehist history"},
		{[]string{"compact", text + "x"}, console.ExitFailed, "does not exist"},
		{[]string{"cut", text, "-f", text + ".out"}, console.ExitFailed, "is not a scalehist history"},
		{[]string{"cut", text}, console.ExitFailed, `"out" not set`},
	} {
		code, _, errs := scalehist(t, "", c.args...)
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, want %d with %q:\n%s", strings.Join(c.args, " "), code, c.code, c.want, errs)
		}
	}
}
