package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/cmd/scalehist/view"
	"github.com/scalehist/scalehist/internal/goldentest"
)

// mainVariable makes the test binary the command itself, for tests that need a process of its own.
const mainVariable = "SCALEHIST_TEST_AS_COMMAND"

// exitAtOnce is for these processes: with the race detector in it, a process waits a second before it ends otherwise.
const exitAtOnce = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		_ = os.Unsetenv(mainVariable)
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// explained is a saved report of the package that explains reports.
func explained(name string) string {
	return filepath.Join("..", "..", "..", "report", "testdata", "explain", name+".json")
}

// TestViewWithoutTerminal prints the steps.
func TestViewWithoutTerminal(t *testing.T) {
	code, stdout, stderr := run(t, t.Context(), "view", explained("pending"))
	if code != console.ExitOK || !strings.Contains(stdout, "std: in backoff after failed scale-up") || strings.Contains(stdout, "\x1b") {
		t.Errorf("exit %d, printed %q and %q", code, stdout, stderr)
	}
	if code, _, stderr = run(t, t.Context(), "view", "nowhere"); code != console.ExitFailed || !strings.Contains(stderr, "--report-dir") {
		t.Errorf("exit %d, error %q; want one that says how to make a report", code, stderr)
	}
}

// TestViewPage: the screens of docs/view.md are those of the commands it gives. With SCALEHIST_UPDATE=1 it writes them.
func TestViewPage(t *testing.T) {
	inRepository(t)
	dir := filepath.Join(t.TempDir(), "report")
	if code, _, stderr := run(t, t.Context(), "replay", "two-machine-sizes", "--control-plane", "memory", "--report-dir", dir); code == console.ExitFailed {
		t.Fatal(stderr)
	}
	r, err := console.ReadReport(dir)
	if err != nil {
		t.Fatal(err)
	}
	const file = "docs/view.md"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- ([0-9]+) lines, keys: ([^\n]*) -->\n```text\n(.*?)```\n")
	made := blocks.ReplaceAllStringFunc(string(page), func(block string) string {
		found := blocks.FindStringSubmatch(block)
		height, err := strconv.Atoi(found[1])
		if err != nil {
			t.Error(err)
		}
		return fmt.Sprintf("<!-- %d lines, keys: %s -->\n```text\n%s```\n", height, found[2], screenAfter(view.New(r), 80, height, found[2]))
	})
	if n := len(blocks.FindAllString(made, -1)); n < 3 {
		t.Errorf("%s has %d screens", file, n)
	}
	goldentest.Text(t, file, made, os.Getenv("SCALEHIST_UPDATE") != "")
}

// screenAfter is what is seen after keys, letter by letter; words in <> are named keys.
func screenAfter(m tea.Model, width, height int, keys string) string {
	m, _ = m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	named := map[string]rune{"<down>": tea.KeyDown, "<enter>": tea.KeyEnter, "<tab>": tea.KeyTab}
	for keys != "" {
		name, _, _ := strings.Cut(keys, ">")
		if code, ok := named[name+">"]; ok {
			m, _ = m.Update(tea.KeyPressMsg{Code: code})
			keys = keys[len(name)+1:]
			continue
		}
		key, size := utf8.DecodeRuneInString(keys)
		m, _ = m.Update(tea.KeyPressMsg{Code: key, Text: string(key)})
		keys = keys[size:]
	}
	lines := strings.Split(ansi.Strip(m.View().Content), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
