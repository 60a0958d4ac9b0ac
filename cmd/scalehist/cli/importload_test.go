package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/backtest"
	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/recorder/history"
)

// loadSample is one of the checked-in samples of a format.
func loadSample(name string) string {
	return filepath.Join("..", "..", "..", "load", "imports", "testdata", name)
}

// importing makes a history of load.
func importing(t *testing.T, args ...string) (path, stderr string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "load.db")
	code, stdout, stderr := run(t, t.Context(), append([]string{"import", "-o", path, "--format"}, args...)...)
	if code != console.ExitOK || !strings.HasPrefix(stdout, path+": ") {
		t.Fatalf("%v: exit %d: %s%s", args, code, stdout, stderr)
	}
	return path, stderr
}

const vpaOf = `apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: v, namespace: %s}
spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}, updatePolicy: {updateMode: Recreate, minReplicas: 1}}
`

// TestImportLoad: of every format a history is made that backtest reads and a replay with vertical autoscaling plays, the same each time.
//
//scalehist:unraced
func TestImportLoad(t *testing.T) {
	t.Setenv("SCALEHIST_CONTROL_PLANE", "memory")
	for _, c := range []struct {
		args, namespace, workload string
		workloads                 int
	}{
		{"prometheus prometheus.json", "web", "front", 2},
		{"csv:metric=cpu,unit=percent,cores=4 nab.csv --assume 0,1Gi", "imported", "nab", 1},
		{"google-2011 google-2011.csv", "imported", "job-3418309", 1},
		{"google-2011 google-2011-short.txt", "imported", "google-2011-short", 1},
		{"google-2019 google-2019.json", "imported", "job-330587160469", 1},
		{"azure-functions invocations_per_function_md.anon.d01.csv --assume 0,200Mi", "imported", "funcaaaaaaaa-appaaaaaaaa-owneraaaaaaaa-6d122757", 2},
		{"azure-vm azure-vm.csv --assume 0,1Gi", "imported", "vm-b1x-3a32778b", 2},
		{"alibaba-2018 alibaba-2018.csv", "imported", "c-1", 2},
		{"alibaba-series:metric=cpu,epoch=2026-01-05T00:00:00Z alibaba-series.csv --assume 0,1Gi", "imported", "ms-1-pod-1-86efaedb", 2},
		{"arabesque arabesque.json", "prod", "shop", 1},
		{"arabesque arabesque.csv", "prod", "shop", 1},
	} {
		t.Run(c.args, func(t *testing.T) {
			args := strings.Fields(c.args)
			args[1] = loadSample(args[1])
			args = append(args, "--request", "100m,100Mi")
			path, _ := importing(t, args...)
			code, stdout, stderr := run(t, t.Context(), "backtest", path, "--vertical", "vpa:min-replicas=1", "--level", "workload", "-o", "json")
			var r backtest.Report
			if err := json.Unmarshal([]byte(stdout), &r); code != console.ExitOK || err != nil {
				t.Fatalf("backtest: exit %d, %v: %s", code, err, stderr)
			}
			if n := len(r.Candidates[0].Workloads); n != c.workloads {
				t.Errorf("%d workloads", n)
			}
			objects := filepath.Join(t.TempDir(), "vpa.yaml")
			if err := os.WriteFile(objects, fmt.Appendf(nil, vpaOf, c.namespace, c.workload), 0o644); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr = run(t, t.Context(), "replay", path, "--vertical", "vpa", "--objects", objects, "--for", "30m")
			if code != console.ExitOK || !strings.Contains(stdout, c.workload) {
				t.Errorf("replay: exit %d: %s%s", code, stdout, stderr)
			}
			again, _ := importing(t, args...)
			if diff := cmp.Diff(exported(t, path), exported(t, again)); diff != "" {
				t.Errorf("another time: %s", diff)
			}
		})
	}
}

func exported(t *testing.T, path string) string {
	t.Helper()
	code, stdout, stderr := run(t, t.Context(), "export", path)
	if code != console.ExitOK {
		t.Fatalf("export: exit %d: %s", code, stderr)
	}
	return stdout
}

// TestImportGenerated: the CSV that generate writes has the usage of the history that it makes of the same load.
func TestImportGenerated(t *testing.T) {
	dir := t.TempDir()
	args := []string{"generate", "diurnal", "--workloads", "2", "--for", "3h", "--noise", "0.1", "-o"}
	for _, name := range []string{"a.csv", "a.db"} {
		if code, _, stderr := run(t, t.Context(), append(args, filepath.Join(dir, name))...); code != console.ExitOK {
			t.Fatal(stderr)
		}
	}
	read, _ := importing(t, "csv", filepath.Join(dir, "a.csv"))
	if diff := cmp.Diff(usageOf(t, filepath.Join(dir, "a.db")), usageOf(t, read)); diff != "" {
		t.Error(diff)
	}
}

// usageOf are all values of usage.
func usageOf(t *testing.T, path string) map[string]history.Usage {
	t.Helper()
	db, err := history.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[string]history.Usage{}
	for u, err := range db.Usages(t.Context(), time.Time{}, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)) {
		if err != nil {
			t.Fatal(err)
		}
		out[u.At.String()+u.Pod.String()] = u
	}
	if len(out) == 0 {
		t.Fatal("no usage")
	}
	return out
}

// TestImportLoadMistakes: what is said of them; nothing is left where an import fails.
func TestImportLoadMistakes(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.csv")
	if err := os.WriteFile(broken, []byte("timestamp,value\n2026-01-05 00:00:00,1\n2026-01-05 00:05:00,x\n2026-01-05 00:10:00,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "x.db")
	nab := loadSample("nab.csv")
	for _, c := range []struct{ args, want string }{
		{"--format promethius " + nab, `did you mean "prometheus"`},
		{"--format csv:metric=cpu " + nab, "such as imported/nab) is not in the input"},
		{"--format csv:metric=cpu --assume 1 " + nab, "--assume"},
		{"--format csv:metric=cpu --request x,1 " + nab, "--request"},
		{"--format csv:metric=cpu --wrong-lines -1 " + nab, "0 or more"},
		{"--format csv:metric=cpu --assume 0,1Gi --wrong-lines 0 " + broken, broken + `:3: value "x": want a number`},
		{"--format csv:metric=cpu " + dir, "it is a directory"},
		{"--format csv:metric=cpu " + nab + ".none", "no such file"},
		{"--format csv:metric=cpu", "missing argument FILE"},
		{"--format prometheus " + nab, "nab.csv:1: "},
		{"--assume 0,1Gi " + nab, "--assume is for load in another format: give --format too"},
		{nab + " " + nab, "unexpected argument"},
	} {
		code, stdout, stderr := run(t, t.Context(), append([]string{"import", "-o", to}, strings.Fields(c.args)...)...)
		if code != console.ExitFailed || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d, %q, want %q", c.args, code, stderr, c.want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
	path, stderr := importing(t, "csv:metric=cpu", broken, "--assume", "0,1Gi")
	if len(usageOf(t, path)) != 2 || !strings.Contains(stderr, "warning: left out: "+broken+":3: ") {
		t.Errorf("a wrong line: %s", stderr)
	}
	if code, _, stderr := run(t, t.Context(), "import", "--format", "csv:metric=cpu", broken, "--assume", "0,1Gi", "-o", path); code != console.ExitFailed || !strings.Contains(stderr, "exists already") {
		t.Errorf("over another: exit %d: %s", code, stderr)
	}
	if code, stdout, _ := run(t, t.Context(), "import", "--formats"); code != console.ExitOK || !strings.Contains(stdout, "alibaba-series") {
		t.Errorf("formats: exit %d: %s", code, stdout)
	}
}
