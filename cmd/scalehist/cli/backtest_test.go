package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// generated is a history of a day of two pods, made by the command.
func generated(t *testing.T, args ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "days.db")
	code, _, stderr := run(t, t.Context(), append([]string{"generate", "diurnal", "-o", path, "--for", "24h", "--step", "10m", "--limit", "1,1Gi"}, args...)...)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	return path
}

// TestGenerateBacktest: what generate makes, backtest reads; the same flags make the same.
func TestGenerateBacktest(t *testing.T) {
	history := generated(t)
	page := filepath.Join(t.TempDir(), "page.html")
	advice := filepath.Join(t.TempDir(), "advice.csv")
	if err := os.WriteFile(advice, []byte("namespace,workload,container,cpu,memory\ngenerated,load-1,app,300m,300Mi\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--vertical", "vpa", "--vertical", "max-usage", "--set", "margin=0.1,0.5", "--updater", "upstream", "--updater", "none", "--advice", "mine=" + advice,
		"--interval", "10m", "-o", "json"}
	code, stdout, stderr := run(t, t.Context(), append([]string{"backtest", history, "--html", page}, args...)...)
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var r backtest.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, c := range r.Candidates {
		labels = append(labels, c.Label)
	}
	want := "recorded|vpa|vpa (none)|max-usage:margin=0.1|max-usage:margin=0.5|max-usage:margin=0.1 (none)|max-usage:margin=0.5 (none)|mine"
	if got := strings.Join(labels, "|"); got != want {
		t.Errorf("candidates %s", got)
	}
	if written, err := os.ReadFile(page); err != nil || !strings.Contains(string(written), "Deployment/generated/load-1, container app: mine") {
		t.Errorf("page: %v", err)
	}
	code, again, stderr := run(t, t.Context(), append([]string{"backtest", generated(t)}, args...)...)
	if code != console.ExitOK || again != stdout {
		t.Errorf("another time: exit %d: %s\n%s", code, stderr, cmp.Diff(strings.Split(stdout, "\n"), strings.Split(again, "\n")))
	}
	code, other, _ := run(t, t.Context(), append([]string{"backtest", generated(t, "--seed", "7")}, args...)...)
	if code != console.ExitOK || other == stdout {
		t.Error("another seed makes the same")
	}
}

// TestGenerateCSV: a row a value, beside a plot.
func TestGenerateCSV(t *testing.T) {
	dir := t.TempDir()
	to, plot := filepath.Join(dir, "x.csv"), filepath.Join(dir, "x.svg")
	code, _, stderr := run(t, t.Context(), "generate", "low_high", "-o", to, "--plot", plot, "--for", "3m", "--cpu", "100m:2", "--memory", "1Ki", "--replicas", "1")
	if code != console.ExitOK {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	written, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(written))).ReadAll()
	if err != nil || len(rows) != 4 || strings.Join(rows[2], " ") != "2026-01-05T00:01:00Z generated load-1-0 app 2000 1024" {
		t.Errorf("%v, %v", rows, err)
	}
	if svg, err := os.ReadFile(plot); err != nil || !strings.Contains(string(svg), "<svg") {
		t.Errorf("plot: %v", err)
	}
}

// TestEnv: the workloads of a history are served until the command is stopped.
func TestEnv(t *testing.T) {
	server := startServer(t, "env", generated(t), "--step", "30m", "--listen", "127.0.0.1:0")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.url+"/v1/workloads", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	want := `{"workloads":[{"name":"Deployment/generated/load-1","containers":["app"],"steps":48,"stepSeconds":1800}]}`
	if got := strings.TrimSpace(string(body)); got != want {
		t.Errorf("workloads %s", got)
	}
	if code, _, stderr := server.stop(); code != console.ExitOK {
		t.Errorf("stopped with exit %d: %s", code, stderr)
	}
}

// TestBacktestMistakes: what is wrong with flags of both, and what to do.
func TestBacktestMistakes(t *testing.T) {
	history := generated(t)
	for _, c := range []struct{ args, want string }{
		{"backtest " + history + " --vertical vap", `did you mean "vpa"`},
		{"backtest " + history + " --vertical vpa --set margin=1", "no recommender given with --vertical has that option"},
		{"backtest " + history + " --vertical vpa:target-cpu-percentile=2", "want 0 to 1"},
		{"backtest " + history + " --updater mine", "must be upstream"},
		{"backtest " + history + " --limits some", "must be recorded"},
		{"backtest " + history + " --level pod", "must be cluster"},
		{"backtest " + history + " --update-mode Off", "must be Recreate"},
		{"backtest " + history + " -o yaml", "must be text"},
		{"backtest " + history + " --html x.txt", "ending"},
		{"backtest " + history + " --interval 1ms", "1s or more"},
		{"backtest " + history + " --learn 24h", "nothing is left to judge"},
		{"backtest " + history + " --from +99h", "--from"},
		{"backtest " + history + " --advice " + history + ".none", "--advice"},
		{"backtest " + fixture("two-machine-sizes"), "no usage of pods"},
		{"backtest", "missing argument FILE.db"},
		{"train", "missing argument NAME"},
		{"train vpa -o x.json", "choose boosted or policy"},
		{"train boosted", "give -o MODEL.json"},
		{"train boosted -o x.txt", "ending .json"},
		{"train boosted -o x.json --curve x.txt", "ending .csv"},
		{"train boosted -o x.json --rounds 3", "--rounds is of policy"},
		{"train policy -o x.json --reward much", "choose constant"},
		{"train policy -o x.json --loads 0", "1 to 100"},
		{"train boosted " + history + " -o x.json --trees 0", "1 to 10000"},
		{"train boosted " + history + " -o x.json --from +99h", "--from"},
		{"env " + history + " --step 1ms", "1s or more"},
		{"env " + history + " --listen 0.0.0.0:0", "this machine only"},
		{"env " + history + " --from +99h", "--from"},
		{"env " + fixture("two-machine-sizes") + " --listen 127.0.0.1:0", "two steps of usage"},
		{"generate sinus -o x.db", "choose constant"},
		{"generate step", "no file to make"},
		{"generate step -o x.txt", ".db or .csv"},
		{"generate step -o " + history, "exists already"},
		{"generate step -o x.db --cpu 2:1", "least before the most"},
		{"generate step -o x.db --memory much", "no amount"},
		{"generate step -o x.db --request 1", "CPU,MEMORY"},
		{"generate step -o x.db --request 20,1Gi", "16 cores"},
		{"generate step -o x.db --request 1,1Gi --limit 500m,1Gi", "below the request"},
		{"generate step -o x.db --start today", "no instant"},
		{"generate step -o x.db --plot x.png", "SVG"},
		{"generate step -o x.db --memory-shape leak:ovr=1h", "over"},
	} {
		code, stdout, stderr := run(t, t.Context(), strings.Fields(c.args)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", strings.ReplaceAll(c.args, history, "days.db"), code, stderr, c.want)
		}
	}
	for _, args := range [][]string{{"backtest", "--list"}, {"generate", "--shapes"}} {
		if code, stdout, _ := run(t, t.Context(), args...); code != console.ExitOK || len(stdout) < 500 {
			t.Errorf("%v: exit %d: %s", args, code, stdout)
		}
	}
}

// TestTrain: what train makes, backtest takes; the same flags make the same file, the curve has a row a tree or round, and a file that is no model
// of the recommender is refused.
//
//scalehist:unraced
func TestTrain(t *testing.T) {
	history := generated(t, "--for", "72h")
	dir := t.TempDir()
	train := func(name, file string, args ...string) string {
		t.Helper()
		path := filepath.Join(dir, file)
		code, _, stderr := run(t, t.Context(), append([]string{"train", name, history, "-o", path, "--curve", filepath.Join(dir, name+".csv"), "--plot", filepath.Join(dir, name+".svg")}, args...)...)
		if code != console.ExitOK {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, args := range map[string][]string{"boosted": {"--trees", "5"}, "policy": {"--rounds", "5"}} {
		if train(name, name+".json", args...) != train(name, "again.json", args...) {
			t.Errorf("%s: another time it is another model", name)
		}
		curve, err := os.ReadFile(filepath.Join(dir, name+".csv"))
		if lines := strings.Count(string(curve), "\n"); err != nil || lines != 7 {
			t.Errorf("%s: %d lines of the curve, %v", name, lines, err)
		}
		code, stdout, stderr := run(t, t.Context(), "backtest", history, "--vertical", name+":model="+filepath.Join(dir, name+".json"), "--interval", "30m")
		if code != console.ExitOK || !strings.Contains(stdout, name+":model=") {
			t.Errorf("%s: exit %d: %s%s", name, code, stdout, stderr)
		}
	}
	code, _, stderr := run(t, t.Context(), "backtest", history, "--vertical", "boosted:model="+filepath.Join(dir, "policy.json"))
	if code == console.ExitOK || !strings.Contains(stderr, "model") {
		t.Errorf("a policy is taken for trees: exit %d: %s", code, stderr)
	}
}

// TestBacktestOverHTTP: a recommender that is served does in a backtest what it does in this process; one that is gone ends it.
func TestBacktestOverHTTP(t *testing.T) {
	history := generated(t)
	rows := func(spec string) []string {
		t.Helper()
		code, stdout, stderr := run(t, t.Context(), "backtest", history, "--vertical", spec, "--updater", "none", "--interval", "10m", "-o", "json")
		var r backtest.Report
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != console.ExitOK {
			t.Fatalf("%s: exit %d, %v: %s", spec, code, err, stderr)
		}
		if len(r.Candidates) != 2 || r.Candidates[1].Cluster.CPU.Quality.Changes == 0 {
			t.Fatalf("%s recommends nothing: %s", spec, stdout)
		}
		return strings.Split(strings.ReplaceAll(stdout, r.Candidates[1].Label, "it"), "\n")
	}
	for _, spec := range []string{"vpa", "max-usage:margin=0.3"} {
		s := startServer(t, "vertical", "serve", "--recommender", spec, "--listen", "127.0.0.1:0")
		if diff := cmp.Diff(rows(spec), rows("url:"+s.url)); diff != "" {
			t.Errorf("%s (-here +over HTTP):\n%s", spec, diff)
		}
		if code, _, stderr := s.stop(); code != console.ExitOK {
			t.Errorf("exit %d: %s", code, stderr)
		}
		code, _, stderr := run(t, t.Context(), "backtest", history, "--vertical", "url:"+s.url)
		if code != console.ExitFailed || !strings.Contains(stderr, "recommender at "+s.url+": ") || !strings.Contains(stderr, "start it, or correct the address") {
			t.Errorf("nobody answers: exit %d: %s", code, stderr)
		}
	}
}
