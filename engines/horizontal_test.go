package engines

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/load"
	"github.com/scalehist/scalehist/recommender/horizontal/hpa"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

// webSet is the workload of the day's fixture that grows in the morning: its pods ask for 900m each.
var webSet = scalehist.WorkloadRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "default", Name: "web"}

// hpaObject is an autoscaler of webSet with the metrics that are given.
func hpaObject(t *testing.T, name, metrics string) scalehist.Object {
	t.Helper()
	objects, err := ParseObjects([]byte(`{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "` + name + `"},
		"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web"}, "minReplicas": 1, "maxReplicas": 30, "metrics": [` + metrics + `]}}`))
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

const cpuAt60 = `{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}`

// day is the fixture of a day, from before its morning.
func playDay(t *testing.T, opts ...harness.Option) (*scalehist.ReplayReport, error) {
	t.Helper()
	opts = append([]harness.Option{
		harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(HPA(hpa.Defaults())),
	}, opts...)
	return harness.Play(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"), nil, opts...)
}

// steps is a load of so many units from offsets on.
func steps(metric string, sharing load.Sharing, serves float64, points map[time.Duration]float64) load.Source {
	return func(start time.Time) ([]load.Series, error) {
		s := load.Series{Workload: webSet, Metric: metric, Sharing: sharing, Serves: serves}
		for at, value := range points {
			s.Points = append(s.Points, load.Point{At: start.Add(at), Value: value})
		}
		slices.SortFunc(s.Points, func(a, b load.Point) int { return a.At.Compare(b.At) })
		return []load.Series{s}, load.Check([]load.Series{s})
	}
}

func workloadOf(t *testing.T, r *scalehist.ReplayReport, ref scalehist.WorkloadRef) scalehist.WorkloadResult {
	t.Helper()
	i := slices.IndexFunc(r.Workloads, func(w scalehist.WorkloadResult) bool { return w.WorkloadRef == ref })
	if i < 0 {
		t.Fatalf("the report has no %s, but %d others", ref, len(r.Workloads))
	}
	return r.Workloads[i]
}

// wantedAt is how many replicas were wanted at an offset.
func wantedAt(w scalehist.WorkloadResult, at time.Duration) (wanted int32) {
	for _, r := range w.Replicas {
		if time.Duration(r.Offset) <= at {
			wanted = r.Wanted
		}
	}
	return wanted
}

// TestHPAReplicas: with 0.9 cores asked for by each replica and a target of 60 %, a load of L cores wants L/0.54 replicas, rounded up, once the
// windows of five minutes are over in which a target is not made smaller.
func TestHPAReplicas(t *testing.T) {
	r, err := playDay(t, harness.WithObjects(hpaObject(t, "web", cpuAt60)), harness.WithLoad(steps(load.CPU, load.Divided, 0, map[time.Duration]float64{
		8 * time.Hour: 3, 9 * time.Hour: 6, 10 * time.Hour: 9, 11 * time.Hour: 1.3, 13 * time.Hour: 0.1,
	})))
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, r, webSet)
	got := map[string]int32{}
	for _, at := range []time.Duration{8*time.Hour + 30*time.Minute, 9*time.Hour + 30*time.Minute, 10*time.Hour + 30*time.Minute, 11*time.Hour + 4*time.Minute, 12 * time.Hour, 14 * time.Hour} {
		got[at.String()] = wantedAt(w, at)
	}
	want := map[string]int32{"8h30m0s": 6, "9h30m0s": 12, "10h30m0s": 17, "11h4m0s": 17, "12h0m0s": 3, "14h0m0s": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replicas wanted (-want +got):\n%s", diff)
	}
	if w.Controller != "hpa" || len(r.Controllers) != 1 {
		t.Errorf("controllers %v, of the workload %q; want hpa", r.Controllers, w.Controller)
	}
	if len(w.Work) != 1 || w.Work[0].In != 3600*(3+6+9+2*1.3+11*0.1) || w.Work[0].Lost != 0 {
		t.Errorf("work: %+v", w.Work)
	}
	if r.ScaledUpNodeGroups["std"]+r.ScaledUpNodeGroups["batch"] == 0 {
		t.Error("no node group followed the pods")
	}
	for _, d := range r.WorkloadDecisions {
		if d.Acted() && d.Scales[0].Reason == "" {
			t.Errorf("at %s %s gives no reason", d.At, d.Summary())
		}
	}
}

// TestExternalReplicas: a value V of which each replica is to have 10 wants V/10 replicas, rounded up, unless that is within a tenth of what there is.
func TestExternalReplicas(t *testing.T) {
	r, err := playDay(t, harness.WithObjects(hpaObject(t, "web", average("10"))), harness.With(func(s *harness.Settings) { s.For = 12 * time.Hour }),
		harness.WithLoad(steps("messages", load.External, 0, map[time.Duration]float64{8 * time.Hour: 41, 9 * time.Hour: 99, 10 * time.Hour: 105, 11 * time.Hour: 1})))
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, r, webSet)
	for at, want := range map[time.Duration]int32{8*time.Hour + 30*time.Minute: 5, 9*time.Hour + 30*time.Minute: 10, 10*time.Hour + 30*time.Minute: 10, 12 * time.Hour: 1} {
		if got := wantedAt(w, at); got != want {
			t.Errorf("after %s: %d replicas, want %d", at, got, want)
		}
	}
}

func average(perReplica string) string {
	return `{"type": "External", "external": {"metric": {"name": "messages"}, "target": {"type": "AverageValue", "averageValue": "` + perReplica + `"}}}`
}

// TestQueueScales: twice as many messages of half the size, with twice as many for each replica, are the same work: replicas come and are deleted at
// the same instants, and a message waits as long.
func TestQueueScales(t *testing.T) {
	play := func(times float64, perReplica string) scalehist.WorkloadResult {
		r, err := playDay(t, harness.WithObjects(hpaObject(t, "web", average(perReplica))), harness.With(func(s *harness.Settings) { s.For = 9 * time.Hour }),
			harness.WithLoad(steps("messages", load.Queued, 2*times, map[time.Duration]float64{0: 0, 8*time.Hour + 10*time.Minute: 11 * times, 8*time.Hour + 40*time.Minute: 23 * times})))
		if err != nil {
			t.Fatal(err)
		}
		return workloadOf(t, r, webSet)
	}
	one, two := play(1, "30"), play(2, "60")
	if diff := cmp.Diff(one.Replicas, two.Replicas); diff != "" {
		t.Errorf("replicas of twice the messages (-once +twice):\n%s", diff)
	}
	if one.ScaledUp < 6 || one.Work[0].Waiting == 0 {
		t.Errorf("the queue asks for little: %d replicas more, %+v", one.ScaledUp, one.Work)
	}
	if a, b := one.Work[0].Waiting, two.Work[0].Waiting/2; math.Abs(a-b) > 1e-6 {
		t.Errorf("%g messages wait, and half of twice as many are %g", a, b)
	}
}

// TestHPAErrors: what cannot be done, or means nothing, is said once.
func TestHPAErrors(t *testing.T) {
	idle := steps(load.CPU, load.Divided, 0, map[time.Duration]float64{0: 1})
	for name, tt := range map[string]struct {
		opts          []harness.Option
		want, warning string
	}{
		"no autoscaler": {opts: []harness.Option{harness.WithLoad(idle)}, want: "there is no HorizontalPodAutoscaler at the start"},
		"two on one workload": {
			opts: []harness.Option{harness.WithLoad(idle), harness.WithObjects(hpaObject(t, "a", cpuAt60), hpaObject(t, "b", cpuAt60))},
			want: "HorizontalPodAutoscaler/default/a and HorizontalPodAutoscaler/default/b scale the same workload, ReplicaSet/default/web",
		},
		"no load": {
			opts:    []harness.Option{harness.WithObjects(hpaObject(t, "web", cpuAt60))},
			warning: "HorizontalPodAutoscaler/default/web: there is no load of ReplicaSet/default/web",
		},
		"no such target": {
			opts:    []harness.Option{harness.WithLoad(idle), harness.WithObjects(hpaObject(t, "web", cpuAt60)), harness.With(func(s *harness.Settings) { s.For = time.Minute })},
			warning: "its target ReplicaSet/default/web is not there when it comes; there are ReplicaSet/default/db",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := playDay(t, tt.opts...)
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Fatalf("error %v, want %q", err, tt.want)
			case tt.warning != "" && !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, tt.warning) }):
				t.Errorf("warnings %q, want one with %q", r.Warnings, tt.warning)
			}
		})
	}
}

// TestParseObjects: what configures nothing is refused, with the line of the file.
func TestParseObjects(t *testing.T) {
	const head = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
	for text, want := range map[string]string{
		"":                                "there are no objects",
		"# nothing\n---\n":                "there are no objects",
		"apiVersion: v1\nkind: Pod\n":     "Pod of v1 configures no controller here",
		"metadata: {name: a}\n":           "kind is not set",
		head + "metadata: {}\nspec: {}\n": "has no metadata.name",
		"---\n" + head + "metadata: {name: a}\nspec: {maxReplica: 3}\n":                                                         `line 5: spec: unknown key "maxReplica"`,
		head + "metadata: {name: a}\nspec: {maxReplicas: 3}\n---\n" + head + "metadata: {name: b}\nspec:\n  maxReplicas: few\n": "line 10",
		head + "spec: [\n": "line",
	} {
		if _, err := ParseObjects([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
	two, err := ParseObjects([]byte(head + "metadata: {name: a}\n---\n" + head + "metadata: {name: b, namespace: shop}\n"))
	if err != nil || len(two) != 2 || two[0].GetNamespace() != "default" || two[1].GetNamespace() != "shop" {
		t.Errorf("two documents: %v, %v", two, err)
	}
}

// withLines is the day's history with lines of an object log added.
func withLines(t *testing.T, lines func(db *history.DB, start time.Time) []map[string]any) string {
	t.Helper()
	db, err := history.Open(t.Context(), filepath.Join("..", "fixtures", "full-day", "recording.db"))
	if err != nil {
		t.Fatal(err)
	}
	start, _ := db.Span()
	var log bytes.Buffer
	err = transfer.Export(t.Context(), db, &log, time.Time{}, time.Time{}, transfer.ExportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines(db, start) {
		line, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(append(line, '\n'))
	}
	path := filepath.Join(t.TempDir(), "recording.db")
	_, err = transfer.Import(t.Context(), &log, path, transfer.ImportOptions{Name: "with more"})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRecordedHPA: autoscalers that were recorded need no file: the one of the start is followed, and so is what changed of it later.
func TestRecordedHPA(t *testing.T) {
	path := withLines(t, func(_ *history.DB, start time.Time) (out []map[string]any) {
		for op, at := range map[scalehist.Op]time.Duration{scalehist.OpAdd: 0, scalehist.OpUpdate: 10 * time.Hour, scalehist.OpDelete: 12 * time.Hour} {
			object := hpaObject(t, "web", cpuAt60).(*autoscalingv2.HorizontalPodAutoscaler)
			object.UID = "hpa-web"
			if op == scalehist.OpUpdate {
				object.Spec.MaxReplicas = 4
			}
			out = append(out, map[string]any{"at": start.Add(at), "op": op, "object": object})
		}
		return out
	})
	r, err := harness.Play(t.Context(), path, nil, harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(HPA(hpa.Defaults())),
		harness.WithLoad(steps(load.CPU, load.Divided, 0, map[time.Duration]float64{8 * time.Hour: 5, 13 * time.Hour: 1})))
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, r, webSet)
	for at, want := range map[time.Duration]int32{9 * time.Hour: 10, 10*time.Hour + time.Minute: 4, 14 * time.Hour: 4} {
		if got := wantedAt(w, at); got != want {
			t.Errorf("after %s: %d replicas, want %d", at, got, want)
		}
	}
}

// TestRecordedUsage: without a given load, work is what the recorded pods used, whatever pods do it here: sixteen of them used 450m each, which is 13.3
// times 60 % of 900m.
func TestRecordedUsage(t *testing.T) {
	seen := map[time.Duration]int{}
	path := withLines(t, func(db *history.DB, start time.Time) (out []map[string]any) {
		for at := 8 * time.Hour; at < 12*time.Hour; at += time.Minute {
			pods, err := db.ObjectsAt(t.Context(), start.Add(at), "Pod")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range pods {
				if !strings.HasPrefix(p.GetName(), "web-") || p.(*corev1.Pod).Spec.NodeName == "" {
					continue
				}
				seen[at]++
				out = append(out, map[string]any{"at": start.Add(at), "op": "add", "object": map[string]any{
					"kind": "Usage", "apiVersion": v1alpha1.GroupVersion.String(), "metadata": map[string]any{"namespace": p.GetNamespace(), "name": p.GetName()},
					"spec": map[string]any{"container": p.(*corev1.Pod).Spec.Containers[0].Name, "cpuMilli": 450, "memoryBytes": 1 << 28},
				}})
			}
		}
		return out
	})
	r, err := harness.Play(t.Context(), path, nil, harness.WithAutoscaler(ClusterAutoscaler()), harness.OnControlPlane(harness.Memory), harness.WithController(HPA(hpa.Defaults())),
		harness.WithObjects(hpaObject(t, "web", cpuAt60)))
	if err != nil {
		t.Fatal(err)
	}
	w := workloadOf(t, r, webSet)
	if got := wantedAt(w, 11*time.Hour); seen[11*time.Hour] != 16 || got != 14 {
		t.Errorf("%d recorded pods used 450m each, and %d replicas are wanted; want 16 and 14", seen[11*time.Hour], got)
	}
	var in float64 // each minute's sample holds until the next, the last for five minutes
	for at, pods := range seen {
		stands := time.Minute
		if at == 12*time.Hour-time.Minute {
			stands = 5 * time.Minute
		}
		in += 0.45 * float64(pods) * stands.Seconds()
	}
	for _, work := range w.Work {
		if work.Metric == load.CPU && math.Abs(work.In-in) > 1 {
			t.Errorf("%g core-seconds came, want %g", work.In, in)
		}
	}
	if len(w.Work) == 0 {
		t.Error("no work came")
	}
}
