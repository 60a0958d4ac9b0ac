package cli

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// TestScenario: sweep and compare take a scenario by its name, from where a checkout has them or from a directory.
func TestScenario(t *testing.T) {
	dir := t.TempDir()
	history, err := os.ReadFile(fixture("two-machine-sizes"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"burst.db", filepath.Join("calm", "recording.db"), filepath.Join("empty", "README.md")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), history, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const set = "expander=least-waste,most-pods"
	for _, where := range [][]string{{"--scenario", "two-machine-sizes"}, {"--scenario", "burst", "--fixtures", dir}, {"--scenario", "calm", "--fixtures", dir}} {
		for _, command := range []string{"sweep", "compare"} {
			code, stdout, stderr := run(t, t.Context(), append([]string{command, "--control-plane", "memory", "--set", set}, where...)...)
			if code != console.ExitOK || !strings.Contains(stdout, "most-pods") {
				t.Errorf("%s %v: exit %d, %s\n%s", command, where, code, stderr, stdout)
			}
		}
	}
	code, stdout, stderr := run(t, t.Context(), "sweep", "--scenario", "burst", "--fixtures", dir, "--control-plane", "memory", "--set", set, "-o", "csv")
	rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	if code != console.ExitOK || err != nil || len(rows) != 3 || rows[0][4] != "expander" || rows[2][4] != "most-pods" {
		t.Errorf("CSV: exit %d, %s, %v\n%s", code, stderr, err, stdout)
	}
	for want, args := range map[string][]string{
		`no such scenario; did you mean "two-machine-sizes"?`:                {"sweep", "--scenario", "two-machin-sizes"},
		"has no such scenario: want one of burst, calm":                      {"compare", "--scenario", "zzz", "--fixtures", dir, "--set", set},
		"--fixtures goes with --scenario":                                    {"sweep", "a.db", "--fixtures", dir},
		"give one history, by its file or by its scenario":                   {"sweep", "a.db", "--scenario", "burst"},
		"--fixtures: no/where does not exist":                                {"sweep", "--scenario", "burst", "--fixtures", "no/where"},
		"has no scenarios: want NAME/recording.db or NAME.db in it":          {"sweep", "--scenario", "burst", "--fixtures", filepath.Join(dir, "empty")},
		"says how to replay, and there is nothing to replay: give a history": {"compare", "a/report.json", "b/report.json", "--fixtures", dir},
	} {
		if code, stdout, stderr := run(t, t.Context(), args...); code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d, error %q, want %q", args, code, stderr, want)
		}
	}
	if _, stdout, _ := run(t, t.Context(), "__complete", "sweep", "--fixtures", dir, "--scenario", ""); !strings.HasPrefix(stdout, "burst\ncalm\n:") {
		t.Errorf("completion with --fixtures: %q", stdout)
	}
	if _, stdout, _ := run(t, t.Context(), "__complete", "compare", "--scenario", "zonal"); !strings.Contains(stdout, "zonal-spread\n") {
		t.Errorf("completion: %q", stdout)
	}
	t.Chdir(t.TempDir())
	if code, _, stderr := run(t, t.Context(), "sweep", "--scenario", "burst"); code != console.ExitFailed || !strings.Contains(stderr, "there is no directory fixtures here or above: say where scenarios are (--fixtures DIR)") {
		t.Errorf("nowhere: exit %d, %s", code, stderr)
	}
}
