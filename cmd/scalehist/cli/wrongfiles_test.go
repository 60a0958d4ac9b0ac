package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/internal/decode"
)

// goWords are what only those understand who know the types that a file is read into.
var goWords = regexp.MustCompile(`\bGo\b|json: |yaml: |of type|(?i:unmarshal)|struct|map\[|\[\][a-z]|\bu?int(8|16|32|64)?\b|float64|v1alpha1\.|!!|reflect`)

// aDay is a history that other files are tried with.
const aDay = "../../../fixtures/aws-burst/recording.db"

// dataFile is a file that a command reads values from.
type dataFile struct {
	name string
	flag string // "" is an argument
	ext  string
	args []string // FILE is the file
	// wrong is a content with one value of another type, want what a refusal says of it: the place, and what belongs there.
	wrong string
	want  []string
}

var dataFiles = []dataFile{
	{"faults", "faults", "yaml", []string{"replay", aDay, "--faults", "FILE"},
		"faults:\n- kind: outage\n  count: [3]\n", []string{"line 3", "faults[0].count: a list where a whole number is due"}},
	{"unknown key of faults", "faults", "yaml", []string{"replay", aDay, "--faults", "FILE"},
		"faults:\n- kind: outage\n  colour: blue\n", []string{"line 3", `faults[0]: unknown key "colour"`}},
	{"key of faults twice", "faults", "yaml", []string{"replay", aDay, "--faults", "FILE"},
		"faults:\n- kind: outage\n  kind: slow\n", []string{"line 3", `faults[0]: the key "kind" is given twice, first in line 2`}},
	{"faults of a sweep", "faults", "yaml", []string{"sweep", aDay, "--set", "expander=random", "--faults", "FILE"},
		"faults:\n  kind: outage\n", []string{"line 2", "faults: an object where a list is due"}},
	{"load", "load", "yaml", []string{"replay", aDay, "--load", "FILE"},
		"series:\n- workload: [a]\n", []string{"line 2", "series[0].workload: a list where a string is due"}},
	{"load of a forecast", "load", "yaml", []string{"horizontal", "forecast", "--load", "FILE"},
		"series:\n- workload: [a]\n", []string{"line 2", "series[0].workload: a list where a string is due"}},
	{"objects", "objects", "yaml", []string{"replay", aDay, "--horizontal", "hpa", "--objects", "FILE"},
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec:\n  maxReplicas: many\n", []string{"line 4", "spec.maxReplicas"}},
	{"advice", "advice", "json", []string{"backtest", aDay, "--advice", "FILE"},
		"{\n\"scans\": [\n{\"object\": 5}]}", []string{"line 3", "scans.object"}},
	{"prices", "prices", "yaml", []string{"replay", aDay, "--prices", "FILE"},
		"currency: EUR\nnodeGroups:\n  a: cheap\n", []string{"line 3", "cheap"}},
	{"policy", "policy", "yaml", []string{"gate", "--baseline", ".", "--candidate", ".", "--policy", "FILE"},
		"version: scalehist.io/gate/v1\nmetrics: 5\n", []string{"line 2"}},
	{"request", "snapshot", "json", []string{"recommend", "--snapshot", "FILE"},
		`{"apiVersion": "recommender.scalehist.io/v1", "snapshot": {"at": 5}}`, []string{"snapshot.at"}},
	{"report of a recommendation", "report", "json", []string{"recommend", "--report", "FILE"},
		"{\n\"version\": \"scalehist.io/report/v1\",\n\"steps\": {}\n}", []string{"line 3", "steps: object where a list is due"}},
	{"kubeconfig", "kubeconfig", "yaml", []string{"record", "-o", "x.db", "--kubeconfig", "FILE"},
		"apiVersion: v1\nkind: Config\nclusters: text\n", []string{"clusters"}},
	{"kubeconfig of the control plane", "control-plane-kubeconfig", "yaml", []string{"record", "-o", "x.db", "--kubeconfig", "KUBECONFIG", "--control-plane-kubeconfig", "FILE"},
		"apiVersion: v1\nkind: Config\nclusters: text\n", []string{"clusters"}},
	{"node groups", "node-groups", "yaml", []string{"record", "-o", "x.db", "--kubeconfig", "KUBECONFIG", "--node-groups", "FILE"},
		"groups:\n- name: a\n  min: few\n", []string{"line 3", `groups[0].min: "few" where a whole number is due`}},
	{"template of a node group", "node-groups", "yaml", []string{"record", "-o", "x.db", "--kubeconfig", "KUBECONFIG", "--node-groups", "FILE"},
		"groups:\n- name: a\n  max: 3\n  nodes: {namePattern: a}\n  template:\n    status: {capacity: {cpu: many}}\n", []string{"line 6", "groups[0].template.status.capacity.cpu"}},
	{"queries", "queries", "yaml", []string{"record", "-o", "x.db", "--kubeconfig", "KUBECONFIG", "--prometheus", "http://127.0.0.1:1", "--queries", "FILE"},
		"queries:\n- name: a\n  step: long\n", []string{"line 3", "queries[0].step"}},
	{"truth", "truth", "json", []string{"replay", aDay, "--truth", "FILE"},
		"{\"scenario\": \"a\", \"nodeGroups\":\n{}, \"runs\": 1, \"loops\": 1, \"outcomes\": [], \"firstSteps\": []}", []string{"is not a truth file"}},
	{"clusters", "config", "yaml", []string{"serve", "--check", "--config", "FILE"},
		"clusters:\n- name: [a]\n", []string{"line 2", "a list where a string is due"}},
	{"a type of clusters", "config", "yaml", []string{"serve", "--check", "--config", "FILE"},
		"clusters:\n- name: a\n  controlPlane: here\n", []string{"line 3", `"here" where an object is due`}},
	{"groups of borrowed capacity", "borrow", "yaml", []string{"nodemanager", "serve", "--db", "OUT", "--backend", "multicluster", "--discovery", "http://127.0.0.1:1", "--borrow", "FILE"},
		"groups:\n- name: a\n  maxSize: many\n", []string{"line 3", `groups[0].maxSize: "many" where a whole number is due`}},
	{"flags", "config-file", "yaml", []string{"version", "--config-file", "FILE"},
		"replay:\n  seed: {a: 1}\n", []string{"input.yaml:2: seed: want a whole number"}},
	{"log", "", "jsonl", []string{"import", "FILE", "-o", "OUT"},
		`{"at":"2026-01-01T00:00:00Z","op":"add","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":["a"]},"spec":{"priority":"high"}}}`,
		[]string{"input.jsonl:1", "where "}},
	{"size in a log", "", "jsonl", []string{"import", "FILE", "-o", "OUT"},
		`{"at":5,"op":"add","object":{}}`, []string{"input.jsonl:1", `key "at": number where a string is due`}},
	{"a series", "", "csv", []string{"import", "--format", "csv:metric=cpu", "--wrong-lines", "0", "FILE", "-o", "OUT"},
		"timestamp,value\n2026-01-05 00:00:00,much\n", []string{"input.csv:2", `value "much": want a number`}},
	{"metrics", "", "json", []string{"import", "--format", "prometheus", "--wrong-lines", "0", "FILE", "-o", "OUT"},
		"{\"data\": {\n\"result\": [{\"metric\": 5}]}}", []string{"input.json:2", "a number: want a series"}},
	{"report", "", "json", []string{"explain", "FILE", "--node-group", "a"},
		"{\n\"version\": \"scalehist.io/report/v1\",\n\"startTime\": 3\n}", []string{"startTime"}},
	{"scenario", "", "yaml", []string{"test", "FILE"},
		"history: x.db\nexpect: [a]\n", []string{"input.yaml:2"}},
	{"workloads of a scenario", "", "yaml", []string{"test", "FILE"},
		"history: x.db\nhorizontal: hpa\nexpect:\n  workloads: {web: {final: [3]}}\n", []string{"input.yaml:4:28", "expect.workloads.web.final: want a count"}},
	{"a decision of a controller", "", "yaml", []string{"test", "FILE"},
		"history: x.db\nexpect:\n  decisions:\n  - {first: scale-up, controller: [hpa]}\n", []string{"input.yaml:4:35", "expect.decisions[0].controller: want a text"}},
	{"cases", "", "jsonl", []string{"conformance", "FILE"},
		`{"name":"x","input":{"nodeGroups":[{"min":"few"}]}}`, []string{"input.jsonl:1", "where a whole number is due"}},
}

// otherFiles are flags whose files have no values in them, or are written.
var otherFiles = []string{"cpu-profile", "format", "log-file", "memory-profile", "fixtures", "output", "scenario", "out", "baseline", "candidate", "junit", "repeat", "summary", "cluster", "dir",
	"form", "name", "ca-file", "cert-file", "key-file", "token-file", "history", "client-ca", "tls-cert", "tls-key", "context", "control-plane-context", "prometheus-ca-file",
	"prometheus-cert-file", "prometheus-key-file", "prometheus-token-file", "salt-file", "save-mapping", "save-salt", "event-reports", "log-dir", "report-dir", "ties",
	"max-upload", "reports", "plot", "curve", "artifacts", "ca", "html", "log-format", "db", "key",
	"reader", "reader-token-file", "node-manager", "usage-of", "cgroup"}

// try runs the command with a file that holds text, and gives what it says of it.
func (f dataFile) try(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "input."+f.ext)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, a := range f.args {
		switch a {
		case "FILE":
			a = path
		case "OUT":
			a = filepath.Join(t.TempDir(), "out.db")
		case "KUBECONFIG":
			a = kubeconfig(t)
		}
		args = append(args, a)
	}
	code, _, stderr := run(t, t.Context(), args...)
	if code != console.ExitFailed {
		t.Errorf("%.50q: exit code %d\n%s", text, code, stderr)
	}
	return strings.ReplaceAll(stderr, filepath.Dir(path), "")
}

// TestWrongFiles: whatever a file has in it that does not belong there, the error names the file, the place, and what belongs there, in the
// words of the file and not in those of Go.
//
//scalehist:unraced
func TestWrongFiles(t *testing.T) {
	for _, f := range dataFiles {
		t.Run(f.name, func(t *testing.T) {
			for _, text := range []string{f.wrong, "[1, 2]\n", "\"text\"\n", "{\"a\": [\n", "{\"nobody\": {\"knows\": 1}}\n", "5\n"} {
				stderr := f.try(t, text)
				without := strings.ReplaceAll(stderr, "input."+f.ext, "input")
				if !strings.Contains(stderr, "input") {
					t.Errorf("%q: the file is not named:\n%s", text, stderr)
				}
				if found := goWords.FindString(without); found != "" {
					t.Errorf("%q: the error has %q:\n%s", text, found, stderr)
				}
				for _, want := range f.want {
					if text == f.wrong && !strings.Contains(stderr, want) {
						t.Errorf("%q: the error does not have %q:\n%s", text, want, stderr)
					}
				}
			}
		})
	}
}

// TestLargeFiles: a file of values is not read without end: what YAML makes of a text takes a hundred times its size.
//
//scalehist:unraced
func TestLargeFiles(t *testing.T) {
	for _, f := range dataFiles {
		if f.ext != "yaml" || strings.Contains(f.flag, "kubeconfig") { // that is read as kubectl reads it
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			stderr := f.try(t, "#"+strings.Repeat("x", decode.MaxFile))
			if !strings.Contains(stderr, "bytes are more than") || !strings.Contains(stderr, "input.yaml") {
				t.Errorf("got %s", stderr)
			}
		})
	}
}

// TestWrongFilesAreAll: a flag that is new is in one of the lists above.
func TestWrongFilesAreAll(t *testing.T) {
	known := map[string]bool{}
	for _, f := range dataFiles {
		known[f.flag] = true
	}
	for _, name := range otherFiles {
		known[name] = true
	}
	console.WalkCommands(newRootCommand(console.IO{}, &console.LogFlags{}, &console.ProfileFlags{}), func(c *cobra.Command) {
		c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			_, directive := completionOf(flag)(c, nil, "")
			names := directive == cobra.ShellCompDirectiveDefault || directive == cobra.ShellCompDirectiveFilterDirs
			if names && !known[flag.Name] {
				t.Errorf("%s --%s: add it to dataFiles, or to otherFiles", c.CommandPath(), flag.Name)
			}
		})
	})
}
