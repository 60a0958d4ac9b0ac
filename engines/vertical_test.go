package engines

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// playPair plays a ReplicaSet of two pods (one core, one gibibyte) on a node of four cores.
func playPair(t *testing.T, d time.Duration, plane string, opts ...harness.Option) (*scalehist.ReplayReport, error) {
	t.Helper()
	in, err := workload.Script{
		Name: "pair", Duration: d,
		Groups:   []workload.Group{{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 1, Max: 3, Nodes: 1}},
		Standing: []workload.Standing{{Node: "std-0", Pods: workload.Pods{Workload: "web", Count: 2, CPU: "1", Memory: "1Gi"}}},
	}.Input()
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewInputReplayer(t.Context(), in, append([]harness.Option{harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(plane)},
		opts...)...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	return r.Replay(t.Context(), d)
}

// vpaObject is an autoscaler of webSet.
func vpaObject(t *testing.T, name, mode string) *vpav1.VerticalPodAutoscaler {
	t.Helper()
	objects, err := ParseObjects([]byte(fmt.Sprintf(`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: %s}, spec: {
		targetRef: {apiVersion: apps/v1, kind: ReplicaSet, name: web}, updatePolicy: {updateMode: "%s"}}}`, name, mode)))
	if err != nil {
		t.Fatal(err)
	}
	return objects[0].(*vpav1.VerticalPodAutoscaler)
}

// TestVPAByHand: what a replay recommends is what the recommender does that is handed the same samples, at the same instants, with random load.
func TestVPAByHand(t *testing.T) {
	const play = 6 * time.Hour
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 14))
		var cpu, memory []load.Point
		start := workload.Epoch
		for at := time.Duration(0); at < play; at += load.Resolution * time.Duration(1+rng.IntN(40)) {
			cpu = append(cpu, load.Point{At: start.Add(at), Value: float64(rng.IntN(3000)) / 1000})
			memory = append(memory, load.Point{At: start.Add(at), Value: float64(rng.IntN(1 << 30))})
		}
		series := []load.Series{
			{Workload: webSet, Metric: load.CPU, Sharing: load.Divided, Points: cpu},
			{Workload: webSet, Metric: load.Memory, Sharing: load.Each, Points: memory},
		}
		r, err := playPair(t, play, harness.Memory, harness.WithController(VPA(vpa.DefaultFlags())), harness.WithObjects(vpaObject(t, "web", "Off")), harness.WithLoad(load.Given(series...)))
		if err != nil {
			t.Fatal(err)
		}
		want := recommendedByHand(t, series, play, func(_ time.Duration, _ string, v float64) (float64, bool) { return v, true })
		if diff := cmp.Diff(want, recommendations(r)); diff != "" {
			t.Errorf("seed %d: recommendations (-want +got):\n%s", seed, diff)
		}
		if len(want) < 3 {
			t.Errorf("seed %d: only %v is recommended: the test shows nothing", seed, want)
		}
	}
}

// lightLoad is a tenth of a core and 300 MiB for each of two replicas.
func lightLoad(time.Time) ([]load.Series, error) {
	return []load.Series{
		{Workload: webSet, Metric: load.CPU, Sharing: load.Divided, Points: []load.Point{{At: workload.Epoch, Value: 0.2}}},
		{Workload: webSet, Metric: load.Memory, Sharing: load.Each, Points: []load.Point{{At: workload.Epoch, Value: 300 << 20}}},
	}, nil
}

// TestVPAInPlace: pods are resized in place, without an eviction, and both planes report the same.
func TestVPAInPlace(t *testing.T) {
	reports := map[string]string{}
	for _, plane := range []string{harness.Memory, harness.EnvTest} {
		r, err := playPair(t, 14*time.Hour, plane, harness.WithController(VPA(vpa.DefaultFlags())), harness.WithObjects(vpaObject(t, "web", "InPlaceOrRecreate")), harness.WithLoad(lightLoad))
		if err != nil {
			t.Fatal(err)
		}
		w := workloadOf(t, r, webSet)
		if w.Resized != 2 || w.Evicted != 0 || w.SizedBy != "vpa" {
			t.Errorf("%s: %d resized, %d evicted by %q; want both pods resized in place", plane, w.Resized, w.Evicted, w.SizedBy)
		}
		if last := w.Requests[len(w.Requests)-1]; last.CPU >= 0.3 {
			t.Errorf("%s: they ask for %v cores in the end", plane, last.CPU)
		}
		reports[plane] = fmt.Sprint(r.Workloads, r.WorkloadDecisions, r.Batches)
	}
	if diff := cmp.Diff(reports[harness.Memory], reports[harness.EnvTest]); diff != "" {
		t.Errorf("the planes differ (-memory +envtest):\n%s", diff)
	}
}

// TestCheckpoints: autoscalers that come as an earlier replay left them recommend by its history from the first turn on.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	heavy := load.Given(load.Series{Workload: webSet, Metric: load.CPU, Sharing: load.Divided, Points: []load.Point{{At: workload.Epoch, Value: 4}}})
	before, err := playPair(t, 12*time.Hour, harness.Memory, harness.WithController(VPA(vpa.DefaultFlags())),
		harness.WithObjects(vpaObject(t, "web", "Off")), harness.WithLoad(heavy), harness.WithFiles(dir))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, harness.KeptName))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := ParseObjects(text)
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d objects, %v in\n%s", len(kept), err, text)
	}
	after, err := playPair(t, 2*time.Minute, harness.Memory, harness.WithController(VPA(vpa.DefaultFlags())),
		harness.WithObjects(kept...), harness.WithLoad(lightLoad))
	if err != nil {
		t.Fatal(err)
	}
	last := before.WorkloadDecisions[len(before.WorkloadDecisions)-1].Resizes[0].Containers[0].To.Cpu().MilliValue()
	if last < 2000 {
		t.Fatalf("two replicas with four cores of work are recommended %d millicores each", last)
	}
	for _, d := range after.WorkloadDecisions {
		for _, r := range d.Resizes {
			for _, c := range r.Containers {
				if got := c.To.Cpu().MilliValue(); got < last*9/10 {
					t.Errorf("at %s: %d millicores are recommended, want about the %d that 12 hours of work asked for", d.At, got, last)
				}
			}
		}
	}
}

// TestVPAErrors: what cannot be done, or means nothing, is said once.
func TestVPAErrors(t *testing.T) {
	untargeted := vpaObject(t, "web", "Off")
	untargeted.Spec.TargetRef = nil
	elsewhere := vpaObject(t, "web", "Off")
	elsewhere.Spec.TargetRef.Name = "nobody"
	for name, tt := range map[string]struct {
		objects       []scalehist.Object
		load          load.Source
		want, warning string
	}{
		"no autoscaler":       {load: lightLoad, want: "there is no VerticalPodAutoscaler at the start"},
		"no target":           {objects: []scalehist.Object{untargeted}, load: lightLoad, want: "VerticalPodAutoscaler/default/web has no targetRef"},
		"target not there":    {objects: []scalehist.Object{elsewhere}, load: lightLoad, warning: "its target ReplicaSet/default/nobody is not there when it comes; there are Deployment/kube-system/cluster-autoscaler, ReplicaSet/default/web"},
		"no load":             {objects: []scalehist.Object{vpaObject(t, "web", "Off")}, warning: "there is no load of ReplicaSet/default/web"},
		"two on one workload": {objects: []scalehist.Object{vpaObject(t, "a", "Off"), vpaObject(t, "b", "Off")}, load: lightLoad, warning: "VerticalPodAutoscaler/default/a and VerticalPodAutoscaler/default/b are about the same workload"},
		"horizontal by the same resource": {
			objects: []scalehist.Object{vpaObject(t, "web", "Auto"), hpaObject(t, "web", cpuAt60)}, load: lightLoad,
			warning: "VerticalPodAutoscaler/default/web sets the cpu that pods of ReplicaSet/default/web request, and HorizontalPodAutoscaler/default/web scales by the share they use of it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []harness.Option{harness.WithController(VPA(vpa.DefaultFlags())), harness.WithObjects(tt.objects...)}
			if tt.load != nil {
				opts = append(opts, harness.WithLoad(tt.load))
			}
			r, err := playPair(t, 5*time.Minute, harness.Memory, opts...)
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("error %v, want %q", err, tt.want)
			case tt.warning != "" && !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, tt.warning) }):
				t.Errorf("warnings %q, want one with %q", r.Warnings, tt.warning)
			}
		})
	}
	for name, flags := range map[string][]string{"vpa: --target-cpu-percentil is not a flag": {"--target-cpu-percentil=0.5"}, "vpa: --updater-interval=0s: want more than 0s": {"--updater-interval=0s"}} {
		if _, err := Vertical("vpa", flags...); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: error %v, want %q", flags, err, name)
		}
	}
	if _, err := Vertical("goldilocks"); err == nil || !strings.Contains(err.Error(), `unknown vertical autoscaler "goldilocks": choose one of boosted`) {
		t.Errorf("an unknown one: %v", err)
	}
}
