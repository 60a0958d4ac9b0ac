package gospec

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/artifacts"
	. "github.com/scalehist/scalehist/harness/expect"
)

// What a replay showed when this was written. Change what should be different, and take out what you do not care about.
func TestFromZero(t *testing.T) {
	g := NewWithT(t)
	report := replayFromZero(t,
		// Other settings change the question: flags, bounds, faults, a window; and so does WithPrices.
		harness.With(func(s *harness.Settings) {
			s.Name = "from_zero"
		}),
	)

	// Nodes each group grew by. A group that is not named must not have moved; HaveChanged takes ranges.
	g.Expect(report).To(HaveScaledUp(ScaleUps{"batch": 3}))
	g.Expect(report).To(HaveScaledDown(ScaleDowns{}))
	// Pods without a node at the end.
	g.Expect(report).To(LeaveUnschedulable())
	// What the autoscaler decided first, and when.
	nodes := Exactly(3)
	g.Expect(report).To(Decide(Decided{Which: FirstScaleUp, Timed: true, From: 26540 * time.Millisecond, To: 26540 * time.Millisecond, NodeGroup: "batch", Nodes: &nodes}))
	// Limits of metrics: what the replay needed.
	g.Expect(report).To(KeepMetric("pending.max", "<= 41s"))
	g.Expect(report).To(KeepMetric("nodes.peak", "<= 4"))
}

// replayFromZero replays the history on a virtual cluster of its own, and leaves the report under gen/ beside this file.
func replayFromZero(t *testing.T, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	const recording = "../../../fixtures/from-zero/recording.db"
	engine, err := engines.Named("virtualca")
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]harness.Option{harness.WithAutoscaler(engine), harness.OnControlPlane(harness.Memory)}, opts...)
	report, err := harness.Play(t.Context(), recording, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	report.Run.Artifacts = filepath.Join("gen", "from_zero")
	report.Run.Rerun = "go test -run '^" + t.Name() + "$'"
	if err := artifacts.Save(t.Context(), report.Run.Artifacts, recording, report); err != nil {
		t.Fatal(err)
	}
	return report
}
