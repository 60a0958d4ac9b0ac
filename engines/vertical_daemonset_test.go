package engines

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/fixtures/workload"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

var agentSet = scalehist.WorkloadRef{APIVersion: "apps/v1", Kind: "DaemonSet", Namespace: "kube-system", Name: "agent"}

// playAgents plays a DaemonSet that asks for one core and uses a tenth on each of two nodes, with a third node after two hours, under what an object (YAML)
// configures.
func playAgents(t *testing.T, object, plane string, controller harness.NewController) *scalehist.ReplayReport {
	t.Helper()
	in, err := workload.Script{
		Name: "agents", Duration: 3 * time.Hour,
		Groups:     []workload.Group{{Name: "std", Machine: workload.Machine{Type: "std-4", CPU: "4", Memory: "16Gi"}, Zone: "z1", Min: 2, Max: 3, Nodes: 2, Delay: time.Minute}},
		DaemonSets: []workload.DaemonSet{{Name: agentSet.Name, CPU: "1", Memory: "1Gi"}},
		Steps:      []workload.Step{{At: 2 * time.Hour, Add: workload.Pods{Workload: "web", Count: 3, CPU: "2500m", Memory: "1Gi"}}},
	}.Input()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := ParseObjects([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	used, err := load.Parse([]byte(`series: [{workload: DaemonSet/kube-system/agent, metric: cpu, sharing: each, points: [{at: 0s, value: 100m}]},
		{workload: DaemonSet/kube-system/agent, metric: memory, points: [{at: 0s, value: 300Mi}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := harness.NewInputReplayer(t.Context(), in, harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(plane),
		harness.WithController(controller), harness.WithObjects(objects...), harness.WithLoad(used))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := r.Replay(t.Context(), in.End.Sub(in.Start))
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestVPADaemonSet: pods of a DaemonSet are evicted, or resized in place, and ask for what is recommended, also on a node that comes later; the room that they
// leave is the workloads'. Both planes report the same.
func TestVPADaemonSet(t *testing.T) {
	for mode, want := range map[string]struct {
		evicted, resized int32
		born, offers     []string
	}{
		"Recreate": {2, 0, []string{"agent-std-0.terminating-1 cpu 1", "agent-std-0 cpu 126m", "agent-std-1.terminating-1 cpu 1", "agent-std-1 cpu 126m", "agent-std-2 cpu 126m"},
			[]string{"std-0 cpu 2794m", "std-0 cpu 3794m", "std-1 cpu 2794m", "std-1 cpu 3794m"}},
		"InPlaceOrRecreate": {0, 2, []string{"agent-std-0 cpu 126m", "agent-std-1 cpu 126m", "agent-std-2 cpu 126m"}, []string{"std-0 cpu 3794m", "std-1 cpu 3794m"}},
	} {
		t.Run(mode, func(t *testing.T) {
			object := fmt.Sprintf(`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: agent, namespace: %s}, spec: {
				targetRef: {apiVersion: apps/v1, kind: DaemonSet, name: agent}, updatePolicy: {updateMode: %s}}}`, agentSet.Namespace, mode)
			flags, err := vpa.ParseFlags([]string{"in-recommendation-bounds-eviction-lifetime-threshold=1h"})
			if err != nil {
				t.Fatal(err)
			}
			r := playAgents(t, object, harness.Memory, VPA(flags))
			w := workloadOf(t, r, agentSet)
			if w.Evicted != want.evicted || w.Resized != want.resized || w.SizedBy != vpaName || w.Initial != 2 || w.Final != 3 {
				t.Errorf("%d evicted, %d resized by %q, want %d and %d; %d pods, then %d, want one a node", w.Evicted, w.Resized, w.SizedBy, want.evicted, want.resized, w.Initial, w.Final)
			}
			if last := w.Requests[len(w.Requests)-1]; last.CPU < 0.3 || last.CPU > 0.6 {
				t.Errorf("three pods ask for %v cores in the end, want about three times 126m", last.CPU)
			}
			var born, offers []string
			for _, b := range r.Batches {
				for _, p := range b.NodePods {
					born = append(born, fmt.Sprintf("%s cpu %s", p.Name, p.Requests["cpu"]))
				}
				for _, o := range b.Offers {
					offers = append(offers, o.Node+" cpu "+o.Offers["cpu"])
				}
			}
			if diff := cmp.Diff(want.born, born); diff != "" {
				t.Errorf("pods of nodes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.offers, offers); diff != "" {
				t.Errorf("what nodes have for workloads (-want +got):\n%s", diff)
			}
			real := playAgents(t, object, harness.EnvTest, VPA(flags))
			if diff := cmp.Diff(fmt.Sprint(r.Workloads, r.WorkloadDecisions, r.Batches), fmt.Sprint(real.Workloads, real.WorkloadDecisions, real.Batches)); diff != "" {
				t.Errorf("the planes differ (-memory +envtest):\n%s", diff)
			}
		})
	}
}

// TestHPADaemonSet: a DaemonSet has no scale, whatever is known of its load.
func TestHPADaemonSet(t *testing.T) {
	r := playAgents(t, `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: agent, namespace: kube-system}, spec: {
		scaleTargetRef: {apiVersion: apps/v1, kind: DaemonSet, name: agent}, maxReplicas: 9, metrics: [`+cpuAt60+`]}}`, harness.Memory, HPA(hpa.Defaults()))
	if w := workloadOf(t, r, agentSet); w.Controller != "" || w.Peak != 3 {
		t.Errorf("%d pods, scaled by %q, want one for each of three nodes", w.Peak, w.Controller)
	}
	if !warns(r, "HorizontalPodAutoscaler/kube-system/agent: its target DaemonSet/kube-system/agent has no scale") {
		t.Errorf("warnings %q", r.Warnings)
	}
}
