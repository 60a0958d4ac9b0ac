package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mainVariable makes the test binary the command itself, for tests that need a process of its own.
const mainVariable = "SCALEHIST_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		_ = os.Unsetenv(mainVariable)
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// explained is a saved report of the package that explains reports.
func explained(name string) string {
	return filepath.Join("..", "..", "..", "harness", "report", "testdata", "explain", name+".json")
}

// TestViewWithoutTerminal prints the steps.
func TestViewWithoutTerminal(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "view", explained("pending"))
	if code != ExitOK || !strings.Contains(stdout, "std: in backoff after failed scale-up") || strings.Contains(stdout, "\x1b") {
		t.Errorf("exit %d, printed %q and %q", code, stdout, stderr)
	}
	if code, _, stderr = run(t, t.Context(), "view", "nowhere"); code != ExitFailed || !strings.Contains(stderr, "--report-dir") {
		t.Errorf("exit %d, error %q; want one that says how to make a report", code, stderr)
	}
}
