package html_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/report"
	"github.com/scalehist/scalehist/report/html"
)

var start = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// sample is a burst: one group grows by two for three pods, one of which is drained off its node later, one ends on its own.
func sample() *scalehist.ReplayReport {
	ready, again := at(60), at(120)
	size := map[string]string{"cpu": "2", "memory": "4Gi"}
	pod := map[string]string{"cpu": "500m", "memory": "1Gi"}
	gone := at(150)
	return &scalehist.ReplayReport{
		Version: scalehist.ReportVersion, Scenario: "burst </script><script>alert(1)</script>", Autoscaler: "virtualca", Playback: scalehist.PlaybackContinuous,
		StartTime: start, EndTime: at(180), BatchInterval: scalehist.Duration(10 * time.Second), Loops: 18,
		NodeGroups: []scalehist.NodeGroupResult{{Name: "std", MaxSize: 4, Final: 1, Peak: 2, ScaledUp: 2, ScaledDown: 1,
			Sizes: []scalehist.SizeAt{{}, {Offset: scalehist.Duration(20 * time.Second), Size: 2}, {Offset: scalehist.Duration(150 * time.Second), Size: 1}}}},
		ScaledUpNodes: []scalehist.ScaledNode{
			{Name: "std-0", NodeGroup: "std", RequestedAt: at(20), ReadyAt: ready, Offers: size},
			{Name: "std-1", NodeGroup: "std", RequestedAt: at(20), ReadyAt: ready, RemovedAt: &gone, Offers: size},
		},
		Decisions: []scalehist.Decision{
			{At: at(20), Loop: 2, Outcome: scalehist.ScaleUpSuccessful, UnschedulablePods: []string{"d/a", "d/b", "d/job"},
				Options:  []scalehist.Option{{NodeGroup: "std", NodeCount: 2, Pods: 3, Chosen: true, Reason: "the only option"}},
				Rejected: []scalehist.GroupReason{{NodeGroup: "gpu", Reason: "3 pods: <untolerated> & taint"}},
				ScaleUps: []scalehist.ScaleUp{{NodeGroup: "std", From: 0, To: 2, Max: 4}}},
			{At: at(120), Loop: 12, Outcome: scalehist.ScaleUpNotNeeded, Unneeded: []string{"std-1"}, Unremovable: []scalehist.NodeReason{{Node: "std-0", Reason: "NotUnderutilized"}},
				Deleting: []scalehist.NodeDeletion{{NodeGroup: "std", Node: "std-1", UnneededSince: at(70), Utilization: 0.25, Pods: []string{"d/b"}}}},
		},
		Batches: []scalehist.Batch{
			{At: at(20), Unschedulable: 3, DeployedPods: []scalehist.DeployedPod{
				{Namespace: "d", Name: "a", CreatedAt: at(16), ScheduledAt: &ready, NodeName: "std-0", Requests: pod},
				{Namespace: "d", Name: "b", CreatedAt: at(16), ScheduledAt: &again, NodeName: "std-0", Requests: pod},
				{Namespace: "d", Name: "job", CreatedAt: at(16), ScheduledAt: &ready, NodeName: "std-0", Requests: pod}}},
			{At: ready, NodesJoined: []string{"std-0", "std-1"}, Scheduled: 3, Placed: []scalehist.Placement{{Pod: "d/b", Node: "std-1"}}},
			{At: at(90), Ended: []string{"d/job"}},
			{At: again, Returned: []string{"d/b"}, Scheduled: 1},
			{At: gone, NodesGone: []string{"std-1"}},
		},
		End: scalehist.ClusterSnapshot{At: at(180), ScheduledPods: []scalehist.PodInfo{
			{Namespace: "d", Name: "a", NodeName: "std-0", Owner: "ReplicaSet/web", Requests: pod}, {Namespace: "d", Name: "b", NodeName: "std-0", Owner: "ReplicaSet/web", Requests: pod}},
			Nodes: []scalehist.NodeInfo{{Name: "std-0", NodeGroup: "std", Ready: true, Allocatable: size}}},
		Run: &scalehist.RunInfo{ControlPlane: "memory", StartedAt: start, Machine: "a machine of today"},
	}
}

func page(t *testing.T, runs ...html.Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := html.Write(&b, html.Input{Runs: runs}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// view is the data of a page, as its script reads it.
func view(t *testing.T, page string) map[string]any {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/(json|gzip)" id="data">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	data := []byte(m[2])
	if m[1] == "gzip" {
		raw, err := base64.StdEncoding.DecodeString(m[2])
		if err != nil {
			t.Fatal(err)
		}
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	var v map[string]any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func first(t *testing.T, page string) map[string]any {
	t.Helper()
	return view(t, page)["runs"].([]any)[0].(map[string]any)
}

func TestNothingInAReportEndsTheElementThatHoldsIt(t *testing.T) {
	p := page(t, html.Run{Label: "a", Report: sample()})
	if n := strings.Count(p, "</script>"); n != 2 { // the data's and the bundle's own
		t.Errorf("%d script elements end, want 2", n)
	}
	if strings.Contains(p, "alert(1)</script>") || strings.Contains(p, "<untolerated>") {
		t.Error("text of the report is markup of the page")
	}
	if !strings.Contains(p, "<title>burst &lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; · scalehist</title>") {
		t.Error("the title is not escaped")
	}
	if got := first(t, p)["scenario"]; got != sample().Scenario {
		t.Errorf("scenario %q after reading it back", got)
	}
}

// TestVerdictHasQuestions: the page has the answers of the report, which of them count, and of the steps those beyond the tolerance.
func TestVerdictHasQuestions(t *testing.T) {
	r := sample()
	until := at(60)
	r.Recorded = &scalehist.RecordedTruth{Source: "target sizes"}
	r.Agreement = &scalehist.Agreement{Until: &until, Asked: []scalehist.Question{scalehist.QuestionWaits}, Questions: []scalehist.Answer{
		{Question: scalehist.QuestionScaledUp, Verdict: scalehist.AnswerDiffers, Recorded: "std +1", Replayed: "std +2", Text: "why", Groups: []scalehist.GroupDifference{{NodeGroup: "std", Recorded: 1, Replayed: 2}}},
		{Question: scalehist.QuestionSteps, Verdict: scalehist.AnswerDiffers}, {Question: scalehist.QuestionWaits, Verdict: scalehist.AnswerUnknown},
	}, Differences: []scalehist.Difference{
		{Kind: "time", Within: true, Reason: "4s later"}, {Kind: "extra", Replayed: &scalehist.RecordedStep{At: at(20), NodeGroup: "std", To: 2}, Reason: "nobody asked"},
	}}
	want := map[string]any{
		"agreed": false, "line": "differs in scaled-up; waits unknown", "source": "target sizes", "until": 60000., "within": 1., "groups": []any{"std: recorded +1, replayed +2"},
		"questions": []any{
			map[string]any{"question": "scaled-up", "verdict": "differs", "recorded": "std +1", "replayed": "std +2", "text": "why", "counts": true},
			map[string]any{"question": "steps", "verdict": "differs", "recorded": "", "replayed": "", "text": ""},
			map[string]any{"question": "waits", "verdict": "unknown", "recorded": "", "replayed": "", "text": "", "counts": true},
		},
		"differences": []any{map[string]any{"kind": "extra", "at": 20000., "what": "replayed std 0→2 at +20s", "reason": "nobody asked"}},
	}
	if diff := cmp.Diff(want, first(t, page(t, html.Run{Label: "a", Report: r}))["verdict"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSameReportSameBytes(t *testing.T) {
	other := sample()
	other.Run = &scalehist.RunInfo{ControlPlane: "envtest", StartedAt: start.Add(time.Hour), Machine: "another", Artifacts: "elsewhere"}
	if page(t, html.Run{Label: "a", Report: sample()}) != page(t, html.Run{Label: "a", Report: other}) {
		t.Error("what differs by nature between two runs is in the page")
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	p := page(t, html.Run{Label: "a", Report: sample()})
	for _, m := range regexp.MustCompile(`(?i)\b(?:src|href|action)\s*=\s*["']?([^"'\s>]+)|url\(([^)]*)\)|@import[^;]*`).FindAllStringSubmatch(p, -1) {
		if target := m[1] + m[2]; !strings.HasPrefix(target, "data:") && !strings.HasPrefix(target, "#") {
			t.Errorf("the page refers to %q", m[0])
		}
	}
	// The namespace of SVG is a name that nothing is fetched from.
	for _, address := range regexp.MustCompile(`https?://[^"'\s]*`).FindAllString(p, -1) {
		if address != "http://www.w3.org/2000/svg" {
			t.Errorf("the page names %s", address)
		}
	}
	script := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindStringSubmatch(p)[1]
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(p)[1]
	for _, part := range []string{script, style} {
		sum := sha256.Sum256([]byte(part))
		if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(p, want) {
			t.Errorf("the policy does not allow the page's own bytes: %s is missing", want)
		}
	}
	if !strings.Contains(p, `content="default-src 'none'; `) || !strings.Contains(script, "Copyright (c)") {
		t.Error("the policy or the licence of the chart library is missing")
	}
}

// row reads a column of numbers.
func row(v any) []int {
	var out []int
	for _, x := range v.([]any) {
		out = append(out, int(x.(float64)))
	}
	return out
}

func TestPodsAreWhereTheReportSays(t *testing.T) {
	r := first(t, page(t, html.Run{Label: "a", Report: sample()}))
	names := r["pods"].(map[string]any)["name"].([]any)
	nodes := r["nodes"].(map[string]any)["name"].([]any)
	stays := r["stays"].(map[string]any)
	pod, node, from, to := row(stays["pod"]), row(stays["node"]), row(stays["from"]), row(stays["to"])
	var got []string
	for i := range pod {
		where := "waits"
		if node[i] >= 0 {
			where = nodes[node[i]].(string)
		}
		got = append(got, fmt.Sprintf("%s %s %d..%d", names[pod[i]], where, from[i]/1000, to[i]/1000))
	}
	slices.Sort(got)
	want := []string{"d/a std-0 60..0", "d/a waits 20..60", "d/b std-0 120..0", "d/b std-1 60..120", "d/b waits 20..60", "d/job std-0 60..90", "d/job waits 20..60"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stays (-want +got, 0: to the end):\n%s", diff)
	}
	// Four cores from 60 s on: three pods ask for 1.5, then two for one; on one node of two cores half of it.
	cpu := r["curves"].(map[string]any)["cpu"].(map[string]any)
	if diff := cmp.Diff([]int{0, 37, 25, 50}, row(cpu["v"])); diff != "" {
		t.Errorf("CPU (-want +got):\n%s", diff)
	}
	if notes := r["notes"]; notes != nil {
		t.Errorf("notes on a report that tells everything: %v", notes)
	}
}

func TestTwoRunsSayWhereTheyPart(t *testing.T) {
	other := sample()
	other.Decisions[1].Deleting = nil
	v := view(t, page(t, html.Run{Label: "a", Report: sample()}, html.Run{Label: "b", Report: other}))
	pairs := v["pairs"].([]any)
	got := pairs[0].(map[string]any)["first"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"kind": "action", "at": 120000.0, "a": 1.0, "b": 1.0, "actedA": true, "actedB": false}, got); diff != "" {
		t.Errorf("first difference (-want +got):\n%s", diff)
	}
}

func TestLargeReportsAreCompressed(t *testing.T) {
	r := sample()
	for i := range 20_000 {
		r.Batches[0].DeployedPods = append(r.Batches[0].DeployedPods, scalehist.DeployedPod{Namespace: "d", Name: fmt.Sprintf("p-%d", i), CreatedAt: start})
	}
	p := page(t, html.Run{Label: "a", Report: r})
	if !strings.Contains(p, `type="application/gzip"`) || len(p) > 600<<10 {
		t.Errorf("%d bytes", len(p))
	}
	if n := len(first(t, p)["pods"].(map[string]any)["name"].([]any)); n != 20_003 {
		t.Errorf("%d pods", n)
	}
}

func TestSaveAndErrors(t *testing.T) {
	dir := t.TempDir()
	if err := html.Save(filepath.Join(dir, "x"), sample()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.json", "report.txt", "timeline.txt", html.FileName} {
		if info, err := os.Stat(filepath.Join(dir, "x", name)); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "x", ".report-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := html.Write(io.Discard, html.Input{}); err == nil || !strings.Contains(err.Error(), "give a report") {
		t.Errorf("no report: %v", err)
	}
	twice := html.Input{Runs: []html.Run{{Label: "a", Report: sample()}, {Label: "a", Report: sample()}}}
	if err := html.Write(io.Discard, twice); err == nil || !strings.Contains(err.Error(), `two reports are called "a"`) {
		t.Errorf("one label twice: %v", err)
	}
	if err := html.WriteFile(filepath.Join(dir, "no", "x.html"), twice); err == nil {
		t.Error("a folder that does not exist")
	}
}

func TestMoment(t *testing.T) {
	r := sample()
	r.Decisions = append(r.Decisions, scalehist.Decision{At: at(125), Loop: 12})
	for i, want := range []string{"loop=2", "loop=12", "t=+2m5s"} {
		if got := report.Moment(r, &r.Decisions[i]); got != want {
			t.Errorf("decision %d: %q, want %q", i, got, want)
		}
	}
}

// TestBundleIsOfTheSources: dist is what `make web` makes of web. It needs no npm: the bundle lists what it was made from.
func TestBundleIsOfTheSources(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("dist", "sources.txt"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(list)), "\n") {
		sum, name, _ := strings.Cut(line, "  ")
		known[name] = sum
	}
	check := func(name string) {
		b, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
		if known[name] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what the bundle was made from: run make web, and commit dist", name)
		}
		delete(known, name)
	}
	for _, name := range []string{"dist/report.css", "dist/report.js", "web/build.mjs", "web/package-lock.json", "web/package.json", "web/tsconfig.json"} {
		check(name)
	}
	if err := fs.WalkDir(os.DirFS("web/src"), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			check("web/src/" + path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for name := range known {
		t.Errorf("the bundle was made from %s, which is gone: run make web", name)
	}
	lock, err := os.ReadFile(filepath.Join("web", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) {
		t.Error("package-lock.json names a registry: run npm with the .npmrc beside it")
	}
}
