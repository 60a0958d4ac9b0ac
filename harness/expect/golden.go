package expect

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

var update = flag.Bool("update", false, "rewrite golden timelines with what the replays show; please read the diff before committing it")

// MatchGolden succeeds when the report's timeline is the one in the file. With -update it writes the file; CI never does.
func MatchGolden(path string) Matcher {
	return &goldenMatcher{path: path, update: *update, accept: "make golden"}
}

// MatchGoldenOr is MatchGolden for who has no flag -update: it writes the file when update is set, and accept is the command that
// would, for messages.
func MatchGoldenOr(path string, update bool, accept string) Matcher {
	return &goldenMatcher{path: path, update: update, accept: accept}
}

type goldenMatcher struct {
	path   string
	update bool
	accept string
	report *scalehist.ReplayReport
	diff   string
}

func (m *goldenMatcher) Match(actual any) (bool, error) {
	r, err := wholeReport(actual)
	if err != nil {
		return false, err
	}
	m.report = r
	got := report.Timeline(r)
	if m.update && os.Getenv("CI") != "" {
		return false, fmt.Errorf("golden files are not written in CI, which never accepts new behaviour: run `%s` yourself and commit what it changed", m.accept)
	}
	if m.update {
		if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
			return false, err
		}
		return true, os.WriteFile(m.path, []byte(got), 0o644)
	}
	want, err := os.ReadFile(m.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("%s is missing: write it with `%s`, read it, and commit it", m.path, m.accept)
	}
	if err != nil {
		return false, err
	}
	m.diff = string(diff.Diff("want "+m.path, want, "got", []byte(got)))
	return m.diff == "", nil
}

func (m *goldenMatcher) FailureMessage(any) string {
	return joinNonEmpty([]string{
		fmt.Sprintf("scenario %q: the timeline is not the golden one", m.report.Scenario),
		strings.TrimSuffix(m.diff, "\n"),
		fmt.Sprintf("  if the change is meant: %s, read the diff, commit it", m.accept),
		report.Where(m.report),
	})
}

func (m *goldenMatcher) NegatedFailureMessage(any) string {
	return fmt.Sprintf("scenario %q: the timeline is the one in %s, and should not be", m.report.Scenario, m.path)
}
