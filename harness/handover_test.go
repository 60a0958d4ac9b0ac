package harness_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/trace"
	"github.com/scalehist/scalehist/simulator/cloudprovider"
)

// upstreams replays with the virtual cluster autoscaler.
func upstreams(t *testing.T, in *trace.Input, opts ...harness.Option) *scalehist.ReplayReport {
	t.Helper()
	return replay(t, in, append([]harness.Option{harness.WithAutoscaler(engines.ClusterAutoscaler())}, opts...)...)
}

func scripted(t *testing.T, s workload.Script) *trace.Input {
	t.Helper()
	in, err := s.Input()
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func warned(r *scalehist.ReplayReport, text string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

// gpuScript asks for five GPUs of a group whose nodes have one each, and a label.
func gpuScript(label string) workload.Script {
	s := workload.Script{
		Name: "gpus", Duration: 5 * time.Minute,
		Groups: []workload.Group{{Name: "gpu", Machine: workload.Machine{Type: "gpu-1", CPU: "4", Memory: "16Gi", GPUs: 1}, Zone: "z1", Max: 9, Delay: 20 * time.Second}},
		Steps:  []workload.Step{{At: 10 * time.Second, Add: workload.Pods{Workload: "train", Count: 5, CPU: "1", Memory: "1Gi", GPUs: 1}}},
	}
	if label != "" {
		s.Groups[0].Labels = map[string]string{label: "nvidia-tesla-t4"}
	}
	return s
}

// TestGPULimit: --gpu-total counts devices by the label of the provider that was recorded.
func TestGPULimit(t *testing.T) {
	const gke = "cloud.google.com/gke-accelerator"
	limit := "--gpu-total=nvidia-tesla-t4:0:2"
	for name, tc := range map[string]struct {
		label string
		flags []string
		opts  []harness.Option
		want  int
		warn  string
	}{
		"no limit":                   {label: gke, want: 5},
		"the label nodes have":       {label: gke, flags: []string{limit}, want: 2},
		"the provider's label":       {label: "k8s.amazonaws.com/accelerator", flags: []string{"--cloud-provider=aws", limit}, want: 2},
		"another provider's label":   {label: gke, flags: []string{"--cloud-provider=aws", limit}, want: 5, warn: "no node and no template has the label k8s.amazonaws.com/accelerator=nvidia-tesla-t4"},
		"a label that is given":      {label: "example.com/gpu", flags: []string{limit}, opts: []harness.Option{harness.With(func(s *harness.Settings) { s.GPULabel = "example.com/gpu" })}, want: 2},
		"no label":                   {flags: []string{limit}, want: 5, warn: "nothing recorded shows by which label nodes with GPUs are marked"},
		"Gardener's does not count":  {label: "gardener.cloud/accelerator", flags: []string{"--cloud-provider=mcm", limit}, want: 5, warn: "Gardener's provider does not say"},
		"the flag of the command":    {label: gke, opts: []harness.Option{harness.WithFlags(limit)}, want: 2},
		"another type is not bound":  {label: gke, flags: []string{"--gpu-total=nvidia-l4:0:2"}, want: 5, warn: "no node and no template has the label cloud.google.com/gke-accelerator=nvidia-l4"},
		"the limit of another thing": {label: gke, flags: []string{"--cores-total=0:8"}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := gpuScript(tc.label)
			s.Flags = tc.flags
			r := upstreams(t, scripted(t, s), tc.opts...)
			if got := r.ScaledUpNodeGroups["gpu"]; got != tc.want {
				t.Errorf("gpu grew by %d, want %d; warnings %q", got, tc.want, r.Warnings)
			}
			if got := warned(r, "limits nothing"); got != (tc.warn != "") || got && !warned(r, tc.warn) {
				t.Errorf("warnings %q, want %q", r.Warnings, tc.warn)
			}
		})
	}
}

// TestProvidersOwnLimits: limits of the provider itself bind as the autoscaler's flags do.
func TestProvidersOwnLimits(t *testing.T) {
	in := scripted(t, gpuScript(""))
	in.ResourceLimits = map[string][2]int64{"cpu": {0, 12}}
	if got := upstreams(t, in).ScaledUpNodeGroups["gpu"]; got != 3 {
		t.Errorf("gpu grew by %d, want 3: of 4 cores each", got)
	}
}

// TestGroupOptionsDecide: the options of one group win over the flags, for it alone, from when they hold.
func TestGroupOptionsDecide(t *testing.T) {
	machine := workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}
	script := workload.Script{
		Name: "pools", Duration: 8 * time.Minute, Flags: []string{"--scale-down-unneeded-time=1h"},
		Groups: []workload.Group{{Name: "a", Machine: machine, Max: 3, Nodes: 1}, {Name: "b", Machine: machine, Max: 3, Nodes: 1}},
	}
	minutes := func(n int) *scalehist.NodeGroupOptions {
		d := scalehist.Duration(time.Duration(n) * time.Minute)
		return &scalehist.NodeGroupOptions{ScaleDownUnneededTime: &d}
	}
	removedAt := func(r *scalehist.ReplayReport) map[string]time.Duration {
		out := map[string]time.Duration{}
		for _, g := range r.NodeGroups {
			if n := len(g.Sizes); n > 1 {
				out[g.Name] = time.Duration(g.Sizes[n-1].Offset).Truncate(time.Minute)
			}
		}
		return out
	}
	in := scripted(t, script)
	in.NodeGroups[0].Options = minutes(2)
	if diff := cmp.Diff(map[string]time.Duration{"a": 2 * time.Minute}, removedAt(upstreams(t, in))); diff != "" {
		t.Errorf("options from the start (-want +got):\n%s", diff)
	}
	in = scripted(t, script)
	later := in.NodeGroups[1]
	later.Options = minutes(1)
	in.GroupChanges = []trace.GroupChange{{At: in.Start.Add(5 * time.Minute), Group: later}}
	if diff := cmp.Diff(map[string]time.Duration{"b": 5 * time.Minute}, removedAt(upstreams(t, in))); diff != "" {
		t.Errorf("options that come later (-want +got):\n%s", diff)
	}
	in = scripted(t, script)
	soon := time.Minute
	in.GroupOptions = map[string]cloudprovider.GroupOptions{"b": {ScaleDownUnneededTime: &soon}}
	if diff := cmp.Diff(map[string]time.Duration{"b": time.Minute}, removedAt(upstreams(t, in))); diff != "" {
		t.Errorf("options of a script (-want +got):\n%s", diff)
	}
}
