package scenarios

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/truth"
)

// truthOf is the path of a fixture's truth file.
func truthOf(name string) string { return filepath.Join("..", "fixtures", name, "truth.json") }

// runLength is how long the run behind a truth file went on: longer than its log, which ends with the last change.
func runLength(path string) time.Duration {
	GinkgoHelper()
	f, err := truth.Read(path)
	Expect(err).NotTo(HaveOccurred())
	return f.End().Sub(f.Runs[0].Start)
}

// truths names the fixtures that have a truth file.
func truths() []string {
	var names []string
	for _, name := range recordings() {
		if _, err := os.Stat(truthOf(name)); err == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		panic("no fixture has a truth.json") // the tree of specs cannot be built without
	}
	return names
}

// The recordings are of the upstream cluster-autoscaler on virtual nodes. It was run several times with the same load and
// did not always do the same: the truth is the set of its outcomes, and the steps all runs took alike. What a seed has to do
// with it is in docs/truth.md.
var _ = Describe("The truth about a real autoscaler", func() {
	for _, name := range truths() {
		It("holds for the replay of "+name, func(ctx SpecContext) {
			report := ReplayFor(ctx, runLength(truthOf(name)), Recording(name), ClusterAutoscaler())

			Expect(report).To(AgreeWithTruth(truthOf(name)))
			Expect(report).To(MatchGolden(golden(name)))
		}, SpecTimeout(4*time.Minute))

		It("holds with upstream's ties for the replay of "+name, func(ctx SpecContext) {
			report := ReplayFor(ctx, runLength(truthOf(name)), Recording(name), ClusterAutoscaler(), harness.With(func(s *harness.Settings) { s.Ties = harness.TiesUpstream }))

			Expect(report).To(AgreeWithTruth(truthOf(name)))
		}, SpecTimeout(4*time.Minute))
	}
})
