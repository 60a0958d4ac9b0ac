package engines

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recorder/history"
)

const kedaWeb = `{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "web", "namespace": "default"}, "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"},
	"triggers": [{"type": "prometheus", "metadata": {"query": "requests", "threshold": "10"}}]}}`

// TestRecordedScaledObject: one that was recorded is followed, and so are its pauses, which are annotations; another one of a kind that is not modelled leaves its
// workload as it was recorded, with a warning.
func TestRecordedScaledObject(t *testing.T) {
	object := func(text string, annotations map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		o.SetUID("so-web")
		o.SetAnnotations(annotations)
		return o
	}
	path := withLines(t, func(_ *history.DB, start time.Time) []map[string]any {
		line := func(at time.Duration, op scalehist.Op, o *unstructured.Unstructured) map[string]any {
			return map[string]any{"at": start.Add(at), "op": op, "object": o}
		}
		kafka := object(strings.ReplaceAll(strings.ReplaceAll(kedaWeb, `"web"`, `"api"`), `"prometheus"`, `"kafka"`), nil)
		kafka.SetUID("so-api")
		return []map[string]any{
			line(0, scalehist.OpAdd, object(kedaWeb, nil)), line(0, scalehist.OpAdd, kafka),
			line(10*time.Hour, scalehist.OpUpdate, object(kedaWeb, map[string]string{"autoscaling.keda.sh/paused-replicas": "3"})),
			line(11*time.Hour, scalehist.OpUpdate, object(kedaWeb, nil)),
			line(12*time.Hour, scalehist.OpDelete, object(kedaWeb, nil)),
		}
	})
	r, err := harness.Play(t.Context(), path, nil, harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(KEDA(hpa.Defaults())),
		harness.WithLoad(steps("requests", load.External, 0, map[time.Duration]float64{0: 0, 8 * time.Hour: 80, 13 * time.Hour: 0})))
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, r, webSet)
	got := map[string]int32{}
	want := map[string]int32{"7h0m0s": 0, "9h0m0s": 8, "10h1m0s": 3, "11h5m0s": 8, "14h0m0s": 8}
	for at := range want {
		d, err := time.ParseDuration(at)
		if err != nil {
			t.Fatal(err)
		}
		got[at] = wantedAt(w, d)
	}
	if diff := cmp.Diff(want, got); diff != "" || w.Controller != kedaName {
		t.Errorf("replicas of %s (-want +got):\n%s", w.Controller, diff)
	}
	if text := strings.Join(r.Warnings, "\n"); !strings.Contains(text, `ScaledObject/default/api: triggers[0]: type "kafka" is not modelled`) {
		t.Errorf("warnings %q, want one about the kafka trigger", text)
	}
}

// TestKEDAMistakes: what nothing could be done about is said before the replay.
func TestKEDAMistakes(t *testing.T) {
	for change, want := range map[[2]string]string{
		{`"threshold"`, `"treshold"`}:                 "metadata.threshold is not set",
		{`"triggers"`, `"trigers"`}:                   "trigers",
		{`"prometheus"`, `"kafka"`}:                   `type "kafka" is not modelled`,
		{`"name": "web", "namespace"`, `"namespace"`}: "has no metadata.name",
	} {
		if _, err := ParseObjects([]byte(strings.Replace(kedaWeb, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change, err, want)
		}
	}
	if _, err := KEDA(hpa.Defaults())(harness.ControllerEnv{}); err == nil {
		t.Error("without a ScaledObject there is nothing to do, and nobody says so")
	}
	objects, err := ParseObjects([]byte(kedaWeb + "\n---\n" + strings.Replace(kedaWeb, `"name": "web", "namespace"`, `"name": "web-2", "namespace"`, 1)))
	if err == nil {
		_, err = KEDA(hpa.Defaults())(harness.ControllerEnv{Objects: objects})
	}
	if err == nil || !strings.Contains(err.Error(), "scale the same workload, ReplicaSet/default/web") {
		t.Errorf("two of one workload: %v", err)
	}
}

// TestKEDAAndFailingMetrics is KEDA's column of the table in docs/horizontal.md: four replicas are needed of sixteen, and the source fails until 25 minutes.
func TestKEDAAndFailingMetrics(t *testing.T) {
	for fault, want := range map[string]struct {
		at20, at40 int32
		reason     string
	}{
		"":                              {4, 4, ""},
		"metrics-down@..+25m":           {16, 4, "is down"},
		"metrics-slow@..+25m,delay=4s":  {16, 4, "no answer within 3s"},
		"metrics-slow@..+25m,delay=2s":  {4, 4, ""},
		"metrics-stale@+1m..+25m":       {4, 4, ""},
		"metrics-empty@..+25m":          {0, 4, "no trigger is active"},
		"metrics-nan@..+25m":            {0, 4, "no trigger is active"},
		"metrics-wrong@..+25m,value=80": {8, 4, ""},
	} {
		r := faulty(t, KEDA(hpa.Defaults()), kedaWeb, fault, steps("requests", load.External, 0, map[time.Duration]float64{0: 40}))
		w := workloadOf(t, r, webSet)
		got := [2]int32{wantedAt(w, 20*time.Minute), wantedAt(w, 40*time.Minute)}
		if diff := cmp.Diff([2]int32{want.at20, want.at40}, got); diff != "" || !strings.Contains(reasons(r), want.reason) {
			t.Errorf("%q: replicas at 20 and 40 minutes (-want +got):\n%s\n%s; want %q in the reasons", fault, diff, reasons(r), want.reason)
		}
	}
}
