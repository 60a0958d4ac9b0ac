package engines

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
)

// elastiSteps is the file of steps that the handler on an API server takes too.
type elastiSteps struct {
	Values []struct{ At, Value float64 }
	Steps  []struct {
		At       int
		From, To int32
	}
}

const elastiWeb = `{"apiVersion": "elasti.truefoundry.com/v1alpha1", "kind": "ElastiService", "metadata": {"name": "web"}, "spec": {"service": "web",
	"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "minTargetReplicas": 2, "cooldownPeriod": 600,
	"triggers": [{"type": "prometheus", "metadata": {"query": "requests", "threshold": "1"}}]}}`

func playElasti(t *testing.T, text string, points map[time.Duration]float64) (*scalehist.ReplayReport, error) {
	t.Helper()
	objects, err := ParseObjects([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var from harness.Moment
	if err := from.Set("+8h10m"); err != nil { // by then its 16 replicas have come
		t.Fatal(err)
	}
	return harness.Play(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"), nil,
		harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(Elasti()), harness.WithObjects(objects...),
		harness.With(func(s *harness.Settings) { s.Window.From, s.For = from, time.Hour }), harness.WithLoad(steps("requests", load.External, 0, points)))
}

// TestElastiSteps: a replay takes the steps of the file in virtual time.
func TestElastiSteps(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "recommender", "horizontal", "elasti", "testdata", "steps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file elastiSteps
	if err := yaml.UnmarshalStrict(data, &file); err != nil {
		t.Fatal(err)
	}
	points := map[time.Duration]float64{}
	for _, v := range file.Values {
		points[time.Duration(v.At)*time.Second] = v.Value
	}
	r, err := playElasti(t, elastiWeb, points)
	if err != nil {
		t.Fatal(err)
	}
	got := elastiSteps{Values: file.Values}
	for _, d := range r.WorkloadDecisions {
		for _, s := range d.Scales {
			if s.From != s.To {
				got.Steps = append(got.Steps, struct {
					At       int
					From, To int32
				}{int(d.At.Sub(r.StartTime).Seconds()), s.From, s.To})
			}
			if s.Reason == "" || s.By != "ElastiService/default/web" || len(s.Metrics) != 1 {
				t.Errorf("%s: %+v", d.At, s)
			}
		}
	}
	if diff := cmp.Diff(file, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	w := workloadOf(t, r, webSet)
	if w.Controller != "elasti" || wantedAt(w, time.Hour) != 0 {
		t.Errorf("controller %q, %d wanted in the end", w.Controller, wantedAt(w, time.Hour))
	}
}

// TestElastiUnknown: what the load does not know scales nothing, and the decision says so.
func TestElastiUnknown(t *testing.T) {
	r, err := playElasti(t, elastiWeb, map[time.Duration]float64{0: 0, 5 * time.Minute: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	last := r.WorkloadDecisions[len(r.WorkloadDecisions)-1].Scales[0]
	if w := workloadOf(t, r, webSet); wantedAt(w, time.Hour) != 16 || !strings.Contains(last.Reason, "query requests has no series") {
		t.Errorf("%d wanted, %+v", wantedAt(w, time.Hour), last)
	}
}

// TestElastiMistakes: what nothing could be done about is said before the replay.
func TestElastiMistakes(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"threshold"`, `"treshold"`}:      "treshold",
		{`"cooldownPeriod"`, `"cooldown"`}: "cooldown",
		{`"prometheus"`, `"prometeus"`}:    `did you mean "prometheus"?`,
	} {
		objects, err := ParseObjects([]byte(strings.Replace(elastiWeb, change[0], change[1], 1)))
		if err == nil {
			_, err = Elasti()(harness.ControllerEnv{Objects: objects})
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	if _, err := Elasti()(harness.ControllerEnv{}); err == nil {
		t.Error("without an ElastiService there is nothing to do, and nobody says so")
	}
	twice := strings.Replace(elastiWeb, `"name": "web"}, "spec"`, `"name": "web-2"}, "spec"`, 1)
	objects, err := ParseObjects([]byte(elastiWeb + "\n---\n" + twice))
	if err == nil {
		_, err = Elasti()(harness.ControllerEnv{Objects: objects})
	}
	if err == nil || !strings.Contains(err.Error(), "scale the same workload, ReplicaSet/default/web") {
		t.Errorf("two of one workload: %v", err)
	}
}
