package scenarios

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/recorder/history"
)

// sharedRecordings are logs of real autoscalers that are not part of the project: real clusters, and the upstream
// cluster-autoscaler on virtual nodes, with what it did in several runs.
var sharedRecordings = filepath.Join("..", "..", "shared", "recordings")

// imported makes a history of a shared log, or skips the spec, saying why.
func imported(ctx SpecContext, file string) Source {
	GinkgoHelper()
	path := filepath.Join(sharedRecordings, file)
	log, err := os.Open(path)
	if os.IsNotExist(err) {
		Skip(path + " is not there: the recording is not part of the project")
	}
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(log.Close()).To(Succeed()) }()
	name, _, _ := strings.Cut(file, ".")
	db := filepath.Join(GinkgoT().TempDir(), name+".db")
	_, err = history.Import(ctx, log, db, history.ImportOptions{Name: name})
	Expect(err).NotTo(HaveOccurred())
	return History(name, db)
}

// outcomes are the part of <name>.truth.json that a replay is held against: everything the real autoscaler was seen to do.
type outcomes struct {
	Outcomes []struct {
		ScaledUp   map[string]int `json:"scaledUp"`
		ScaledDown map[string]int `json:"scaledDown"`
	} `json:"outcomes"`
}

func readTruth(name string) outcomes {
	GinkgoHelper()
	b, err := os.ReadFile(filepath.Join(sharedRecordings, name+".truth.json"))
	Expect(err).NotTo(HaveOccurred())
	var t outcomes
	Expect(json.Unmarshal(b, &t)).To(Succeed())
	Expect(t.Outcomes).NotTo(BeEmpty())
	return t
}

// withoutZeros leaves out the groups that did not move, as a report does.
func withoutZeros(sizes map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range sizes {
		if n != 0 {
			out[name] = n
		}
	}
	return out
}

var _ = Describe("A recording of a real autoscaler", func() {
	It("replays a burst on AWS to the sizes that were recorded", func(ctx SpecContext) {
		report := Replay(ctx, imported(ctx, "aws-burst.jsonl"), ClusterAutoscaler())

		Expect(report).To(expect.HaveScaledUp(expect.ScaleUps{"shoot--demo--aws-p3-z1": 2, "shoot--demo--aws-p2-z1": 2}))
		Expect(report).To(expect.AgreeWithRecording())
		Expect(len(report.UnschedulableAtEnd)).To(BeNumerically(">=", 5))
	}, SpecTimeout(2*time.Minute))

	DescribeTable("replays to something the cluster-autoscaler was seen to do", func(ctx SpecContext, file string) {
		from := imported(ctx, file)
		report := Replay(ctx, from, ClusterAutoscaler())

		// The real one is not deterministic: the truth is the set of its outcomes.
		var seen []types.GomegaMatcher
		for _, o := range readTruth(from.name).Outcomes {
			seen = append(seen, Equal([]map[string]int{withoutZeros(o.ScaledUp), withoutZeros(o.ScaledDown)}))
		}
		Expect([]map[string]int{report.ScaledUpNodeGroups, report.ScaledDownNodeGroups}).To(Or(seen...))
	},
		Entry("a burst of two sizes", "ca-burst-two-sizes.jsonl.gz", SpecTimeout(2*time.Minute)),
		Entry("waves in the middle of which loops decide", "ca-staggered-burst.jsonl.gz", SpecTimeout(2*time.Minute)),
		Entry("an empty cluster", "ca-scale-from-zero.jsonl", SpecTimeout(2*time.Minute)),
		Entry("three balanced zones", "ca-balance-zones.jsonl.gz", SpecTimeout(2*time.Minute)),
		Entry("a stock-out", "ca-stockout-fallback.jsonl", SpecTimeout(2*time.Minute)),
	)
})
