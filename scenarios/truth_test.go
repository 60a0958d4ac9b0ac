package scenarios

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/harness/truth"
)

// runLength is how long the run behind a truth file went on: longer than its log, which ends with the last change.
func runLength(path string) time.Duration {
	GinkgoHelper()
	f, err := truth.Read(path)
	Expect(err).NotTo(HaveOccurred())
	return f.End().Sub(f.Runs[0].Start)
}

// The recordings are of the upstream cluster-autoscaler on virtual nodes. It was run several times with the same load and
// did not always do the same: the truth is the set of its outcomes, and the steps all runs took alike.
var _ = Describe("The truth about a real autoscaler", func() {
	DescribeTable("holds for the replay of its recording", func(ctx SpecContext, file, name string, opts ...harness.Option) {
		from, path := imported(ctx, file), filepath.Join(sharedRecordings, name+".truth.json")
		report := ReplayFor(ctx, runLength(path), from, append(opts, ClusterAutoscaler())...)

		Expect(report).To(expect.AgreeWithTruth(path))
	},
		Entry("a burst of two sizes", "ca-burst-two-sizes.jsonl.gz", "ca-burst-two-sizes", SpecTimeout(4*time.Minute)),
		Entry("waves in the middle of which loops decide", "ca-staggered-burst.jsonl.gz", "ca-staggered-burst", SpecTimeout(4*time.Minute)),
		Entry("an empty cluster", "ca-scale-from-zero.jsonl", "ca-scale-from-zero", SpecTimeout(4*time.Minute)),
		Entry("three balanced zones", "ca-balance-zones.jsonl.gz", "ca-balance-zones", SpecTimeout(4*time.Minute)),
		Entry("a stock-out", "ca-stockout-fallback.jsonl", "ca-stockout-fallback", SpecTimeout(4*time.Minute)),
		// The nodes asked for first have room for all pods but one or two, depending on the order in which pods are listed,
		// which upstream leaves to chance: a third of the seeds agree, the default one among them (docs/truth.md).
		Entry("a burst, then idle nodes", "ca-burst-then-idle.jsonl.gz", "ca-burst-then-idle", SpecTimeout(4*time.Minute)),
		Entry("a PodDisruptionBudget that blocks a drain until it is relaxed", "ca-pdb-blocks-drain.jsonl", "ca-pdb-blocks-drain", SpecTimeout(4*time.Minute)),
	)
})
