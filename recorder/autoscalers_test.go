package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// recordsAutoscalers records custom resources that scale workloads, which are looked for in the cluster itself: whatever
// manages its machines.
func recordsAutoscalers(t *testing.T, cfg *rest.Config, dyn dynamic.Interface) {
	t.Helper()
	vpas := serve(t, dyn, "autoscaling.k8s.io", "v1", "VerticalPodAutoscaler", "verticalpodautoscalers")
	checkpoints := serve(t, dyn, "autoscaling.k8s.io", "v1", "VerticalPodAutoscalerCheckpoint", "verticalpodautoscalercheckpoints")
	scaled := serve(t, dyn, "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
	create := func(resource dynamic.NamespaceableResourceInterface, text string) *unstructured.Unstructured {
		return must[*unstructured.Unstructured](t)(resource.Namespace("default").Create(t.Context(), parse(t, text), metav1.CreateOptions{}))
	}
	vpa := create(dyn.Resource(vpas), "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: web}\nspec: {targetRef: {name: web}}")
	checkpoint := create(dyn.Resource(checkpoints), "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscalerCheckpoint\nmetadata: {name: web}\nspec: {vpaObjectName: web}")
	create(dyn.Resource(scaled), `
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: web}
spec: {scaleTargetRef: {name: web}, triggers: [{type: prometheus, metadata: {query: up, serverAddress: "http://u:s3cr3t@prometheus/x", customHeaders: "Authorization=s3cr3t"}}]}
`)
	path := filepath.Join(t.TempDir(), "autoscalers.db")
	rec := record(t, cfg, Options{Path: path})
	for i := range 3 {
		for resource, o := range map[dynamic.ResourceInterface]*unstructured.Unstructured{dyn.Resource(vpas).Namespace("default"): vpa, dyn.Resource(checkpoints).Namespace("default"): checkpoint} {
			o.Object["status"] = map[string]any{"version": fmt.Sprint(i), "recommendation": map[string]any{"containerRecommendations": []any{map[string]any{
				"containerName": "web", "target": map[string]any{"cpu": fmt.Sprint(i)}}}}}
			updated := must[*unstructured.Unstructured](t)(resource.Update(t.Context(), o, metav1.UpdateOptions{}))
			o.SetResourceVersion(updated.GetResourceVersion())
		}
	}
	rec.flush()
	rec.end()
	stats, err := open(t, path).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]int64{}
	for _, k := range stats.Kinds {
		if strings.Contains(k.Kind, ".") {
			versions[k.Kind] = k.Versions
		}
	}
	want := map[string]int64{"VerticalPodAutoscaler.autoscaling.k8s.io": 4, "VerticalPodAutoscalerCheckpoint.autoscaling.k8s.io": 1, "ScaledObject.keda.sh": 1}
	delete(versions, "MachineDeployment.machine.sapcloud.io")
	delete(versions, "MachineSet.machine.sapcloud.io")
	if diff := cmp.Diff(want, versions); diff != "" {
		t.Errorf("versions of what scales workloads (-want +got):\n%s", diff)
	}
	if strings.Contains(string(must[[]byte](t)(os.ReadFile(path))), "s3cr3t") {
		t.Error("a secret of a trigger is in the file")
	}
}

// TestCheckpointsOncePerHour: of what a recommender writes with every loop, a version an hour; and what it was when it was deleted.
func TestCheckpointsOncePerHour(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	var kind target
	for _, c := range customTargets {
		if c.every > 0 {
			kind = c
		}
	}
	if kind.kind != "VerticalPodAutoscalerCheckpoint.autoscaling.k8s.io" || kind.plane != dataPlane {
		t.Fatalf("%q is recorded from time to time", kind.kind)
	}
	w := newWatched(&Recorder{o: Options{Clock: clock}}, kind)
	var got []string
	emit := func(it item) error {
		got = append(got, fmt.Sprint(it.entry.Change.Op, " ", it.entry.Change.Object.GetResourceVersion()))
		return nil
	}
	see := func(version int) scalehist.Object {
		o := parse(t, "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscalerCheckpoint\nmetadata: {name: web, namespace: n, uid: u}")
		o.SetResourceVersion(fmt.Sprint(version))
		return o
	}
	for minute := range 121 {
		if err := w.put(see(minute+1), false, emit); err != nil {
			t.Fatal(err)
		}
		clock.Step(time.Minute)
	}
	if err := w.gone(see(200), emit); err != nil {
		t.Fatal(err)
	}
	if err := w.put(see(201), false, emit); err != nil { // of another life
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"add 1", "update 61", "update 121", "delete 200", "add 201"}, got); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	for _, k := range slices.Concat(objectlog.AutoscalingKinds(), objectlog.WorkloadKinds()) {
		if !slices.Contains(Kinds(), k) {
			t.Errorf("%s is not recorded", k)
		}
	}
}
