package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	reports "github.com/scalehist/scalehist/report"
)

// webDir is where the page's sources and its tests in a browser are.
var webDir = filepath.Join("..", "..", "..", "report", "html", "web")

// npmReady installs what the browser tests need, as package-lock.json says. Without npm a developer's run skips the test; CI
// says what to install.
func npmReady(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(webDir, "node_modules", "playwright-core", "package.json")); err == nil {
		return
	}
	const what = "no node and npm on the PATH: install them (Debian: apt-get install nodejs npm) to test the report in a browser"
	_, noNode := exec.LookPath("node")
	npm, noNPM := exec.LookPath("npm")
	if errors.Join(noNode, noNPM) != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(what)
		}
		t.Skip(what)
	}
	cmd := exec.CommandContext(t.Context(), npm, "ci", "--no-audit", "--no-fund")
	cmd.Dir = webDir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci in %s: %v\n%s", webDir, err, out)
	}
}

// TestReportInBrowser writes reports of replays and runs report/html/web/test on them: Playwright drives the Chromium that
// is installed. With SCALEHIST_SCREENSHOTS it takes the pictures of the documentation instead.
//
//scalehist:unraced
func TestReportInBrowser(t *testing.T) {
	browser := chromium(t)
	npmReady(t)
	dir := reportPages(t)
	args := []string{"--test", filepath.Join("test", "report.test.mjs")}
	if os.Getenv("SCALEHIST_SCREENSHOTS") != "" {
		args = []string{filepath.Join("test", "shots.mjs")}
	}
	// Each wait has a bound of its own (page.mjs); a page on which none of them ends must not take the other tests along.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = webDir
	cmd.Env = append(os.Environ(), "SCALEHIST_PAGES="+dir, "CHROMIUM="+browser)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("the report in a browser: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// reportPages are the pages that the tests open: a burst, a day, two runs and three of them, workloads that are scaled, and a large one.
func reportPages(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replayed := func(name, fixtureName string, args ...string) string {
		out := filepath.Join(dir, name)
		code, _, errs := run(t, t.Context(), append([]string{"replay", fixture(fixtureName), "--control-plane", "memory",
			"--prices", filepath.Join("..", "..", "..", "examples", "gate", "prices.yaml"), "--report-dir", out}, args...)...)
		if code != console.ExitOK && code != console.ExitDiffered {
			t.Fatalf("replay %s: exit %d, %s", fixtureName, code, errs)
		}
		return out
	}
	page := func(out string, args ...string) {
		if code, _, errs := run(t, t.Context(), append([]string{"report", "-o", filepath.Join(dir, out)}, args...)...); code != console.ExitOK {
			t.Fatalf("report %s: exit %d, %s", out, code, errs)
		}
	}
	burst, day := replayed("burst", "two-machine-sizes"), replayed("day", "full-day")
	later := replayed("later", "full-day", "--autoscaler-flag=--scale-down-unneeded-time=40m")
	page("burst.html", burst)
	page("events.html", replayed("events", "full-day", "--playback", "per-event"))
	page("idle.html", replayed("idle", "idle-after-burst"))
	page("day.html", day)
	page("compare.html", day, later, "--label", "as recorded", "--label", "unneeded-time=40m")
	scaled60, scaled75 := filepath.Join("..", "..", "..", "report", "testdata", "explain", "hpa60.json"), filepath.Join("..", "..", "..", "report", "testdata", "explain", "hpa75.json")
	page("workloads.html", scaled60)
	page("scaled.html", scaled60, scaled75, "--label", "60 %", "--label", "75 %")
	sized := replayed("sized", "full-day", "--vertical", "vpa", "--objects", filepath.Join("..", "..", "..", "examples", "vertical", "web.yaml"), "--load", loadOfTwo(t))
	page("vertical.html", sized)
	page("right-sized.html", replayed("loaded", "full-day", "--load", loadOfTwo(t)), sized, "--label", "as recorded", "--label", "right-sized")
	page("three.html", day, later, filepath.Join(day, "report.json"), "--label", "as recorded", "--label", "unneeded-time=40m", "--label", "the same again")
	if err := reports.Save(filepath.Join(dir, "large"), largeReport(10_000, 200, 24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	page("large.html", filepath.Join(dir, "large"))
	if info, err := os.Stat(filepath.Join(dir, "large.html")); err == nil {
		t.Logf("large.html has %d kB, report.json beside it more", info.Size()/1000)
	}
	return dir
}

// loadOfTwo is the load of examples/vertical, with some for another workload.
func loadOfTwo(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "vertical", "load.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "load.yaml")
	b = append(b, "- {workload: ReplicaSet/default/db, metric: cpu, points: [{at: 0s, value: 100m}]}\n"...)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// largeReport is a day of a busy cluster, as a replay would report it: pods come and go all the time, nodes follow in waves,
// and every few minutes a loop weighs five groups and says why two hundred nodes stay.
func largeReport(podCount, nodeCount int, length time.Duration) *scalehist.ReplayReport {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return start.Add(d.Round(time.Second)) }
	r := &scalehist.ReplayReport{Version: scalehist.ReportVersion, Scenario: "large", Autoscaler: "virtualca", Playback: scalehist.PlaybackContinuous,
		StartTime: start, EndTime: start.Add(length), BatchInterval: scalehist.Duration(time.Minute), ScaledUpNodeGroups: map[string]int{}, ScaledDownNodeGroups: map[string]int{}}
	const groups = 5
	offers := map[string]string{"cpu": "15", "memory": "60Gi"}
	for g := range groups {
		group := scalehist.NodeGroupResult{Name: fmt.Sprintf("workers-%d", g), MaxSize: nodeCount, Sizes: []scalehist.SizeAt{{}}}
		for i := g; i < nodeCount; i += groups {
			asked := length * time.Duration(i) / time.Duration(2*nodeCount)
			n := scalehist.ScaledNode{Name: fmt.Sprintf("workers-%d-%d", g, i/groups), NodeGroup: group.Name, RequestedAt: at(asked), ReadyAt: at(asked + 2*time.Minute), Offers: offers}
			group.Sizes = append(group.Sizes, scalehist.SizeAt{Offset: scalehist.Duration(asked.Round(time.Second)), Size: i/groups + 1})
			r.ScaledUpNodes = append(r.ScaledUpNodes, n)
		}
		group.Final, group.ScaledUp = len(group.Sizes)-1, len(group.Sizes)-1
		r.NodeGroups = append(r.NodeGroups, group)
	}
	batches := map[time.Time]*scalehist.Batch{}
	var order []time.Time
	batch := func(t time.Time) *scalehist.Batch {
		t = t.Truncate(time.Minute)
		if batches[t] == nil {
			batches[t] = &scalehist.Batch{At: t}
			order = append(order, t)
		}
		return batches[t]
	}
	for minute := time.Duration(0); minute < length; minute += time.Minute {
		batch(at(minute))
	}
	for i := range podCount {
		came := at(length * time.Duration(i) / time.Duration(podCount))
		placed := came.Truncate(time.Minute).Add(time.Duration(i%7) * time.Minute)
		standing := max(1, min(nodeCount, 2*nodeCount*i/podCount-4))
		p := scalehist.DeployedPod{Namespace: "default", Name: fmt.Sprintf("web-%d", i), CreatedAt: came, Requests: map[string]string{"cpu": "700m", "memory": "2Gi"}}
		if node := r.ScaledUpNodes[(i*31)%standing]; placed.After(node.ReadyAt) && placed.Before(r.EndTime) {
			p.ScheduledAt, p.NodeName = &placed, node.Name
		}
		b := batch(came)
		b.DeployedPods = append(b.DeployedPods, p)
		b.Unschedulable = i % 40
		if gone := placed.Add(3 * time.Hour); gone.Before(r.EndTime) {
			g := batch(gone)
			g.DeletedPods = append(g.DeletedPods, "default/"+p.Name)
		}
	}
	for _, t := range order {
		r.Batches = append(r.Batches, *batches[t])
	}
	for i := range int(length / (2 * time.Minute)) {
		d := scalehist.Decision{At: at(time.Duration(i) * 2 * time.Minute), Loop: i + 1, Outcome: scalehist.ScaleUpNotNeeded}
		for k := range i % 30 {
			d.UnschedulablePods = append(d.UnschedulablePods, fmt.Sprintf("default/web-%d", min(podCount-1, i*podCount*2/60/24+k)))
		}
		for g := range groups {
			d.Options = append(d.Options, scalehist.Option{NodeGroup: fmt.Sprintf("workers-%d", g), NodeCount: 1 + g, Pods: i % 30, Chosen: g == i%groups, Scores: map[string]float64{"least-waste": float64(g*i%97) / 97}})
		}
		for k := range min(nodeCount, 1+i*nodeCount/300) {
			d.Unremovable = append(d.Unremovable, scalehist.NodeReason{Node: r.ScaledUpNodes[k].Name, Reason: fmt.Sprintf("NotUnderutilized: cpu %d%% > 50.0%%", 50+(i+k)%50)})
		}
		r.Decisions = append(r.Decisions, d)
	}
	r.Loops = 8640
	return r
}
