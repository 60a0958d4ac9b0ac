package backtest

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	vpav1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/goldentest"
	"github.com/scalehist/scalehist/load/generate"
	"github.com/scalehist/scalehist/recommender/vertical"
	"github.com/scalehist/scalehist/recommender/vertical/trial"
	"github.com/scalehist/scalehist/recorder/history"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/transfer"
)

var update = flag.Bool("update", false, "write the golden files")

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// days is two services with days and nights, two pods each.
func days(t testing.TB) *generate.Load {
	t.Helper()
	s, err := generate.Parse("diurnal:noise=0.1")
	if err != nil {
		t.Fatal(err)
	}
	return &generate.Load{CPUShape: s, MemoryShape: s, CPU: generate.Range{Least: 100, Most: 900}, Memory: generate.Range{Least: 200 << 20, Most: 600 << 20}, From: start,
		Length: 12 * time.Hour, Step: 5 * time.Minute, Seed: 42, Workloads: 2, Replicas: 2, Request: [2]int64{500, 512 << 20}, Limit: [2]int64{1000, 1 << 30}, Usage: true}
}

// recorded is a history of a load, with further lines.
func recorded(t testing.TB, l *generate.Load, more ...objectlog.Line) *history.DB {
	t.Helper()
	var lines []objectlog.Line
	if err := l.Lines(func(line objectlog.Line) error { lines = append(lines, line); return nil }); err != nil {
		t.Fatal(err)
	}
	lines = append(lines, more...)
	slices.SortStableFunc(lines, func(a, b objectlog.Line) int { return a.At.Compare(b.At) })
	var log bytes.Buffer
	w := objectlog.NewWriter(&log, false)
	for _, line := range lines {
		if err := w.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "days.db")
	if _, err := transfer.Import(t.Context(), &log, path, transfer.ImportOptions{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func read(t testing.TB, db *history.DB) ([]*trial.Workload, []string) {
	t.Helper()
	from, to := db.Span()
	w, notes, err := Read(t.Context(), db, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return w, notes
}

func options(jobs int) Options {
	return Options{Name: "days.db", From: start, To: start.Add(12 * time.Hour), Interval: time.Minute, Limits: trial.LimitsRecorded, Points: 50, Jobs: jobs}
}

func candidates(t testing.TB, names ...string) []Candidate {
	t.Helper()
	out := []Candidate{Recorded}
	for _, name := range names {
		c, err := Candidates(name, nil, vertical.UpdaterUpstream, nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c...)
	}
	return out
}

// TestRead: every value of the load comes back, the first too, under its workload, with requests and limits, the VPA and limit ranges.
func TestRead(t *testing.T) {
	l := days(t)
	vpa := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler",
		"metadata": map[string]any{"namespace": "generated", "name": "mine", "uid": "mine"},
		"spec": map[string]any{"targetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "load-2"},
			"updatePolicy": map[string]any{"updateMode": "Off"}}}}
	limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: "generated", Name: "limits", UID: "limits"},
		Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: vertical.Amount{CPUMilli: 700, MemoryBytes: vertical.Unset}.List()}}}}
	silent := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "generated", Name: "silent", UID: "silent"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	stray := objectlog.NewUsage("generated", "nobody", objectlog.UsageSpec{Container: "app", CPUMilli: 1, MemoryBytes: 1})
	db := recorded(t, l, objectlog.Line{At: start, Op: scalehist.OpAdd, Object: vpa}, objectlog.Line{At: start, Op: scalehist.OpAdd, Object: limits},
		objectlog.Line{At: start, Op: scalehist.OpAdd, Object: silent}, objectlog.Line{At: start.Add(time.Minute), Op: scalehist.OpAdd, Object: stray})
	got, notes := read(t, db)
	if diff := cmp.Diff([]string{"1 pod without usage: not in any number", "1 sample of pods or containers that were not recorded: not in any number"}, notes); diff != "" {
		t.Error(diff)
	}
	want := l.Pods()
	n := 0
	for i, w := range got {
		if w.String() != fmt.Sprintf("Deployment/generated/load-%d", i+1) || len(w.Pods) != 2 || len(w.LimitRanges) != 1 || (w.VPA != nil) != (i == 1) {
			t.Fatalf("%s with %d pods, limit ranges %v, VPA %v", w, len(w.Pods), w.LimitRanges, w.VPA)
		}
		for _, p := range w.Pods {
			c := p.Containers[0]
			if c.Requests != (vertical.Amount{CPUMilli: 500, MemoryBytes: 512 << 20}) || c.Limits != (vertical.Amount{CPUMilli: 1000, MemoryBytes: 1 << 30}) {
				t.Errorf("%+v, %+v", c.Requests, c.Limits)
			}
			at := slices.IndexFunc(want, func(g generate.Pod) bool { return g.PodName() == p.Name })
			for k, u := range c.Usage {
				if u.At != start.Add(time.Duration(k)*l.Step).UnixNano() || u.CPUMilli != want[at].CPU[k] || u.MemoryBytes != want[at].Memory[k] {
					t.Fatalf("%s, value %d: %+v", p.Name, k, u)
				}
				n++
			}
		}
	}
	if n != 4*144 {
		t.Errorf("%d values", n)
	}
	if slices.ContainsFunc(got, func(w *trial.Workload) bool { return len(w.Pods[0].Containers[0].Resizes) > 0 }) {
		t.Error("a resize that was not recorded")
	}
	// A VPA that is Off is tried as if it were on.
	if m := withMode(got[1], ""); *m.VPA.Spec.UpdatePolicy.UpdateMode != vpav1.UpdateModeRecreate || *got[1].VPA.Spec.UpdatePolicy.UpdateMode != vpav1.UpdateModeOff {
		t.Error("mode Off is not tried, or was changed in place")
	}
}

// TestReadResizes: a pod that was resized in place has the requests of each time, as its node gave them: a resize that waits has not happened.
func TestReadResizes(t *testing.T) {
	l := days(t)
	pod := func(asked, given string, phase corev1.PodPhase) *corev1.Pod {
		list := func(cpu string) corev1.ResourceRequirements {
			return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a", UID: "a"}, Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "app", Resources: list(asked)}}},
			Status: corev1.PodStatus{Phase: phase}}
		if given != "" {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Resources: new(list(given))}}
		}
		return p
	}
	at := func(hours int) time.Time { return start.Add(time.Duration(hours) * time.Hour) }
	usage := objectlog.NewUsage("shop", "a", objectlog.UsageSpec{Container: "app", CPUMilli: 300, MemoryBytes: 1})
	var lines []objectlog.Line
	for hour := 1; hour < 12; hour++ {
		lines = append(lines, objectlog.Line{At: at(hour), Op: scalehist.OpAdd, Object: usage})
	}
	lines = append([]objectlog.Line{{At: start, Op: scalehist.OpAdd, Object: pod("500m", "", corev1.PodPending)}, {At: at(1), Op: scalehist.OpUpdate, Object: pod("500m", "", corev1.PodRunning)},
		{At: at(2), Op: scalehist.OpUpdate, Object: pod("200m", "500m", corev1.PodRunning)}, {At: at(4), Op: scalehist.OpUpdate, Object: pod("200m", "", corev1.PodRunning)}}, lines...)
	workloads, _ := read(t, recorded(t, l, lines...))
	i := slices.IndexFunc(workloads, func(w *trial.Workload) bool { return w.Namespace == "shop" })
	cpu := func(v int64) vertical.Amount { return vertical.Amount{CPUMilli: v, MemoryBytes: vertical.Unset} }
	want := []trial.Resize{{At: at(4).UnixNano(), Requests: cpu(200), Limits: vertical.None}}
	if c := workloads[i].Pods[0].Containers[0]; len(workloads[i].Pods) != 1 || c.Requests != cpu(500) || !cmp.Equal(want, c.Resizes) {
		t.Errorf("%d pods, requests %+v, %s", len(workloads[i].Pods), c.Requests, cmp.Diff(want, c.Resizes))
	}
	r, err := Run(t.Context(), workloads[i:i+1], []Candidate{Recorded}, options(1))
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Candidates[0].Cluster; m.Resizes != 1 || m.CPU.Overrun == 0 || m.CPU.Slack == 0 {
		t.Errorf("%+v", m)
	}
}

// TestReport: the whole report of a small backtest, the same whatever runs at once.
func TestReport(t *testing.T) {
	db := recorded(t, days(t))
	workloads, _ := read(t, db)
	all := candidates(t, "vpa", "max-usage", "threshold")
	one, err := Run(t.Context(), workloads, all, options(1))
	if err != nil {
		t.Fatal(err)
	}
	goldentest.Text(t, filepath.Join("testdata", "report.txt"), one.Text(LevelCluster)+"\n"+one.Text(LevelContainer), *update)
	page := func(r *Report) string {
		var b, c bytes.Buffer
		if err := r.HTML(&b); err != nil {
			t.Fatal(err)
		}
		if err := r.CSV(&c); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return b.String() + c.String() + string(j)
	}
	again, err := Run(t.Context(), workloads, all, options(4))
	if err != nil {
		t.Fatal(err)
	}
	if page(one) != page(again) {
		t.Error("four trials at once give another report")
	}
}

// TestPage: the page has a chart of each container and candidate, and nothing of names is markup.
func TestPage(t *testing.T) {
	workloads, _ := read(t, recorded(t, days(t)))
	all := candidates(t, "vpa")
	all[1].Label = "<script>alert(1)</script>"
	r, err := Run(t.Context(), workloads, all, options(2))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(b.String(), "<svg"); got != 1+2*2 {
		t.Errorf("%d drawings", got)
	}
	if strings.Contains(b.String(), "<script") || !strings.Contains(b.String(), "&lt;script") || !strings.Contains(b.String(), "default-src 'none'") {
		t.Error("the page runs what a name says, or has no policy")
	}
	for _, class := range []string{`class="request"`, `class="target"`, `class="bound"`, `class="usage"`, `class="evict"`} {
		if !strings.Contains(b.String(), class) {
			t.Errorf("there is no %s", class)
		}
	}
}

// TestCSV: each row has each column, and the cluster is the sum of its containers.
func TestCSV(t *testing.T) {
	workloads, _ := read(t, recorded(t, days(t)))
	r, err := Run(t.Context(), workloads, candidates(t, "max-usage"), options(2))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.CSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 1+2*(1+2+2) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, c := range r.Candidates {
		slack := 0.0
		for _, w := range c.Workloads {
			slack += w.Containers[0].Measures.CPU.Slack
		}
		if d := slack - c.Cluster.CPU.Slack; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: containers have %v core-hours of slack, the cluster %v", c.Label, slack, c.Cluster.CPU.Slack)
		}
	}
}

// TestFront: of candidates that are worse in both there is none on the front, and equal ones share it.
func TestFront(t *testing.T) {
	made := func(label string, slack, throttled float64) Result {
		return Result{Label: label, Cluster: Measures{CPU: Share{RelativeSlack: slack}, Memory: Share{RelativeSlack: slack}, Throttled: throttled, Limited: 1}}
	}
	r := &Report{Candidates: []Result{made("a", 0.1, 0.5), made("b", 0.5, 0.1), made("worse than b", 0.5, 0.2), made("like a", 0.1, 0.5), made("worse than both", 0.6, 0.6)}}
	r.judge()
	var front []string
	for _, c := range r.Candidates {
		if c.Front {
			front = append(front, c.Label)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "like a"}, front); diff != "" || r.Front[1] != axisThrottled {
		t.Errorf("%s %v", diff, r.Front)
	}
	for i := range r.Candidates {
		r.Candidates[i].Cluster.Limited, r.Candidates[i].Cluster.Throttled = 0, 0
	}
	if r.judge(); r.Front[1] != axisOverrun || len(r.Notes) != 1 {
		t.Errorf("without limits: %v, %v", r.Front, r.Notes)
	}
}

// TestCandidates: a grid is all combinations of what the recommender takes.
func TestCandidates(t *testing.T) {
	got, err := Candidates("max-usage", nil, vertical.UpdaterNone, []Parameter{{"margin", []string{"0.1", "0.2"}}, {"target-cpu-percentile", []string{"0.9"}}, {"window", []string{"1h", "2h"}}})
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, c := range got {
		labels = append(labels, c.Label)
	}
	want := []string{"max-usage:margin=0.1,window=1h (none)", "max-usage:margin=0.1,window=2h (none)", "max-usage:margin=0.2,window=1h (none)", "max-usage:margin=0.2,window=2h (none)"}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Error(diff)
	}
	many := Parameter{Name: "margin"}
	for i := range 2000 {
		many.Values = append(many.Values, fmt.Sprint(i))
	}
	if _, err := Candidates("max-usage", nil, vertical.UpdaterNone, []Parameter{many}); err == nil {
		t.Error("2000 candidates were taken")
	}
}

// TestNothingToTry: a window without usage says so.
func TestNothingToTry(t *testing.T) {
	if _, err := Run(t.Context(), nil, candidates(t), options(1)); err == nil || !strings.Contains(err.Error(), "no usage") {
		t.Error(err)
	}
}

const krrJSON = `{"scans": [
 {"object": {"kind": "Deployment", "namespace": "generated", "name": "load-1", "container": "app"},
  "recommended": {"requests": {"cpu": {"value": 0.25, "severity": "OK"}, "memory": {"value": 1073741824.0, "severity": "OK"}},
                  "limits": {"cpu": {"value": null, "severity": "OK"}}}, "severity": "OK"},
 {"object": {"kind": "Deployment", "namespace": "generated", "name": "load-2", "container": "app"},
  "recommended": {"requests": {"cpu": {"value": "?"}, "memory": {"value": 100}}}}],
 "score": 10, "resources": ["cpu", "memory"]}`

const vpaList = `apiVersion: v1
kind: List
items:
- apiVersion: autoscaling.k8s.io/v1
  kind: VerticalPodAutoscaler
  metadata: {namespace: generated, name: one}
  spec: {targetRef: {kind: Deployment, name: load-1, apiVersion: apps/v1}}
  status:
    recommendation:
      containerRecommendations:
      - containerName: app
        target: {cpu: 250m, memory: 1Gi}
        lowerBound: {cpu: 1m}
`

const adviceCSV = "Namespace,workload,container,cpu,memory,who\ngenerated,load-1,app,250m,1Gi,me\ngenerated,load-2,app,,100,me\n"

// TestAdvice: the three forms, and what is wrong with others.
func TestAdvice(t *testing.T) {
	first := vertical.Amount{CPUMilli: 250, MemoryBytes: 1 << 30}
	second := vertical.Amount{CPUMilli: vertical.Unset, MemoryBytes: 100}
	for name, c := range map[string]struct {
		text string
		want Advice
	}{
		"krr": {krrJSON, Advice{{"Deployment", "generated", "load-1", "app"}: first, {"Deployment", "generated", "load-2", "app"}: second}},
		"VPA": {vpaList, Advice{{"Deployment", "generated", "load-1", "app"}: first}},
		"CSV": {adviceCSV, Advice{{"", "generated", "load-1", "app"}: first, {"", "generated", "load-2", "app"}: second}},
	} {
		got, err := ParseAdvice([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	for text, want := range map[string]string{
		"":              "is empty",
		"a,b\n1,2\n":    "no column \"namespace\"",
		`{"scans": 1}`:  "krr",
		`{"scans": []}`: "no recommendation",
		adviceCSV + "generated,load-1,app,1,1,x\n":                              "line 4: container app of generated/load-1 is there twice",
		strings.Replace(adviceCSV, "250m", "much", 1):                           "line 2: cpu",
		strings.Replace(krrJSON, "0.25", "-1", 1):                               "scan 1: cpu",
		strings.Replace(vpaList, "kind: VerticalPodAutoscaler", "kind: Pod", 1): "want VerticalPodAutoscaler",
	} {
		if _, err := ParseAdvice([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
}

// TestAdviceIsRolledOut: pods have what is advised from the first moment on, without an eviction.
func TestAdviceIsRolledOut(t *testing.T) {
	workloads, _ := read(t, recorded(t, days(t)))
	advice, err := ParseAdvice([]byte("namespace,workload,container,cpu,memory\ngenerated,load-1,app,250m,\nsomewhere,else,app,1,1\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), workloads, []Candidate{Recorded, {Label: "mine", Advice: advice}}, options(1))
	if err != nil {
		t.Fatal(err)
	}
	before, after := r.Candidates[0].Workloads, r.Candidates[1].Workloads
	if got := after[0].Measures.CPU.Requested / before[0].Measures.CPU.Requested; got != 0.5 {
		t.Errorf("requested %v of what was recorded", got)
	}
	if after[0].Measures.Memory.Requested != before[0].Measures.Memory.Requested || after[1].Measures.CPU.Requested != before[1].Measures.CPU.Requested {
		t.Error("what is not advised has changed")
	}
	if r.Candidates[1].Cluster.Evictions != 0 || after[0].Measures.Throttled <= before[0].Measures.Throttled {
		t.Errorf("%+v", after[0].Measures)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "mine: 1 of 2 recommendations") }) {
		t.Errorf("notes %q", r.Notes)
	}
}

// FuzzAdvice: no file panics, and what is read is no nonsense.
func FuzzAdvice(f *testing.F) {
	for _, seed := range []string{krrJSON, vpaList, adviceCSV, "---\n", "{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		advice, err := ParseAdvice(data)
		if err == nil && len(advice) == 0 {
			t.Error("nothing was read, and nothing was wrong")
		}
		for k, a := range advice {
			if a.CPUMilli < vertical.Unset || a.MemoryBytes < vertical.Unset || a == vertical.None {
				t.Errorf("%+v: %+v", k, a)
			}
		}
	})
}

// BenchmarkBacktest is 14 days of a sample a minute of 100 containers under the VPA, which recommends and updates every minute.
func BenchmarkBacktest(b *testing.B) {
	l := days(b)
	l.Length, l.Step, l.Workloads = 14*24*time.Hour, time.Minute, 50
	byName := map[string]*trial.Workload{}
	var workloads []*trial.Workload
	for _, p := range l.Pods() {
		name := fmt.Sprintf("load-%d", p.Workload)
		if byName[name] == nil {
			byName[name] = &trial.Workload{Kind: "Deployment", Namespace: "generated", Name: name}
			workloads = append(workloads, byName[name])
		}
		c := trial.Container{Name: "app", Requests: vertical.Amount{CPUMilli: 500, MemoryBytes: 512 << 20}, Limits: vertical.None}
		for i := range p.CPU {
			c.Usage = append(c.Usage, trial.Usage{At: start.Add(time.Duration(i) * time.Minute).UnixNano(), Amount: vertical.Amount{CPUMilli: p.CPU[i], MemoryBytes: p.Memory[i]}})
		}
		byName[name].Pods = append(byName[name].Pods, trial.Pod{Name: p.PodName(), From: start, Containers: []trial.Container{c}})
	}
	o := options(2)
	o.To, o.Points = start.Add(l.Length), 0
	all := candidates(b, "vpa")[1:]
	for b.Loop() {
		if _, err := Run(b.Context(), workloads, all, o); err != nil {
			b.Fatal(err)
		}
	}
}
