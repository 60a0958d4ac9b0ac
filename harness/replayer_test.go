package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

var twoSizes = filepath.Join("..", "fixtures", "two-machine-sizes", "recording.db")

// small is a cluster with one node of std and a pod that needs another one, 16 seconds in.
func small(t *testing.T) *trace.Input {
	t.Helper()
	machine := workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}
	in, err := workload.Script{
		Name: "small", Duration: time.Minute,
		Groups:   []workload.Group{{Name: "std", Machine: machine, Zone: "z1", Min: 1, Max: 3, Nodes: 1, Delay: 20 * time.Second}, {Name: "big", Machine: machine, Zone: "z1", Max: 1}},
		Standing: []workload.Standing{{Node: "std-0", Pods: workload.Pods{Workload: "db", Count: 1, CPU: "3", Memory: "1Gi"}}},
		Steps:    []workload.Step{{At: 16 * time.Second, Add: workload.Pods{Workload: "web", Count: 2, CPU: "1500m", Memory: "1Gi"}, Every: 1500 * time.Millisecond}},
	}.Input()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func replayer(t *testing.T, in *trace.Input, opts ...harness.Option) *harness.Replayer {
	t.Helper()
	r, err := harness.NewInputReplayer(t.Context(), in, append([]harness.Option{harness.WithAutoscaler(greedyOn("std"))}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func replay(t *testing.T, in *trace.Input, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	r := replayer(t, in, opts...)
	out, err := r.Replay(t.Context(), r.RecordDuration())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	engine := harness.WithAutoscaler(greedyOn("std"))
	tests := []struct {
		name string
		opts []harness.Option
		want string
	}{
		{"no autoscaler", nil, "no autoscaler: pass harness.WithAutoscaler"},
		{"prices that nobody read", []harness.Option{engine, harness.With(func(s *harness.Settings) { s.Prices = &harness.Prices{Table: "public"} })}, "a price file is read before a replay"},
		{"negative batches", []harness.Option{engine, harness.WithBatchInterval(-time.Second)}, "batch interval -1s is negative"},
		{"bounds of an unknown group", []harness.Option{engine, harness.With(func(s *harness.Settings) { s.SetBounds("sdt", 1, 2) })}, `bounds: unknown node group "sdt": there are big, std`},
		{"delay of an unknown group", []harness.Option{engine, harness.WithProvisionDelay("sdt", 1)}, `provision delay: unknown node group "sdt": there are big, std`},
		{"fault of an unknown group", []harness.Option{engine, harness.WithFaults(trace.Fault{NodeGroup: "sdt", Kind: trace.FaultRefuse})}, `fault refuse:sdt: unknown node group "sdt": there are big, std`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := harness.NewInputReplayer(t.Context(), small(t), tt.opts...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestReplay looks at one replay from many sides: pods enter at the batch boundary, the autoscaler looks there, the
// node joins exactly its delay after the request and takes the pods.
func TestReplay(t *testing.T) {
	t.Parallel()
	r := replayer(t, small(t), harness.WithBatchInterval(10*time.Second), harness.WithProvisionDelay("std", 7*time.Second+time.Nanosecond))
	got, err := r.Replay(t.Context(), r.RecordDuration())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.ClusterAt(t.Context(), got.StartTime); err == nil {
		t.Error("a script has no recorded cluster, want an error")
	}
	if len(got.ScaledUpNodes) != 1 {
		t.Fatalf("scaled up %v, want one node", got.ScaledUpNodes)
	}
	n := got.ScaledUpNodes[0]
	start := workload.Epoch
	if n.RequestedAt != start.Add(20*time.Second) || n.ReadyAt != n.RequestedAt.Add(7*time.Second+time.Nanosecond) {
		t.Errorf("node asked for at +%s, ready at +%s; want +20s and 7.000000001s later", n.RequestedAt.Sub(start), n.ReadyAt.Sub(start))
	}
	if diff := cmp.Diff([]string{"default/web-1", "default/web-2"}, n.Pods); diff != "" {
		t.Errorf("pods on it (-want +got):\n%s", diff)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, b)
}

func validate(t *testing.T, instance []byte) {
	t.Helper()
	schema, err := report.Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(report.SchemaID, parsed); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile(report.SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled.Validate(value); err != nil {
		t.Errorf("the report is not valid: %v", err)
	}
}

// TestBatchInterval: each pod comes at its own instant, or, asked for, at the boundary of a batch.
func TestBatchInterval(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opts []harness.Option
		want []time.Duration
	}{
		"ten seconds":         {[]harness.Option{harness.WithBatchInterval(10 * time.Second)}, []time.Duration{20 * time.Second, 20 * time.Second}},
		"each at its instant": {nil, []time.Duration{16 * time.Second, 17500 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := replay(t, small(t), tt.opts...)
			var at []time.Duration
			for _, b := range got.Batches {
				for range b.DeployedPods {
					at = append(at, b.At.Sub(got.StartTime))
				}
			}
			if diff := cmp.Diff(tt.want, at); diff != "" {
				t.Errorf("fed in at (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettingsChangeRestartsTheEngine: it is built again with the new flags, the overrides last, and its first loop comes
// a scan interval later.
func TestSettingsChangeRestartsTheEngine(t *testing.T) {
	t.Parallel()
	in := small(t)
	in.Settings.Flags = []string{"--v=1"}
	in.SettingsChanges = []scalehist.SettingsChange{{At: in.Start.Add(33 * time.Second), Settings: scalehist.CASettings{Flags: []string{"--v=2"}}}}
	var built [][]string
	var loops []time.Duration
	got := replay(t, in, harness.WithFlags("--v=9"), harness.WithAutoscaler(func(env harness.Env) (scalehist.Autoscaler, error) {
		built = append(built, env.Settings.Flags)
		return &greedy{env: env, group: "std"}, nil
	}), harness.WithObserver(harness.Observer{Decided: func(_ context.Context, d scalehist.Decision) error {
		loops = append(loops, d.At.Sub(in.Start))
		return nil
	}}))
	if diff := cmp.Diff([][]string{{"--v=1", "--v=9"}, {"--v=2", "--v=9"}}, built); diff != "" {
		t.Errorf("built with (-want +got):\n%s", diff)
	}
	s := time.Second
	if diff := cmp.Diff([]time.Duration{10 * s, 16 * s, 17500 * time.Millisecond, 27520 * time.Millisecond, 43 * s, 53020 * time.Millisecond}, loops); diff != "" {
		t.Errorf("loops (-want +got):\n%s", diff)
	}
	if len(got.SettingsChanges) != 1 || got.SettingsChanges[0].At != in.Start.Add(33*s) {
		t.Errorf("settings changes %v, want one at +33s", got.SettingsChanges)
	}
}

// TestFaultsReachTheEngine: a stock-out shows as a creation error of the instance.
func TestFaultsReachTheEngine(t *testing.T) {
	t.Parallel()
	in := small(t)
	var env harness.Env
	var seen []cloudprovider.ErrorClass
	got := replay(t, in,
		harness.WithFaults(trace.Fault{NodeGroup: "std", Kind: trace.FaultStockOut}),
		harness.WithAutoscaler(func(e harness.Env) (scalehist.Autoscaler, error) {
			env = e
			return &greedy{env: e, group: "std"}, nil
		}),
		harness.WithObserver(harness.Observer{Decided: func(context.Context, scalehist.Decision) error {
			for _, i := range env.Provider.Instances("std") {
				if i.Error != nil {
					seen = append(seen, i.Error.Class)
				}
			}
			return nil
		}}))
	if len(seen) == 0 || seen[0] != cloudprovider.ErrorOutOfResources {
		t.Errorf("errors seen %v, want OutOfResources", seen)
	}
	if len(got.ScaledUpNodes) != 0 || len(got.UnschedulableAtEnd) != 2 {
		t.Errorf("nodes %v and unschedulable %v, want no node and both pods", got.ScaledUpNodes, got.UnschedulableAtEnd)
	}
}

type broken struct{ at time.Time }

func (b broken) Name() string { return "broken-engine" }

func (b broken) RunOnce(_ context.Context, now time.Time) (scalehist.Decision, error) {
	if now.Before(b.at) {
		return scalehist.Decision{At: now, Outcome: scalehist.ScaleUpNotNeeded}, nil
	}
	return scalehist.Decision{}, errBroken
}

var errBroken = errors.New("out of ideas")

func TestEngineErrorsSayWhoAndWhen(t *testing.T) {
	t.Parallel()
	in := small(t)
	r := replayer(t, in, harness.WithAutoscaler(func(harness.Env) (scalehist.Autoscaler, error) { return broken{in.Start.Add(20 * time.Second)}, nil }))
	_, err := r.Replay(t.Context(), time.Minute)
	if !errors.Is(err, errBroken) || err.Error() != "replay small at +27.52s: broken-engine: out of ideas" {
		t.Errorf("error %v, want the scenario, the offset and the engine", err)
	}
	if _, err = r.Replay(t.Context(), time.Minute); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "cannot go on after an error, make a new replayer") {
		t.Errorf("another replay after it: %v, want a refusal with the first error", err)
	}
	_, err = harness.NewInputReplayer(t.Context(), small(t), harness.WithAutoscaler(func(harness.Env) (scalehist.Autoscaler, error) { return nil, errBroken }))
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "build the autoscaler") {
		t.Errorf("error %v, want the one of the engine's constructor", err)
	}
}

// TestProgress: what a live view is sent goes to the end of what is played, and ends with what the report says.
func TestProgress(t *testing.T) {
	t.Parallel()
	var last harness.Progress
	sizes := map[string]int{}
	r, err := harness.NewInputReplayer(t.Context(), small(t), harness.OnControlPlane(harness.Memory), harness.WithAutoscaler(greedyOn("std")),
		harness.WithProgress(func(p harness.Progress) {
			if p.Now.Before(last.Now) || p.LastAction == nil && last.LastAction != nil {
				t.Errorf("progress %+v after %+v", p, last)
			}
			last = p
			for _, g := range p.Groups() {
				sizes[g.Name] = g.TargetSize
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	report, err := r.Replay(t.Context(), 2*time.Minute)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if !last.End.Equal(report.EndTime) || !last.Start.Equal(report.StartTime) {
		t.Errorf("from %s to %s, want %s to %s", last.Start, last.End, report.StartTime, report.EndTime)
	}
	for _, g := range report.NodeGroups {
		if sizes[g.Name] != g.Final {
			t.Errorf("%s has %d nodes, the report says %d", g.Name, sizes[g.Name], g.Final)
		}
	}
	var acted *scalehist.Decision
	for i := range report.Decisions {
		if d := &report.Decisions[i]; d.Acted() || len(d.Deleting) > 0 {
			acted = d
		}
	}
	if acted == nil || last.LastAction == nil || acted.Loop != last.LastAction.Loop || acted.Summary() != last.LastAction.Summary() {
		t.Errorf("last action %+v, the report's is %+v", last.LastAction, acted)
	}
}

// TestCancelLeavesNothing: cancelled in the middle, a replay ends at once, and Close leaves no process behind.
func TestCancelLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("boots an API server")
	}
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	steps := 0
	r, err := harness.NewInputReplayer(ctx, small(t), harness.WithAutoscaler(greedyOn("std")), harness.OnControlPlane(harness.EnvTest),
		harness.WithProgress(func(harness.Progress) {
			if steps++; steps == 2 {
				cancel()
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	plane, ok := r.Plane().(*kvcl.EnvTest)
	if !ok {
		t.Fatalf("plane is a %T", r.Plane())
	}
	children := plane.Stats().PIDs
	_, err = r.Replay(ctx, time.Minute)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	if steps != 2 {
		t.Errorf("%d steps, want none after the second, which cancelled", steps)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if len(children) != 2 {
		t.Errorf("children %v, want kube-apiserver and etcd", children)
	}
	for name, pid := range children {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s (%d) is still there: %v", name, pid, err)
		}
	}
}

// TestHistoryIsNeverModified: a replay of a file nobody may write to, in a directory of its own, leaves both as they were.
// Three replays at once give one report.
func TestHistoryIsNeverModified(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile(twoSizes)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "two-machine-sizes")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "recording.db")
	if err := os.WriteFile(path, before, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755) //nolint:errcheck // so that the directory can be removed
	const runs = 3
	reports := make([]string, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			r, err := harness.NewReplayer(t.Context(), path, harness.WithAutoscaler(engines.ClusterAutoscaler()))
			if err != nil {
				t.Error(err)
				return
			}
			out, err := r.Replay(t.Context(), r.RecordDuration())
			if err = errors.Join(err, r.Close()); err != nil {
				t.Error(err)
				return
			}
			if out.Agreement == nil || !out.Agreement.Agreed {
				t.Errorf("agreement %+v, want agreed", out.Agreement)
			}
			b, err := report.Canonical(out)
			if err != nil {
				t.Error(err)
				return
			}
			validate(t, b)
			reports[i] = string(b)
		})
	}
	wg.Wait()
	for _, r := range reports[1:] {
		if diff := cmp.Diff(reports[0], r); diff != "" {
			t.Errorf("two reports of one scenario differ:\n%s", diff)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("the history was changed")
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("beside the history: %v, want nothing", entries)
	}
}

// TestPerEvent: one verdict for each recorded scale-up, the first one too.
func TestPerEvent(t *testing.T) {
	t.Parallel()
	got, err := harness.ReplayEvents(t.Context(), twoSizes, harness.WithAutoscaler(engines.ClusterAutoscaler()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Playback != scalehist.PlaybackPerEvent || got.Recorded == nil {
		t.Fatalf("playback %s, recorded %v", got.Playback, got.Recorded)
	}
	var ups []scalehist.RecordedStep
	for _, s := range got.Recorded.Steps {
		if s.To > s.From {
			ups = append(ups, s)
		}
	}
	if len(got.Events) != len(ups) || len(ups) < 2 {
		t.Fatalf("%d verdicts for %d recorded scale-ups", len(got.Events), len(ups))
	}
	for i, e := range got.Events {
		if !e.At.Equal(ups[i].At) || !e.Agreed {
			t.Errorf("event %d at +%s: recorded %v, replayed %v, agreed %t", i, e.At.Sub(got.StartTime), e.Recorded, e.Replayed, e.Agreed)
		}
	}
	if diff := cmp.Diff(map[string]int{"large": 3, "small": 2}, got.ScaledUpNodeGroups); diff != "" {
		t.Errorf("scaled up (-want +got):\n%s", diff)
	}
	if got.Agreement == nil || !got.Agreement.Agreed {
		t.Errorf("agreement %+v", got.Agreement)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	validate(t, b)
}

// TestPerEventWithNothingRecorded: a trace without scale-ups has no events to replay.
func TestPerEventWithNothingRecorded(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "fixtures", "fits-existing-nodes", "recording.db")
	_, err := harness.ReplayEvents(t.Context(), path, harness.WithAutoscaler(greedyOn("std")))
	if err == nil || !strings.Contains(err.Error(), path+": no scale-up was recorded in the window") {
		t.Errorf("error %v, want one that names the file", err)
	}
}
