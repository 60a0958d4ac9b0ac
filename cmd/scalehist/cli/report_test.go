package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

func TestReportPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "two")
	if code, _, errs := run(t, t.Context(), "replay", fixture("two-machine-sizes"), "--control-plane", "memory", "--report-dir", dir); code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, errs)
	}
	saved, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatalf("replay --report-dir writes the page too: %v", err)
	}

	out := filepath.Join(t.TempDir(), "x.html")
	code, stdout, errs := run(t, t.Context(), "report", dir, filepath.Join(dir, "report.json"), "--label", "one,two", "-o", out)
	page, err := os.ReadFile(out)
	if code != console.ExitOK || err != nil || !strings.Contains(stdout, out) || !strings.Contains(stdout, "open it in a browser") {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, errs)
	}
	if !strings.Contains(string(page), `"label":"two"`) || !strings.Contains(string(page), `"pairs":[{"run":1}]`) {
		t.Error("the page does not hold the second report against the first")
	}
	if code, stdout, errs = run(t, t.Context(), "report", dir, "--label", "virtualca", "-o", "-"); code != console.ExitOK || stdout != string(saved) {
		t.Errorf("exit %d, %d bytes on standard output, %d of replay's: %s", code, len(stdout), len(saved), errs)
	}
	if err := os.Remove(filepath.Join(dir, "report.html")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "report.json")} {
		if code, _, errs := run(t, t.Context(), "report", path); code != console.ExitOK {
			t.Errorf("exit %d: %s", code, errs)
		}
		if err := os.Remove(filepath.Join(dir, "report.html")); err != nil {
			t.Errorf("without -o the page lies beside the report: %v", err)
		}
	}

	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "give a report"},
		{"no report", []string{"no/report"}, "report no/report does not exist: keep one with 'scalehist replay FILE.db --report-dir DIR'"},
		{"no JSON", []string{written(t, "r.json", []byte("x"))}, "r.json is not a replay report"},
		{"labels", []string{dir, "--label", "a,b"}, "--label: 2 labels for 1 report"},
		{"one label twice", []string{dir, dir, "--label", "a,a", "-o", out}, `two reports are called "a"`},
		{"no folder", []string{dir, "-o", filepath.Join(t.TempDir(), "no", "x.html")}, "no such file or directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, errs := run(t, t.Context(), append([]string{"report"}, tt.args...)...)
			if code != console.ExitFailed || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d, want %q in %s", code, tt.want, errs)
			}
		})
	}
	if _, stdout, _ := run(t, t.Context(), "__complete", "report", dir, "-o", ""); !strings.Contains(stdout, "html") {
		t.Errorf("completion of -o: %q", stdout)
	}
}
