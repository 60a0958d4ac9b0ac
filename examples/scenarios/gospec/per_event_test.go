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
func TestPerEvent(t *testing.T) {
	g := NewWithT(t)
	report := replayPerEvent(t,
		// Other settings change the question: flags, bounds, faults, a window; and so does WithPrices.
		harness.With(func(s *harness.Settings) {
			s.Name = "per_event"
			s.Playback = string(scalehist.PlaybackPerEvent)
		}),
	)

	// Nodes each group grew by. A group that is not named must not have moved; HaveChanged takes ranges.
	g.Expect(report).To(HaveScaledUp(ScaleUps{"large": 3, "small": 2}))
	// What the autoscaler decided first, and when.
	nodes := Exactly(3)
	g.Expect(report).To(Decide(Decided{Which: FirstScaleUp, Timed: true, From: 26169 * time.Millisecond, To: 26170 * time.Millisecond, NodeGroup: "large", Nodes: &nodes}))
}

// replayPerEvent replays the history on a virtual cluster of its own, and leaves the report under gen/ beside this file.
func replayPerEvent(t *testing.T, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	const recording = "../../../fixtures/two-machine-sizes/recording.db"
	engine, err := engines.Named("virtualca")
	if err != nil {
		t.Fatal(err)
	}
	opts = append([]harness.Option{harness.WithAutoscaler(engine), harness.OnControlPlane(harness.Memory)}, opts...)
	report, err := harness.Play(t.Context(), recording, nil, opts...)
	if err != nil {
		t.Fatal(err)
	}
	report.Run.Artifacts = filepath.Join("gen", "per_event")
	report.Run.Rerun = "go test -run '^" + t.Name() + "$'"
	if err := artifacts.Save(t.Context(), report.Run.Artifacts, recording, report); err != nil {
		t.Fatal(err)
	}
	return report
}
