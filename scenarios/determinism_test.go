package scenarios

import (
	"os"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/rogpeppe/go-internal/diff"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/report"
)

// runsEnv sets how often each fixture is replayed and compared, every second time in memory; the default is 2.
const runsEnv = "SCALEHIST_RUNS"

// runs is how often each fixture is replayed.
func runs() int {
	s := os.Getenv(runsEnv)
	if s == "" {
		return 2
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 2 {
		panic(runsEnv + "=" + s + ": must be a number of at least 2") // the tree of specs cannot be built with it
	}
	return n
}

var _ = Describe("Same input, same bytes", unraced, func() {
	for _, name := range recordings() {
		It("replays "+name+" to the same report every time", func(ctx SpecContext) {
			var first []byte
			for i := range runs() {
				r, err := replayWith(ctx, 0, Recording(name), ClusterAutoscaler(), []harness.Option{onPlane(), harness.OnControlPlane(harness.Memory)}[i%2])
				Expect(err).NotTo(HaveOccurred())
				bytes, err := report.Canonical(r)
				Expect(err).NotTo(HaveOccurred())
				if i == 0 {
					first = bytes
					continue
				}
				Expect(string(diff.Diff("run 1", first, "run "+strconv.Itoa(i+1), bytes))).To(BeEmpty())
			}
		}, SpecTimeout(time.Duration(runs())*time.Minute))
	}

	// Whole objects come from an API server, or from registries: what they differ in, such as resource versions, is not kept.
	It("keeps the same whole objects, of the start, the end and each decision, on every control plane", func(ctx SpecContext) {
		r := Replay(ctx, Recording("stockout-fallback"), ClusterAutoscaler(), harness.With(func(s *harness.Settings) { s.FullSnapshots = true }))
		var decided, kept []int
		for _, d := range r.Decisions {
			if d.Outcome != scalehist.ScaleUpInCooldown { // it waited for more pods
				decided = append(decided, d.Loop)
			}
		}
		for _, m := range r.Moments.Moments {
			kept = append(kept, m.Loop)
		}
		Expect(kept).To(Equal(decided), "every decision of it is about waiting pods")
		Expect(r.Moments.Objects.Pods).To(HaveEach(HaveField("Spec.Containers", Not(BeEmpty()))))

		summary := Replay(ctx, Recording("stockout-fallback"), ClusterAutoscaler())
		Expect(summary.Moments).To(BeNil())
	}, SpecTimeout(time.Minute))
})
