package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
)

func TestParseSettings(t *testing.T) {
	with := func(change func(*Settings)) Settings {
		s := DefaultSettings()
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		flags    []string
		want     Settings
		wantWarn []string
		wantErr  string
	}{
		"defaults": {want: DefaultSettings()},
		"values and switches": {
			flags:    []string{"./cluster-autoscaler", "--max-nodes-total=12", "--expander", "priority,least-waste", "-balance-similar-node-groups", "--scan-interval=30s", "--v=4", "--stderrthreshold=info", "--kubeconfig", "/none"},
			wantWarn: []string{"--expander=priority: there is no ConfigMap"},
			want: with(func(s *Settings) {
				s.MaxNodesTotal, s.Expander, s.BalanceSimilarNodeGroups, s.ScanInterval = 12, []string{"priority", "least-waste"}, true, 30*time.Second
			}),
		},
		"repeated and ranged": {
			flags: []string{"--balancing-ignore-label=a", "--balancing-ignore-label=b,c", "--cores-total=4:100", "--gpu-total=nvidia-t4:0:8", "--expendable_pods_priority_cutoff", "-50"},
			want: with(func(s *Settings) {
				s.BalancingIgnoreLabels, s.CoresTotal, s.GPUTotal, s.ExpendablePriorityCutoff = []string{"a", "b", "c"}, Range{4, 100}, map[string]Range{"nvidia-t4": {0, 8}}, -50
			}),
		},
		"not modelled and unknown": {
			flags:    []string{"--made-up=1", "stray", "--enable-proactive-scaleup", "--max-empty-bulk-delete=5", "--ignore-taint=slow", "--scale-down-candidates-pool-ratio=1"},
			want:     with(func(s *Settings) { s.StartupTaints = []string{"slow"} }),
			wantWarn: []string{"--made-up is unknown", `"stray" is not a flag`, "--enable-proactive-scaleup is not modelled", "--max-empty-bulk-delete is gone", "--ignore-taint is deprecated"},
		},
		"not modelled, as they stand": {flags: []string{"--frequent-loops-enabled=true", "--enable-provisioning-requests=false", "--regional=false"}, want: DefaultSettings()},
		"not modelled, changed":       {flags: []string{"--frequent-loops-enabled=false", "--enable-provisioning-requests=true", "--salvo-scale-up"}, want: DefaultSettings(), wantWarn: []string{"frequent", "provisioning", "salvo"}},
		"scale-down": {
			flags: []string{"--scale-down-unneeded-time=5m", "--scale-down-delay-after-add", "3m", "--max-graceful-termination-sec=60", "--drain-priority-config=1000:30,0:10", "--skip-nodes-with-system-pods=false",
				"--scale-down-gpu-utilization-threshold=0.7", "--cordon-node-before-terminating=false", "--max-bulk-soft-taint-count=0", "--scale-down-enabled=true"},
			want: with(func(s *Settings) {
				s.Down.Enabled, s.Down.UnneededTime, s.Down.DelayAfterAdd, s.Down.MaxGracefulTermination = true, 5*time.Minute, 3*time.Minute, time.Minute
				s.Down.DrainPriorities = []DrainPriority{{0, 10 * time.Second}, {1000, 30 * time.Second}}
				s.Down.Rules.SkipSystemPods, s.Down.GPUUtilizationThreshold, s.Down.Cordon, s.Down.SoftTaints = false, 0.7, false, 0
			}),
		},
		"bad value":         {flags: []string{"--max-nodes-total=many"}, wantErr: "flag --max-nodes-total=many"},
		"missing value":     {flags: []string{"--max-nodes-total"}, wantErr: "flag --max-nodes-total: value is missing"},
		"bad range":         {flags: []string{"--cores-total=10:2"}, wantErr: "flag --cores-total=10:2"},
		"unknown expander":  {flags: []string{"--expander=cheapest"}, wantErr: `expander "cheapest" is not supported`},
		"expander twice":    {flags: []string{"--expander=price,price"}, wantErr: `expander "price" is given twice`},
		"random not last":   {flags: []string{"--expander=random,price"}, wantErr: `expander "random" must be the last`},
		"no expander":       {flags: []string{"--expander=,"}, wantErr: "chain is empty"},
		"bad scan interval": {flags: []string{"--scan-interval=0s"}, wantErr: "scan interval"},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := ParseSettings(scalehist.CASettings{Flags: tc.flags})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
			if len(warnings) != len(tc.wantWarn) {
				t.Fatalf("got warnings %q, want %d", warnings, len(tc.wantWarn))
			}
			for i, w := range tc.wantWarn {
				if !strings.Contains(warnings[i], w) {
					t.Errorf("warning %d: got %q, want one with %q", i, warnings[i], w)
				}
			}
		})
	}
}

// FuzzParseSettings: any arguments give settings that New would take, or an error; never a panic, and no argument
// that is neither modelled nor irrelevant goes without a warning.
func FuzzParseSettings(f *testing.F) {
	for _, seed := range []string{"--expander=price,random", "--max-nodes-total 5", "-v 4 --x", "--cores-total=1:2 --gpu-total=a:1:2", "--scan-interval=\n-", "--", "-=", "--scale-down-enabled=false"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, " ")
		s, warnings, err := ParseSettings(scalehist.CASettings{Flags: args})
		if err != nil {
			return
		}
		if err := s.Check(); err != nil {
			t.Errorf("%q: settings that do not pass: %v", args, err)
		}
		if strings.HasPrefix(args[0], "--made-up-") && len(warnings) == 0 {
			t.Errorf("%q: no warning", args)
		}
	})
}
