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
	"github.com/scalehist/scalehist/harness/trace"
)

// What a replay showed when this was written. Change what should be different, and take out what you do not care about.
func TestWhatIf(t *testing.T) {
	g := NewWithT(t)
	report := replayWhatIf(t,
		// Other settings change the question: flags, bounds, faults, a window; and so does WithPrices.
		harness.With(func(s *harness.Settings) {
			s.Name = "what_if"
			s.Window = harness.Between(time.Date(2026, 1, 5, 8, 0, 5, 0, time.UTC), time.Time{})
			s.For = 3 * time.Minute
			s.Flags = []string{"--expander=most-pods"}
			s.Seed = 3
		}),
	)

	// Nodes each group grew by. A group that is not named must not have moved; HaveChanged takes ranges.
	g.Expect(report).To(HaveScaledUp(ScaleUps{"std": 2}))
	g.Expect(report).To(HaveScaledDown(ScaleDowns{}))
	// Pods without a node at the end.
	g.Expect(report).To(LeaveUnschedulable("default/web-10", "default/web-11", "default/web-12", "default/web-13", "default/web-14", "default/web-15"))
	// What the autoscaler decided first, and when.
	nodes := Exactly(2)
	g.Expect(report).To(Decide(Decided{Which: FirstScaleUp, Timed: true, From: 21440 * time.Millisecond, To: 21440 * time.Millisecond, NodeGroup: "std", Nodes: &nodes}))
	// Limits of metrics: what the replay needed.
	g.Expect(report).To(KeepMetric("pending.max", "<= 2m49s"))
	g.Expect(report).To(KeepMetric("nodes.peak", "<= 3"))
}

// replayWhatIf replays the history on a virtual cluster of its own, and leaves the report under gen/ beside this file.
func replayWhatIf(t *testing.T, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	const recording = "../../../fixtures/max-size-reached/recording.db"
	engine, err := engines.Named("virtualca")
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]harness.Option{harness.WithAutoscaler(engine), harness.OnControlPlane(harness.Memory)}, opts...)
	opts = append(opts, faultWhatIf(t, "slow:std,delay=20s"))
	report, err := harness.Play(t.Context(), recording, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	report.Run.Artifacts = filepath.Join("gen", "what_if")
	report.Run.Rerun = "go test -run '^" + t.Name() + "$'"
	if err := artifacts.Save(t.Context(), report.Run.Artifacts, recording, report); err != nil {
		t.Fatal(err)
	}
	return report
}

// faultWhatIf is a fault as the command line takes it.
func faultWhatIf(t *testing.T, text string) harness.Option {
	t.Helper()
	fault, err := trace.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return harness.WithFaults(fault)
}
