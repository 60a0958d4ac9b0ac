package expect_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/expect"
	"github.com/scalehist/scalehist/report"
)

// scaled is a replay with a horizontal autoscaler: web has 16 replicas, 8 from +8m30s on, 22 from +23m45s on, 3 in the end.
func scaled(t *testing.T) *scalehist.ReplayReport {
	t.Helper()
	r, err := report.Read(filepath.Join("..", "..", "report", "testdata", "explain", "hpa60.json"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func count(c expect.Count) *expect.Count { return &c }

func TestReplicasMatch(t *testing.T) {
	web := func(w expect.Replicas) types.GomegaMatcher {
		return expect.HaveReplicas(map[string]expect.Replicas{"web": w})
	}
	minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		want    bool
		// message is what a failure says.
		message []string
	}{
		"all": {web(expect.Replicas{Final: count(expect.Exactly(3)), Peak: count(expect.AtMost(22)), Ready: count(expect.Exactly(3)), ScaledUp: count(expect.Exactly(14)),
			ScaledDown: count(expect.AtLeast(27)), Controller: "hpa"}), true, nil},
		"by its whole name": {expect.HaveReplicas(map[string]expect.Replicas{"ReplicaSet/default/web": {Final: count(expect.Exactly(3))}}), true, nil},
		"nothing":           {web(expect.Replicas{}), true, nil},
		"peak": {web(expect.Replicas{Final: count(expect.Exactly(3)), Peak: count(expect.AtMost(20))}), false,
			[]string{`scenario "full-day": replicas differ`, "✗ ReplicaSet/default/web peak 22 <= 20 +2", " ReplicaSet/default/web final 3 3 =", "last decision about it: +33m15s hpa ReplicaSet/default/web 6->3"}},
		"final":       {web(expect.Replicas{Final: count(expect.Exactly(4))}), false, []string{"-1"}},
		"ready":       {web(expect.Replicas{Ready: count(expect.AtLeast(4))}), false, []string{"ready at the end 3 >= 4 -1"}},
		"scaled up":   {web(expect.Replicas{ScaledUp: count(expect.Exactly(13))}), false, []string{"scaled up 14 13 +1"}},
		"scaled down": {web(expect.Replicas{ScaledDown: count(expect.Exactly(13))}), false, []string{"scaled down 27 13 +14"}},
		"controller":  {expect.HaveReplicas(map[string]expect.Replicas{"db": {Controller: "hpa"}}), false, []string{"db set by nobody hpa"}},

		"first scale-up":  {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, Controller: "hpa", Replicas: count(expect.Exactly(10)), Timed: true, From: minutes(15), To: minutes(16)}), true, nil},
		"last scale-up":   {expect.Decide(expect.Decided{Which: expect.LastScaleUp, Workload: "web", Replicas: count(expect.Exactly(22))}), true, nil},
		"last scale-down": {expect.Decide(expect.Decided{Which: expect.LastScaleDown, Workload: "web", Replicas: count(expect.Exactly(3)), Because: "All metrics below target"}), true, nil},
		"some":            {expect.Decide(expect.Decided{Controller: "hpa", Because: "ScaleDownStabilized: 3 -> 18"}), true, nil},
		"some at a time":  {expect.Decide(expect.Decided{Controller: "hpa", Timed: true, From: minutes(20), To: minutes(20), Replicas: count(expect.Exactly(16))}), true, nil},
		"other replicas": {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, Workload: "web", Replicas: count(expect.AtLeast(12)), Because: "memory"}), false,
			[]string{"first scale-up about ReplicaSet/default/web is not as wanted", "✗ it set 10 replicas, want >= 12", `it does not say "memory"`, "the decision: +15m30s hpa ReplicaSet/default/web 8->10", "69% of 60%"}},
		"another time": {expect.Decide(expect.Decided{Which: expect.FirstScaleDown, Controller: "hpa", Timed: true, From: minutes(1), To: minutes(2)}), false, []string{"it was at +8m30s, want +1m0s to +2m0s"}},
		"nobody decided": {expect.Decide(expect.Decided{Controller: "hpa", Timed: true, From: minutes(1), To: minutes(1)}), false,
			[]string{"there is no decision like that: a decision of hpa at +1m0s", "there is +8m30s hpa ReplicaSet/default/web 16->8"}},
		"another controller": {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, Controller: "keda"}), false, []string{"no decision like that: first scale-up of keda"}},
		"another workload":   {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, Workload: "db"}), false, []string{"no decision like that: first scale-up about ReplicaSet/default/db"}},
		"of nodes as before": {expect.Decide(expect.Decided{Which: expect.FirstScaleUp, NodeGroup: "batch"}), true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.matcher.Match(scaled(t))
			if err != nil || got != tc.want {
				t.Fatalf("matched %t, %v; want %t", got, err, tc.want)
			}
			message := tc.matcher.NegatedFailureMessage
			if !got {
				message = tc.matcher.FailureMessage
			}
			said := strings.Join(strings.Fields(message(nil)), " ") // tables are as wide as what is in them
			if !strings.Contains(said, `scenario "full-day"`) {
				t.Errorf("message:\n%s", said)
			}
			for _, want := range tc.message {
				if !strings.Contains(said, want) {
					t.Errorf("the message lacks %q:\n%s", want, said)
				}
			}
		})
	}
}

// resizedWeb is scaled with a vertical autoscaler: web's container asks for 900m at first, for 1200m at most, for 250m and 400Mi at the end.
func resizedWeb(t *testing.T) *scalehist.ReplayReport {
	t.Helper()
	r := scaled(t)
	for i := range r.Workloads {
		if w := &r.Workloads[i]; w.Name == "web" {
			w.SizedBy, w.Evicted, w.Resized, w.OOMKills = "vpa", 16, 2, make([]scalehist.OOMKill, 3)
			w.Containers = []scalehist.ContainerRequests{{Name: "app", Requests: []scalehist.RequestsAt{{CPU: 0.9, Memory: 2 << 30}, {Offset: 5, CPU: 1.2}, {Offset: 9, CPU: 0.25, Memory: 400 << 20}}}}
			w.Work = []scalehist.WorkResult{{Metric: "cpu", Requested: 200, Slack: 50}}
		}
	}
	return r
}

func TestRequestsMatch(t *testing.T) {
	asks := func(cpu, memory string) expect.Requests {
		out := map[corev1.ResourceName]expect.Amount{}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			amount, err := expect.ParseAmount(text)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = amount
		}
		return expect.Requests{"app": out}
	}
	for name, tc := range map[string]struct {
		want    expect.Replicas
		matches bool
		message string
	}{
		"all": {expect.Replicas{SizedBy: "vpa", Evicted: count(expect.Exactly(16)), Resized: count(expect.AtMost(2)), OOMKills: count(expect.Exactly(3)),
			Requests: asks("250m", "<= 400Mi"), PeakRequests: asks(">= 1", "2Gi..3Gi"), Slack: map[corev1.ResourceName]string{"cpu": "<= 25%"}}, true, "requests set by vpa vpa"},
		"cpu at the end":    {expect.Replicas{Requests: asks("251m", "any")}, false, "✗ ReplicaSet/default/web cpu of app at the end 250m 251m"},
		"memory at the end": {expect.Replicas{Requests: asks("any", "1Mi..399Mi")}, false, "✗ ReplicaSet/default/web memory of app at the end 400Mi 1Mi..399Mi"},
		"at most":           {expect.Replicas{PeakRequests: asks("<= 1", "any")}, false, "✗ ReplicaSet/default/web cpu of app at most 1200m <= 1"},
		"slack":             {expect.Replicas{Slack: map[corev1.ResourceName]string{"cpu": "<= 24.9%"}}, false, "✗ ReplicaSet/default/web cpu not used 25 % <= 24.9%"},
		"evicted":           {expect.Replicas{Evicted: count(expect.AtMost(15))}, false, "replicas and requests differ"},
		"resized":           {expect.Replicas{Resized: count(expect.Exactly(1))}, false, "resized 2 1 +1"},
		"out of memory":     {expect.Replicas{OOMKills: count(expect.Exactly(0))}, false, "out of memory 3 0 +3"},
		"by nobody":         {expect.Replicas{SizedBy: "rules"}, false, "requests set by vpa rules"},
	} {
		m := expect.HaveReplicas(map[string]expect.Replicas{"web": tc.want})
		got, err := m.Match(resizedWeb(t))
		if err != nil || got != tc.matches {
			t.Errorf("%s: matched %t, %v; want %t", name, got, err, tc.matches)
			continue
		}
		message := m.NegatedFailureMessage
		if !got {
			message = m.FailureMessage
		}
		if said := strings.Join(strings.Fields(message(nil)), " "); !strings.Contains(said, tc.message) {
			t.Errorf("%s: the message lacks %q:\n%s", name, tc.message, said)
		}
	}
	for name, tc := range map[string]struct {
		want  expect.Replicas
		named string
		err   string
	}{
		"no such container": {expect.Replicas{Requests: expect.Requests{"ap": {}}}, "web", `ReplicaSet/default/web has no container "ap": it has app; did you mean "app"?`},
		"no requests":       {expect.Replicas{PeakRequests: expect.Requests{"app": {}}}, "db", "requests of ReplicaSet/default/db are not in the report"},
		"no usage":          {expect.Replicas{Slack: map[corev1.ResourceName]string{"memory": "<= 3%"}}, "web", "nobody knows what it uses of memory"},
		"no limit":          {expect.Replicas{Slack: map[corev1.ResourceName]string{"cpu": "little"}}, "web", "slack: slack.usage.relative.cpu"},
	} {
		if _, err := expect.HaveReplicas(map[string]expect.Replicas{tc.named: tc.want}).Match(resizedWeb(t)); err == nil || !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: error %v, want %q", name, err, tc.err)
		}
	}
}

func TestAmounts(t *testing.T) {
	for text, want := range map[string]string{"300m": "", "<= 1Gi": "", ">= 0": "", "200m..300m": "", "any": "", " 2 .. 1 ": "2 is more than 1", "-1": "is no amount", "anny": `did you mean "any"?`, "<= some": "is no amount", "1..": "is no amount"} {
		a, err := expect.ParseAmount(text)
		switch {
		case want == "" && (err != nil || a.String() != text):
			t.Errorf("%q: %s, %v", text, a, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestReplicasOfUnknownWorkloads(t *testing.T) {
	without := sample()
	for name, tc := range map[string]struct {
		matcher types.GomegaMatcher
		report  *scalehist.ReplayReport
		want    string
	}{
		"unknown":       {expect.HaveReplicas(map[string]expect.Replicas{"wep": {}}), scaled(t), `unknown workload "wep": full-day has ReplicaSet/default/db, ReplicaSet/default/web`},
		"none":          {expect.HaveReplicas(map[string]expect.Replicas{"web": {}}), without, "was replayed without a controller of workloads"},
		"of a decision": {expect.Decide(expect.Decided{Workload: "wep"}), scaled(t), `unknown workload "wep"`},
	} {
		if _, err := tc.matcher.Match(tc.report); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", name, err, tc.want)
		}
	}
}

// TestLookIsAtTheControllersDecision: the page opens at the decision that a failure is about.
func TestLookIsAtTheControllersDecision(t *testing.T) {
	r := scaled(t)
	r.Run = &scalehist.RunInfo{Artifacts: "gen/web"}
	last := r.WorkloadDecisions[len(r.WorkloadDecisions)-1]
	last.At, last.Scales = last.At.Add(time.Minute), []scalehist.WorkloadScale{{Workload: last.Scales[0].Workload, From: 3, To: 3}}
	r.WorkloadDecisions = append(r.WorkloadDecisions, last) // it changed nothing
	m := expect.HaveReplicas(map[string]expect.Replicas{"web": {Final: count(expect.Exactly(4))}})
	if ok, err := m.Match(r); ok || err != nil {
		t.Fatal(ok, err)
	}
	if got := m.FailureMessage(nil); !strings.Contains(got, "look: gen/web/report.html#t=+33m15s&by=hpa") {
		t.Errorf("message:\n%s", got)
	}
}
