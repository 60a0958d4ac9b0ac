package engines

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// TestBoostWarnings: a boost sets the CPU that pods request even where the mode is Off, which an HPA on the share they use of it undoes; and without
// its feature gate it does nothing.
func TestBoostWarnings(t *testing.T) {
	const memoryAt60 = `{"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}}}`
	const boost = `, "startupBoost": {"cpu": {"type": "Factor", "factor": 2}}`
	const undoes, off = "each undoes what the other does", "which does nothing: the feature gate is off"
	for name, c := range map[string]struct {
		gate, spec, metric string
		want, not          string
	}{
		"on CPU":             {"true", boost, cpuAt60, undoes, off},
		"on memory":          {"true", boost, memoryAt60, "", undoes},
		"without the gate":   {"false", boost, cpuAt60, off, undoes},
		"Off, without boost": {"true", "", cpuAt60, "", undoes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := ParseObjects([]byte(`{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler", "metadata": {"name": "web"},
				"spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "updatePolicy": {"updateMode": "Off"}` + c.spec + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			flags, err := vpa.ParseFlags([]string{"feature-gates=CPUStartupBoost=" + c.gate})
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, hpaObject(t, "web", c.metric))
			r, err := harness.Play(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"), nil,
				harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(VPA(flags)), harness.WithObjects(objects...),
				harness.WithLoad(steps(load.CPU, load.Divided, 0, map[time.Duration]float64{0: 1})), harness.With(func(s *harness.Settings) { s.For = time.Minute }))
			if err != nil {
				t.Fatal(err)
			}
			if !warns(r, c.want) || warns(r, c.not) {
				t.Errorf("want %q and not %q in the warnings:\n%s", c.want, c.not, strings.Join(r.Warnings, "\n"))
			}
		})
	}
}

// warns says whether a text is in a warning; an empty one always is.
func warns(r *scalehist.ReplayReport, text string) bool {
	return strings.Contains(strings.Join(r.Warnings, "\n"), text)
}
