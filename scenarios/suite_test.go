package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/artifacts"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
	"github.com/scalehist/scalehist/harness/scenario"
	"github.com/scalehist/scalehist/report/ci"
)

// pool boots the next virtual cluster while a spec runs on the one before.
var pool *kvcl.Pool

// unraced are specs in which one goroutine replays for long: make test runs them without the race detector alone.
var unraced = Label("unraced")

func TestScenarios(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Scenarios")
}

// controlPlane is that of the suite: a real one, unless the variable names another.
func controlPlane() string {
	return cmp.Or(os.Getenv(harness.ControlPlaneVariable), harness.EnvTest)
}

// One process finds or builds the binaries, so that parallel ones do not all wait for the same build.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	if controlPlane() != harness.EnvTest {
		return
	}
	_, err := assets.Ensure(ctx, assets.Options{Progress: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
}, func(SpecContext) {
	if controlPlane() != harness.EnvTest {
		return
	}
	logs := filepath.Join("..", "gen", "logs", fmt.Sprintf("process-%d", GinkgoParallelProcess()))
	pool = kvcl.NewPool(kvcl.Options{LogDir: logs}, 1)
	DeferCleanup(func() error { return errors.Join(pool.Close(), os.RemoveAll(logs)) })
}, NodeTimeout(30*time.Minute))

// One line a scenario, with what scaled, at the end; and what a CI reads: gen/scenarios.xml, annotations, the job summary.
var _ = ReportAfterSuite("one line a scenario", func(report types.Report) {
	fmt.Println()
	run := runOf(report, fromRoot)
	var lines strings.Builder
	for _, o := range run.Outcomes {
		fmt.Fprintf(&lines, "%-7s %6.2fs  %s  %s\n", o.Status, o.Seconds, o.Name, o.Summary)
	}
	if ci.InGitHub(os.Getenv) {
		fmt.Print(ci.Group(run.Headline(), lines.String()))
		fmt.Print(runOf(report, func(file string) string { return file }).GitHub(os.Getenv))
	} else {
		fmt.Print(lines.String())
	}
	junit, err := run.JUnit()
	if err == nil {
		err = os.MkdirAll(filepath.Join("..", "gen"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "gen", "scenarios.xml"), junit, 0o644)
	}
	if err := errors.Join(err, ci.Summarize(os.Getenv, run.Markdown())); err != nil {
		fmt.Println(err)
	}
})

// What specs add to their report for others to read.
const (
	sizesEntry     = "node group sizes"
	artifactsEntry = "artifacts"
)

// runOf are the specs that ran, in the order of files and lines. path says how files are named.
func runOf(report types.Report, path func(file string) string) ci.Run {
	specs := slices.Clone(report.SpecReports)
	slices.SortStableFunc(specs, func(a, b types.SpecReport) int {
		return cmp.Or(cmp.Compare(b.FileName(), a.FileName()), cmp.Compare(a.LineNumber(), b.LineNumber()), cmp.Compare(a.FullText(), b.FullText()))
	})
	run := ci.Run{Title: "scenarios"}
	for _, s := range specs {
		if s.State.Is(types.SpecStateSkipped|types.SpecStatePending) || s.LeafNodeType != types.NodeTypeIt && !s.State.Is(types.SpecStateFailureStates) {
			continue
		}
		o := ci.Outcome{Name: s.FullText(), Status: ci.Passed, File: path(s.FileName()), Line: s.LineNumber(), Seconds: s.RunTime.Seconds(), Rerun: rerun(s)}
		if o.Name == "" {
			o.Name = s.LeafNodeType.String() // of the suite
		}
		for _, e := range s.ReportEntries {
			switch e.Name {
			case sizesEntry:
				o.Summary = e.StringRepresentation()
			case artifactsEntry:
				o.Artifacts = e.StringRepresentation()
			}
		}
		if s.State.Is(types.SpecStateFailureStates) {
			o.Status = ci.Failed
			if !s.State.Is(types.SpecStateFailed) { // a panic, a timeout, an interrupt
				o.Status = ci.Broken
			}
			o.Problems = append(o.Problems, problemOf(s.Failure, path))
			for _, more := range s.AdditionalFailures {
				o.Problems = append(o.Problems, problemOf(more.Failure, path))
			}
		}
		run.Outcomes = append(run.Outcomes, o)
	}
	return run
}

func problemOf(f types.Failure, path func(string) string) ci.Problem {
	return ci.Problem{File: path(f.Location.FileName), Line: f.Location.LineNumber, Message: f.Message}
}

// fromRoot is a path of this repository from its top, for who reads it elsewhere.
func fromRoot(file string) string {
	root, err := filepath.Abs("..")
	if err != nil {
		return file
	}
	if rel, err := filepath.Rel(root, file); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return file
}

// recording is the path of a fixture's history.
func recording(name string) string { return filepath.Join("..", "fixtures", name, "recording.db") }

// recordings names every fixture there is, so that a new one is replayed without being listed anywhere.
func recordings() []string {
	paths, err := filepath.Glob(recording("*"))
	if err != nil || len(paths) == 0 {
		panic(fmt.Sprintf("no fixtures at %s: %v", recording("*"), err)) // the tree of specs cannot be built without
	}
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(filepath.Dir(p)))
	}
	return names
}

// golden is the path of a fixture's timeline.
func golden(name string) string { return filepath.Join("..", "fixtures", name, "want.txt") }

// artifactsOf is where a spec leaves its files: gen/SCENARIO/SPEC, as several specs may replay one recording.
func artifactsOf(name string, spec SpecReport) string {
	leaf := scenario.Slug(spec.LeafNodeText)
	if len(leaf) > 100 {
		leaf = leaf[:100]
	}
	return filepath.Join("..", "gen", scenario.Slug(name), leaf)
}

// onPlane runs a replay on the control plane of the suite: real ones come booted, from the pool.
func onPlane() harness.Option {
	if name := controlPlane(); name != harness.EnvTest {
		return harness.OnControlPlane(name)
	}
	return harness.WithControlPlane(harness.EnvTest, planeFromPool)
}

// lastLogs is where the last virtual cluster of this process logs: specs of one process run one after the other.
var lastLogs atomic.Value

// planeFromPool hands a replay the next booted cluster.
func planeFromPool(ctx context.Context, o kvcl.Options) (kvcl.ControlPlane, error) {
	e, err := pool.Get(ctx, o)
	if err == nil {
		lastLogs.Store(e.LogDir())
	}
	return e, err
}

// keepLogs puts the logs of the last virtual cluster, which is closed, beside the other files of a spec.
func keepLogs(dir string) error {
	from, ok := lastLogs.Swap("").(string)
	if !ok || from == "" {
		return nil
	}
	to := filepath.Join(dir, artifacts.Logs)
	return errors.Join(os.MkdirAll(dir, 0o755), os.RemoveAll(to), os.Rename(from, to))
}
