package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// imported makes a history of an object log.
func imported(t *testing.T, log string) string {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.db")
	if err := os.WriteFile(from, []byte(log), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := scalehist(t, "", "import", from, "-o", to); code != console.ExitOK {
		t.Fatal(errs)
	}
	return to
}

func TestDoctor(t *testing.T) {
	db := imported(t, historyLog) // a group without template, no pods, no nodes
	code, out, errs := scalehist(t, "", "doctor", db)
	for _, want := range []string{"x.db: 2026-01-01T00:00:00Z to 2026-01-01T00:00:10Z (10s): 3 warnings, 1 remark", "\nwarning SH106: no pods\n  +0s  no pod", "\n  -> check that"} {
		if code != console.ExitDiffered || errs != "" || !strings.Contains(out, want) {
			t.Errorf("doctor: exit %d, want 1 and %q:\n%s%s", code, want, out, errs)
		}
	}
	code, out, _ = scalehist(t, "", "doctor", db, "-o", "json", "--min-severity", "warning")
	var reports []struct {
		File     string
		Warnings int
		Infos    int
		Findings []struct{ Code, Severity, Object, Advice string }
	}
	if err := json.Unmarshal([]byte(out), &reports); err != nil || code != console.ExitDiffered || len(reports) != 1 || reports[0].File != db || reports[0].Warnings != 3 || len(reports[0].Findings) != 3 {
		t.Errorf("doctor -o json: exit %d, %v\n%s", code, err, out)
	}
	code, out, _ = scalehist(t, "", "doctor", db, "-o", "github", "--disable", "SH106,SH107")
	if code != console.ExitDiffered || !strings.HasPrefix(out, "::warning file="+db+",title=SH302 ") {
		t.Errorf("doctor -o github: exit %d\n%s", code, out)
	}
	code, out, _ = scalehist(t, "", "doctor", db, "--min-severity=error")
	if code != console.ExitOK || !strings.Contains(out, "nothing found") {
		t.Errorf("doctor --min-severity=error: exit %d\n%s", code, out)
	}
	broken := filepath.Join(t.TempDir(), "broken.db")
	if err := os.WriteFile(broken, []byte("no history"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, _ = scalehist(t, "", "doctor", db, broken)
	if code != console.ExitFailed || !strings.Contains(out, "\n\n"+broken+": 1 error\n\nerror SH002: file is no history") {
		t.Errorf("doctor of two files: exit %d\n%s", code, out)
	}
	code, out, _ = scalehist(t, "", "doctor", "--explain", "sh106")
	if code != console.ExitOK || !strings.HasPrefix(out, "SH106: no pods (warning)\n\nThere is no pod") {
		t.Errorf("doctor --explain: exit %d\n%s", code, out)
	}
}

func TestDoctorErrors(t *testing.T) {
	db := imported(t, historyLog)
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"missing argument FILE.db: see 'scalehist doctor --help'", nil},
		{"does not exist", []string{"no/such.db"}},
		{`--output "xml": must be text, json or github`, []string{db, "-o", "xml"}},
		{`--min-severity "bad": must be error, warning or info`, []string{db, "--min-severity", "bad"}},
		{`--disable: there is no rule "SH999"`, []string{db, "--disable", "SH999"}},
		{`--explain: there is no rule "x"`, []string{"--explain", "x"}},
		{"it takes no file", []string{db, "--explain", "SH101"}},
		{"--from: time +1h", []string{db, "--from", "+1h"}},
		{"it ends before it begins", []string{db, "--from", "+5s", "--to", "+2s"}},
	} {
		code, out, errs := scalehist(t, "", append([]string{"doctor"}, tt.args...)...)
		if code != console.ExitFailed || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("doctor %v: exit %d, %q, error %q; want 2 and %q", tt.args, code, out, errs, tt.want)
		}
	}
}
