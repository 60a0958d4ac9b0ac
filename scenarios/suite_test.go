package scenarios

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// pool boots the next virtual cluster while a spec runs on the one before.
var pool *kvcl.Pool

func TestScenarios(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Scenarios")
}

// One process finds or builds the binaries, so that parallel ones do not all wait for the same build.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	if harness.DefaultControlPlane() != harness.EnvTest {
		return
	}
	_, err := assets.Ensure(ctx, assets.Options{Progress: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
}, func(SpecContext) {
	if harness.DefaultControlPlane() != harness.EnvTest {
		return
	}
	pool = kvcl.NewPool(kvcl.Options{}, 1)
	DeferCleanup(func() error { return pool.Close() })
}, NodeTimeout(30*time.Minute))

// One line a scenario, with what scaled, at the end.
var _ = ReportAfterSuite("one line a scenario", func(report types.Report) {
	fmt.Println()
	specs := slices.Clone(report.SpecReports)
	slices.SortStableFunc(specs, func(a, b types.SpecReport) int {
		return cmp.Or(cmp.Compare(b.FileName(), a.FileName()), cmp.Compare(a.LineNumber(), b.LineNumber()), cmp.Compare(a.FullText(), b.FullText()))
	})
	for _, s := range specs {
		if s.LeafNodeType != types.NodeTypeIt || s.State.Is(types.SpecStateSkipped) {
			continue
		}
		sizes := ""
		for _, e := range s.ReportEntries {
			if e.Name == sizesEntry {
				sizes = e.StringRepresentation()
			}
		}
		fmt.Printf("%-7s %6.2fs  %s  %s\n", s.State, s.RunTime.Seconds(), s.FullText(), sizes)
	}
})

const sizesEntry = "node group sizes"

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

// artifacts is where a spec leaves its files: gen/<slug of the scenario>.
func artifacts(name string) string { return filepath.Join("..", "gen", slug(name)) }

func slug(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s), "-")
}

// onPlane runs a replay on the control plane of the suite: real ones come booted, from the pool.
func onPlane() harness.Option {
	if name := harness.DefaultControlPlane(); name != harness.EnvTest {
		return harness.OnControlPlane(name)
	}
	return harness.WithControlPlane(harness.EnvTest, planeFromPool)
}

// planeFromPool hands a replay the next booted cluster.
func planeFromPool(ctx context.Context, o kvcl.Options) (kvcl.ControlPlane, error) {
	return pool.Get(ctx, o)
}
