package scenario

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
)

// TestWorkloadExpectations: what a file expects of workloads and of controllers is read with its places, and judged.
func TestWorkloadExpectations(t *testing.T) {
	r, err := report.Read(filepath.Join("..", "..", "report", "testdata", "explain", "hpa60.json"))
	if err != nil {
		t.Fatal(err)
	}
	const file = `name: scaled
history: recording.db
horizontal: hpa
expect:
  workloads:
    ReplicaSet/default/web: {final: 3, peak: 20..22, ready: ">= 3", scaledUp: any, scaledDown: 27, controller: hpa}
  decisions:
  - {first: scale-up, controller: hpa, replicas: 10, at: +15m..+16m}
  - {last: scale-down, workload: web, replicas: <= 3, because: below target}
  - {first: scale-up, nodeGroup: batch}
  metrics:
    replicas.peak: <= 22
    work.unserved: <= 0.5%
`
	verdicts := func(text string) []string {
		t.Helper()
		all, err := Load(written(t, text), someEngines{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, v := range all[0].Judge(r, Judging{}) {
			state := "holds"
			if v.Message != "" {
				state = "differs"
			}
			if v.Broken {
				state = v.Message
			}
			out = append(out, fmt.Sprintf("%d:%d %s %s", v.Line, v.Column, v.What, state))
		}
		return out
	}
	want := []string{"5:3 workloads holds", "8:5 decisions[0] holds", "9:5 decisions[1] holds", "10:5 decisions[2] holds", "12:5 metrics.replicas.peak holds", "13:5 metrics.work.unserved holds"}
	if diff := cmp.Diff(want, verdicts(file)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	for was, is := range map[string]string{
		"final: 3": "final: 4", "peak: 20..22": "peak: 23", `ready: ">= 3"`: "ready: 2", "scaledUp: any": "scaledUp: 1", "scaledDown: 27": "scaledDown: 1", "controller: hpa}": "controller: keda}",
		"replicas: 10": "replicas: 11", "workload: web,": "workload: db,", "<= 22": "<= 21",
	} {
		if got := verdicts(strings.Replace(file, was, is, 1)); !slices.ContainsFunc(got, func(v string) bool { return strings.HasSuffix(v, "differs") }) {
			t.Errorf("%s instead of %s: %v", is, was, got)
		}
	}
}

// TestRequestExpectations: what a file expects of requests is read with its places, and judged.
func TestRequestExpectations(t *testing.T) {
	r, err := report.Read(filepath.Join("..", "..", "report", "testdata", "explain", "hpa60.json"))
	if err != nil {
		t.Fatal(err)
	}
	w := &r.Workloads[slices.IndexFunc(r.Workloads, func(w scalehist.WorkloadResult) bool { return w.Name == "web" })]
	w.SizedBy, w.Evicted, w.Resized, w.OOMKills = "vpa", 16, 2, make([]scalehist.OOMKill, 3)
	w.Containers = []scalehist.ContainerRequests{{Name: "app", Requests: []scalehist.RequestsAt{{CPU: 0.9, Memory: 2 << 30}, {Offset: 9, CPU: 0.25, Memory: 400 << 20}}}}
	w.Work = []scalehist.WorkResult{{Metric: "cpu", Requested: 200, Slack: 50}, {Metric: "memory", Requested: 200, Slack: 20}}
	const file = `name: sized
history: recording.db
vertical: vpa
expect:
  workloads:
    web:
      sizedBy: vpa
      requests: {app: {cpu: 200m..300m, memory: 400Mi}}
      peakRequests: {app: {cpu: 0.9}}
      slack: {cpu: <= 30%, memory: <= 12%}
      evicted: <= 16
      resized: 2
      oomKills: 3
`
	judged := func(text string) Verdict {
		t.Helper()
		all, err := Load(written(t, text), someEngines{})
		if err != nil {
			t.Fatal(err)
		}
		return all[0].Judge(r, Judging{})[0]
	}
	if v := judged(file); v.Message != "" || v.Line != 5 {
		t.Errorf("%+v", v)
	}
	for was, is := range map[string]string{
		"sizedBy: vpa": "sizedBy: rules", "200m..300m": "<= 200m", "400Mi": "401Mi", "cpu: 0.9": "cpu: 1", "<= 30%": "<= 24%", "<= 12%": "<= 9%", "<= 16": "<= 15", "resized: 2": "resized: 1", "oomKills: 3": "oomKills: 0",
	} {
		if v := judged(strings.Replace(file, was, is, 1)); v.Message == "" || v.Broken {
			t.Errorf("%s instead of %s: %+v", is, was, v)
		}
	}
	if v := judged(strings.Replace(file, "requests: {app", "requests: {ap", 1)); !v.Broken || !strings.Contains(v.Message, `has no container "ap"`) {
		t.Errorf("%+v", v)
	}
}

// TestWorkloadProblems: what cannot be judged is said with its place, before anything is replayed.
func TestWorkloadProblems(t *testing.T) {
	const head = "name: x\nhistory: recording.db\n"
	for _, tt := range []struct{ text, want string }{
		{"expect:\n  workloads: {web: {final: 3}}\n", "4:3: expect.workloads goes with vertical, horizontal or load: without them a report has no workloads"},
		{"horizontal: recorded\nexpect:\n  workloads: {web: {final: 3}}\n", "5:3: expect.workloads goes with vertical, horizontal or load: without them a report has no workloads"},
		{"horizontal: hpa\nexpect:\n  workloads:\n    web: {}\n", "6:5: expect.workloads.web is empty: what of its replicas?"},
		{"horizontal: hpa\nexpect:\n  workloads:\n    web: {finel: 3}\n", `6:11: unknown key "finel" in expect.workloads.web; did you mean "final"?`},
		{"horizontal: hpa\nexpect:\n  workloads:\n    web: {final: many}\n", `6:18: expect.workloads.web.final: "many" is no count: want 3, ">= 2", "<= 4", "> 1", "< 5", 2..4 or any; did you mean "any"?`},
		{"vertical: vpa\nexpect:\n  workloads:\n    web: {requests: {app: {}}}\n", "6:22: expect.workloads.web.requests.app is empty: name cpu or memory, or both"},
		{"vertical: vpa\nexpect:\n  workloads:\n    web: {requests: {app: {cpu: much}}}\n", `6:33: expect.workloads.web.requests.app.cpu: "much" is no amount: want 300m, ">= 200m", "<= 1Gi", 200m..300m or any`},
		{"vertical: vpa\nexpect:\n  workloads:\n    web: {requests: {app: {gpu: 1}}}\n", `6:28: unknown key "gpu" in expect.workloads.web.requests.app; did you mean "cpu"?`},
		{"vertical: vpa\nexpect:\n  workloads:\n    web: {slack: {cpu: little}}\n", `6:24: expect.workloads.web.slack.cpu: "little" is no limit: want +1pp, +10% or <= 60%`},
		{"horizontal: hpa\nexpect:\n  decisions:\n  - {first: scale-up, controller: hpa, nodes: 3}\n", "6:40: expect.decisions[0].nodes: a controller of workloads has none: leave out controller and workload, or this"},
		{"horizontal: hpa\nexpect:\n  decisions:\n  - {first: scale-up, workload: web, nodeGroup: std, loop: 3}\n",
			"6:38: expect.decisions[0].nodeGroup: a controller of workloads has none: leave out controller and workload, or this"},
		{"horizontal: hpa\nexpect:\n  decisions:\n  - {first: scale-up, replicas: 3}\n", "6:23: expect.decisions[0].replicas: a node autoscaler sets none: name a controller or a workload"},
		{"expect:\n  decisions:\n  - {first: scale-up, controller: hpa}\n", "5:5: expect.decisions[0]: no controller of workloads runs: name one (vertical, horizontal)"},
	} {
		if got := problems(t, written(t, head+tt.text)); !slices.Contains(got, tt.want) || strings.Contains(tt.want, "finel") && len(got) != 1 {
			t.Errorf("%q:\n%s\nwant %s", tt.text, strings.Join(got, "\n"), tt.want)
		}
	}
}
