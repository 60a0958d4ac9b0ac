package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/artifacts"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/report"
)

// Source is what a spec replays.
type Source struct {
	name string
	path string // of the history; empty for a script
	open func(ctx context.Context, opts ...harness.Option) (*harness.Replayer, error)
}

// Recording is a checked-in history, by the name of its directory under fixtures/.
func Recording(name string) Source {
	return History(name, recording(name))
}

// History is a history file anywhere.
func History(name, path string) Source {
	return Source{name, path, func(ctx context.Context, opts ...harness.Option) (*harness.Replayer, error) {
		return harness.NewReplayer(ctx, path, opts...)
	}}
}

// Scripted is a cluster and workload stated in the spec itself.
func Scripted(s workload.Script) Source {
	return Source{s.Name, "", func(ctx context.Context, opts ...harness.Option) (*harness.Replayer, error) {
		in, err := s.Input()
		if err != nil {
			return nil, err
		}
		return harness.NewInputReplayer(ctx, in, opts...)
	}}
}

// newService is a ReplicaSet web that comes after five seconds.
func newService(name string, length time.Duration, pods workload.Pods, groups ...workload.Group) workload.Script {
	pods.Workload = "web"
	return workload.Script{Name: name, Duration: length, Groups: groups, Steps: []workload.Step{{At: 5 * time.Second, Add: pods}}}
}

// ClusterAutoscaler is the virtual cluster autoscaler with the recorded settings, or with another expander chain.
func ClusterAutoscaler(expander ...string) harness.Option {
	return harness.WithAutoscaler(engines.ClusterAutoscaler(expander...))
}

// objectsOf reads objects (YAML) that configure controllers.
func objectsOf(text string) harness.Option {
	GinkgoHelper()
	objects, err := engines.ParseObjects([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return harness.WithObjects(objects...)
}

// loadOf reads the work that workloads have to do (YAML).
func loadOf(text string) harness.Option {
	GinkgoHelper()
	source, err := load.Parse([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	return harness.WithLoad(source)
}

// last is the last of some, of which there is one at least.
func last[T any](list []T) T {
	GinkgoHelper()
	Expect(list).NotTo(BeEmpty())
	return list[len(list)-1]
}

// Replay plays the whole source on a virtual cluster of its own and returns the report, which it also saves under
// gen/, before anything is asserted.
func Replay(ctx SpecContext, from Source, opts ...harness.Option) *scalehist.ReplayReport {
	GinkgoHelper()
	return ReplayFor(ctx, 0, from, opts...)
}

// ReplayFor plays a stretch of virtual time that may go past the recording's end.
func ReplayFor(ctx SpecContext, length time.Duration, from Source, opts ...harness.Option) *scalehist.ReplayReport {
	GinkgoHelper()
	spec := CurrentSpecReport()
	dir := artifactsOf(from.name, spec)
	r, err := replay(ctx, length, from, opts...)
	AddReportEntry(artifactsEntry, strings.TrimPrefix(filepath.ToSlash(dir), "../"), ReportEntryVisibilityNever)
	Expect(keepLogs(dir)).To(Succeed())
	Expect(err).NotTo(HaveOccurred())
	r.Run.Rerun = rerun(spec)
	r.Run.Artifacts = strings.TrimPrefix(filepath.ToSlash(dir), "../")
	Expect(artifacts.Save(ctx, dir, from.path, r)).To(Succeed())
	AddReportEntry(sizesEntry, report.SizesLine(r), ReportEntryVisibilityNever)
	AddReportEntry("report", report.Text(r), ReportEntryVisibilityFailureOrVerbose)
	return r
}

// played replays in memory alone: how the control planes agree is for other specs.
func played(ctx SpecContext, from Source, opts ...harness.Option) *scalehist.ReplayReport {
	GinkgoHelper()
	r, err := replayInMemory(ctx, 0, from, opts...)
	Expect(err).NotTo(HaveOccurred())
	return r
}

// replay plays on a real API server and once more on the control plane in memory: the reports are the same bytes. With
// another control plane chosen by harness.ControlPlaneVariable it plays on that one only.
func replay(ctx context.Context, length time.Duration, from Source, opts ...harness.Option) (*scalehist.ReplayReport, error) {
	if controlPlane() != harness.EnvTest {
		return replayWith(ctx, length, from, opts...)
	}
	real, err := replayWith(ctx, length, from, append([]harness.Option{onPlane()}, opts...)...)
	if err != nil {
		return nil, err
	}
	memory, err := replayWith(ctx, length, from, append(slices.Clone(opts), harness.OnControlPlane(harness.Memory))...)
	if err != nil {
		return nil, fmt.Errorf("in memory: %w", err)
	}
	return real, sameReport("envtest", real, "memory", memory)
}

// replayInMemory is for specs to which planes make no difference that others do not look at.
func replayInMemory(ctx context.Context, length time.Duration, from Source, opts ...harness.Option) (*scalehist.ReplayReport, error) {
	return replayWith(ctx, length, from, append(slices.Clone(opts), harness.OnControlPlane(harness.Memory))...)
}

// sameReport says where two reports differ that should not.
func sameReport(nameA string, a *scalehist.ReplayReport, nameB string, b *scalehist.ReplayReport) error {
	want, err := report.Canonical(a)
	if err != nil {
		return err
	}
	got, err := report.Canonical(b)
	if err != nil {
		return err
	}
	if bytes.Equal(want, got) {
		return nil
	}
	return fmt.Errorf("%s: %s and %s give two reports (-%[2]s +%[3]s):\n%s", a.Scenario, nameA, nameB,
		cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")))
}

func replayWith(ctx context.Context, length time.Duration, from Source, opts ...harness.Option) (_ *scalehist.ReplayReport, err error) {
	r, err := from.open(ctx, opts...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if length == 0 {
		length = r.RecordDuration()
	}
	return r.Replay(ctx, length)
}

// rerun is the command that runs just this spec.
func rerun(spec SpecReport) string {
	return fmt.Sprintf("go test ./scenarios -run TestScenarios -ginkgo.focus='%s'", focus(spec.FullText()))
}

// focus makes a regular expression of a spec's text that a shell takes in single quotes.
func focus(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "'", ".")
}
