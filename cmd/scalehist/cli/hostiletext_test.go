package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/report/ci"
)

// evil is what a stranger's name, event or message may end in: a colour, a title of the window, C1 controls, bidi controls, and lines
// that would be taken for our own, or for commands of a CI system.
const evil = "\x1b[31m\x1b]0;x\x07\u009b8m\u202ex\u2066\u2028\x7f\r\nFORGED line\n::error::FORGED\n  ::set-output name=a::FORGED ##[error]FORGED ##vso[task.complete]FORGED"

// hostileRuns are the command lines that every command is given, in all formats in which it prints what others wrote. In them a directory of
// hostile files stands for HISTORY and so on: see hostileFiles.
var hostileRuns = map[string][][]string{
	"scalehist":                      {{}, {"EVIL"}},
	"scalehist backtest":             {{"backtest", "HISTORY", "--vertical", "EVIL"}, {"backtest", "NAMES", "--vertical", "vpa"}, {"backtest", "EVIL", "--vertical", "vpa"}, {"backtest", "HISTORY", "--advice", "EVIL"}},
	"scalehist env":                  {{"env", "EVIL"}, {"env", "NAMES", "--listen", "EVIL"}},
	"scalehist train":                {{"train", "EVIL"}, {"train", "boosted", "EVIL", "-o", "OUT.json"}, {"train", "boosted", "NAMES", "-o", "OUT.json"}, {"train", "policy", "NAMES", "-o", "OUT.json", "--reward", "EVIL"}},
	"scalehist generate":             {{"generate", "EVIL"}, {"generate", "constant", "--cpu", "EVIL", "-o", "OUT"}},
	"scalehist prometheus":           {{"prometheus", "EVIL"}},
	"scalehist prometheus serve":     {{"prometheus", "serve", "EVIL"}, {"prometheus", "serve", "NAMES", "--at", "EVIL"}, {"prometheus", "serve", "NAMES", "--listen", "EVIL"}},
	"scalehist provider":             {{"provider", "EVIL"}},
	"scalehist truth":                {{"truth", "EVIL"}},
	"scalehist truth record":         {{"truth", "record", "NAMES", "--describe"}, {"truth", "record", "EVIL", "--describe"}, {"truth", "record", "--script", "EVIL"}, {"truth", "record", "NAMES", "--autoscaler", "exec:EVIL", "-o", "OUTDIR"}},
	"scalehist provider conformance": {{"provider", "conformance", "EVIL"}, {"provider", "conformance", "127.0.0.1:1", "--change", "EVIL", "--timeout", "1s"}},
	"scalehist provider calls":       {{"provider", "calls", "EVIL"}, {"provider", "calls", "NAMES"}, {"provider", "calls", "NAMES", "EVIL"}},
	"scalehist provider record":      {{"provider", "record", "EVIL"}, {"provider", "record", "127.0.0.1:1", "-o", "OUT", "--listen", "EVIL"}, {"provider", "record", "127.0.0.1:1", "-o", "EVIL", "--listen", "EVIL"}},
	"scalehist provider serve":       {{"provider", "serve", "EVIL"}, {"provider", "serve", "HISTORY", "--listen", "EVIL"}},
	"scalehist discovery":            {{"discovery", "EVIL"}},
	"scalehist discovery serve":      {{"discovery", "serve", "--db", "OUT", "--key", "EVIL"}, {"discovery", "serve", "--db", "OUT", "--key", "PRICES", "--listen", "EVIL"}},
	"scalehist nodemanager":          {{"nodemanager", "EVIL"}},
	"scalehist nodemanager serve":    {{"nodemanager", "serve", "--db", "OUT", "--backend", "EVIL"}, {"nodemanager", "serve", "--db", "OUT", "--backend", "multicluster", "--borrow", "EVIL", "--discovery", "EVIL"}, {"nodemanager", "serve", "EVIL", "--db", "OUT"}},
	"scalehist compact":              {{"compact", "HISTORY"}, {"compact", "NAMES", "-o", "json"}},
	"scalehist compare":              {{"compare", "REPORT", "OTHER", "--force"}, {"compare", "REPORT", "OTHER", "--force", "-o", "markdown"}, {"compare", "REPORT", "OTHER", "--force", "-o", "json"}, {"compare", "REPORT", "OTHER", "--label", "EVIL,b", "--force"}, {"compare", "REPORT", "PLAIN"}},
	"scalehist completion":           {{"completion", "EVIL"}, {"completion", "bash"}},
	"scalehist config":               {{"config"}, {"config", "EVIL"}},
	"scalehist config show":          {{"config", "show", "EVIL"}, {"config", "show", "--config-file", "CONFIG"}, {"config", "show"}},
	"scalehist conformance":          {{"conformance", "CASES"}, {"conformance", "CASES", "--case", "EVIL"}, {"conformance", "EVIL"}, {"__complete", "conformance", "CASES", "--case", ""}},
	"scalehist cut":                  {{"cut", "NAMES", "-f", "OUT"}, {"cut", "NAMES", "--from", "EVIL", "-f", "OUT"}, {"cut", "HISTORY", "--to", "-10s", "-f", "OUT", "-o", "json"}},
	"scalehist doctor":               {{"doctor", "NAMES"}, {"doctor", "NAMES", "-o", "github"}, {"doctor", "NAMES", "-o", "json"}, {"doctor", "HISTORY"}, {"doctor", "EVIL"}, {"doctor", "--explain", "EVIL"}},
	"scalehist emulate":              {{"emulate", "EVIL"}},
	"scalehist emulate serve":        {{"emulate", "serve", "EVIL"}, {"emulate", "serve", "--usage-of", "EVIL"}, {"emulate", "serve", "constant", "-o", "EVIL"}, {"emulate", "serve", "constant", "--listen", "EVIL"}},
	"scalehist emulate worker":       {{"emulate", "worker", "EVIL"}, {"emulate", "worker", "--server", "EVIL"}, {"emulate", "worker", "--measure", "EVIL"}},
	"scalehist explain":              {{"explain", "REPORT", "--pod", "EVIL"}, {"explain", "REPORT", "--node-group", "GROUP"}, {"explain", "REPORT", "--node-group", "GROUP", "-o", "json"}, {"explain", "REPORT", "--node", "EVIL"}, {"explain", "REPORT", "--pod", "POD"}, {"__complete", "explain", "REPORT", "--pod", ""}, {"__complete", "explain", "REPORT", "--node-group", ""}},
	"scalehist export":               {{"export", "NAMES"}, {"export", "HISTORY"}, {"export", "EVIL"}},
	"scalehist gate":                 {{"gate", "--baseline", "DIR", "--candidate", "OTHERDIR", "--policy", "POLICY"}, {"gate", "--baseline", "DIR", "--candidate", "OTHERDIR", "--policy", "POLICY", "-o", "markdown", "--junit", "OUT.xml", "--summary", "OUT.md"}, {"gate", "--baseline", "DIR", "--candidate", "OTHERDIR", "--policy", "POLICY", "-o", "github"}, {"gate", "--baseline", "DIR", "--candidate", "OTHERDIR", "--policy", "POLICY", "-o", "json"}, {"gate", "--baseline", "DIR", "--candidate", "PLAINDIR", "--policy", "BADPOLICY"}, {"gate", "--baseline", "DIR", "--candidate", "PLAINDIR", "--policy", "POLICY", "-o", "github"}},
	"scalehist gate init":            {{"gate", "init"}, {"gate", "init", "EVIL"}},
	"scalehist gate schema":          {{"gate", "schema"}, {"gate", "schema", "EVIL"}},
	"scalehist horizontal":           {{"horizontal", "EVIL"}},
	"scalehist horizontal crd":       {{"horizontal", "crd"}, {"horizontal", "crd", "EVIL"}},
	"scalehist horizontal forecast":  {{"horizontal", "forecast", "EVIL"}, {"horizontal", "forecast", "NAMES", "--metric", "EVIL"}, {"horizontal", "forecast", "NAMES", "--query", "EVIL"}, {"horizontal", "forecast", "--load", "EVIL"}, {"horizontal", "forecast", "NAMES", "--workload", "EVIL"}, {"horizontal", "forecast", "NAMES", "--method", "EVIL"}},
	"scalehist horizontal serve":     {{"horizontal", "serve", "--kubeconfig", "EVIL"}, {"horizontal", "serve", "--kubeconfig", "KUBECONFIG", "--context", "EVIL"}, {"horizontal", "serve", "--log-format", "EVIL"}},
	"scalehist import":               {{"import", "NAMESLOG", "-o", "OUT"}, {"import", "BADLOG", "-o", "OUT"}, {"import", "EVIL", "-o", "OUT"}, {"import", "--format", "EVIL", "EVIL", "-o", "OUT"}, {"import", "--format", "csv:metric=cpu", "NAMESLOG", "-o", "OUT"}, {"import", "--format", "prometheus", "BADLOG", "-o", "OUT"}, {"import", "--format", "google-2019", "NAMESLOG", "-o", "OUT"}},
	"scalehist inspect":              {{"inspect", "NAMES"}, {"inspect", "NAMES", "-o", "wide"}, {"inspect", "NAMES", "-o", "json"}, {"inspect", "HISTORY"}, {"inspect", "EVIL"}},
	"scalehist man":                  {{"man", "EVIL"}, {"man", "--dir", "EVIL/EVIL"}},
	"scalehist new":                  {{"new", "EVIL"}},
	"scalehist new scenario":         {{"new", "scenario", "NAMES"}, {"new", "scenario", "HISTORY"}, {"new", "scenario", "EVIL"}},
	"scalehist recommend":            {{"recommend", "--history", "HISTORY"}, {"recommend", "--history", "NAMES"}, {"recommend", "--history", "NAMES", "-o", "json"}, {"recommend", "--snapshot", "SNAPSHOT"}, {"recommend", "--snapshot", "EVIL"}, {"recommend", "--history", "HISTORY", "--strategy", "EVIL"}},
	"scalehist recommender":          {{"recommender", "EVIL"}},
	"scalehist recommender serve":    {{"recommender", "serve", "--listen", "EVIL"}},
	"scalehist record":               {{"record", "-o", "OUT", "--kubeconfig", "KUBECONFIG"}, {"record", "-o", "OUT", "--kubeconfig", "KUBECONFIG", "--context", "EVIL"}, {"record", "-o", "EVIL"}},
	"scalehist redact":               {{"redact", "NAMES", "-f", "OUT"}, {"redact", "HISTORY", "-f", "OUT", "-o", "json"}, {"redact", "HISTORY", "-f", "EVIL/EVIL"}},
	"scalehist replay":               {{"replay", "HISTORY"}, {"replay", "HISTORY", "-o", "json"}, {"replay", "HISTORY", "-v", "--report-dir", "OUTDIR"}, {"replay", "HISTORY", "-vvvv"}, {"replay", "NAMES"}, {"replay", "HISTORY", "--playback", "per-event"}, {"replay", "HISTORY", "--truth", "TRUTH"}, {"replay", "HISTORY", "--prices", "PRICES"}, {"replay", "REPORT", "--playback", "snapshots"}, {"replay", "HISTORY", "--autoscaler", "EVIL"}, {"replay", "HISTORY", "--faults", "EVIL"}, {"__complete", "replay", "NAMES", "--bounds", ""}},
	"scalehist report":               {{"report", "REPORT", "-o", "-"}, {"report", "REPORT", "-o", "OUT.html"}, {"report", "EVIL"}},
	"scalehist retain":               {{"retain", "NAMES", "--keep", "1s"}, {"retain", "EVIL", "--keep", "EVIL"}},
	"scalehist serve":                {{"serve", "--config", "CLUSTERS", "--check"}, {"serve", "--config", "EVIL", "--check"}},
	"scalehist sweep":                {{"sweep", "HISTORY", "--set", "expander=least-waste,EVIL"}, {"sweep", "HISTORY", "--set", "expander=least-waste,most-pods", "-o", "markdown"}, {"sweep", "HISTORY", "--set", "expander=least-waste,most-pods", "-o", "csv"}, {"sweep", "NAMES", "--set", "expander=least-waste,most-pods"}},
	"scalehist test":                 {{"test", "SCENARIO", "--artifacts", "OUTDIR"}, {"test", "SCENARIO", "--artifacts", "OUTDIR", "-o", "markdown", "--junit", "OUT.xml"}, {"test", "SCENARIO", "--artifacts", "OUTDIR", "-o", "json"}, {"test", "BADSCENARIO"}, {"test", "SCENARIO", "--list"}, {"test", "EVIL"}, {"__complete", "test", "SCENARIO", "--run", ""}},
	"scalehist vertical":             {{"vertical", "EVIL"}},
	"scalehist vertical serve":       {{"vertical", "serve", "--listen", "EVIL"}, {"vertical", "serve", "--recommender", "EVIL"}},
	"scalehist vertical recommend":   {{"vertical", "recommend", "--kubeconfig", "EVIL"}, {"vertical", "recommend", "--recommender", "EVIL"}, {"vertical", "recommend", "--kubeconfig", "KUBECONFIG", "--prometheus", "EVIL"}},
	"scalehist version":              {{"version", "EVIL"}},
	"scalehist view":                 {{"view", "REPORT"}, {"view", "EVIL"}},
}

// TestNothingOfOthersActs: whatever is in histories, logs, reports, policies, scenarios and arguments, every command prints printable text
// and lines of its own, in its text, in the files it writes and, in a workflow, in its annotations.
//
//scalehist:unraced
func TestNothingOfOthersActs(t *testing.T) {
	t.Setenv("SCALEHIST_CONTROL_PLANE", "memory")
	files := hostileFiles(t)
	seen := map[string]bool{}
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		seen[c.CommandPath()] = true
		runs, known := hostileRuns[c.CommandPath()]
		if !known {
			t.Errorf("%s: give it hostile input in hostileRuns", c.CommandPath())
		}
		if c.Runnable() {
			path := strings.Fields(c.CommandPath())[1:]
			runs = append(runs[:len(runs):len(runs)], append(path[:len(path):len(path)], "--x-EVIL"))
		}
		for _, args := range runs {
			t.Run(strings.Join(args, " "), func(t *testing.T) { hostileRun(t, files, args) })
		}
	})
	for path := range hostileRuns {
		if !seen[path] {
			t.Errorf("%s is no command", path)
		}
	}
}

// hostileRun runs one command line, in a workflow of GitHub and out of one, and checks all that comes of it.
func hostileRun(t *testing.T, files map[string]string, args []string) {
	for _, workflow := range []string{"", "true"} {
		dir := t.TempDir()
		out := map[string]string{"OUT": filepath.Join(dir, "out.db"), "OUT.xml": filepath.Join(dir, "out.xml"), "OUT.md": filepath.Join(dir, "out.md"), "OUT.html": filepath.Join(dir, "out.html"), "OUTDIR": filepath.Join(dir, "out")}
		line := make([]string, len(args))
		for i, arg := range args {
			line[i] = strings.ReplaceAll(arg, "EVIL", evil)
			for _, known := range []map[string]string{files, out} {
				if path, ok := known[arg]; ok {
					line[i] = path
				}
			}
		}
		t.Chdir(dir)
		var stdout, stderr bytes.Buffer
		env := map[string]string{ci.GitHubActions: workflow, ci.StepSummary: filepath.Join(dir, "step.md")}
		code := Execute(t.Context(), line, console.IO{In: strings.NewReader(""), Out: &stdout, Err: &stderr, Getenv: func(k string) string { return env[k] }})
		own := workflow != "" || strings.Contains(strings.Join(args, " "), "github")
		harmless(t, "stdout", stdout.String(), own)
		harmless(t, "stderr", stderr.String(), own)
		if strings.HasPrefix(strings.TrimSpace(stdout.String()), "{") && len(args) > 2 && args[len(args)-1] == "json" && !json.Valid(stdout.Bytes()) {
			t.Errorf("no JSON:\n%s", stdout.String())
		}
		if testing.Verbose() {
			t.Logf("exit %d\n%s\n%s", code, stdout.String(), stderr.String())
		}
		for _, pattern := range []string{"*.md", "*.xml", "*.html", "out/*.txt", "out/*/*.txt", "out/*.log", "out/*/*.log"} {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range paths {
				b, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				harmless(t, filepath.Base(path), string(b), true)
			}
		}
	}
}

// harmless checks every byte of a text. Where annotations of our own may be, only those with a title of ours pass.
func harmless(t *testing.T, what, text string, annotations bool) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8", what)
	}
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) && !unicode.Is(unicode.Zs, r) {
			t.Errorf("%s has %U: %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			break
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		_, message, _ := strings.Cut(strings.TrimPrefix(trimmed, "::"), "::")
		own := annotations && (strings.HasPrefix(trimmed, "::error file=") || strings.HasPrefix(trimmed, "::warning ") || strings.HasPrefix(trimmed, "::notice file=") ||
			strings.HasPrefix(trimmed, "::error title=") || strings.HasPrefix(trimmed, "::group::") || trimmed == "::endgroup::")
		if strings.HasPrefix(trimmed, "::") && (!own || strings.HasPrefix(message, "FORGED")) {
			t.Errorf("%s has a command: %q", what, line)
		}
		if strings.Contains(line, "##[") || strings.Contains(line, "##vso[") {
			if !annotations || !own {
				t.Errorf("%s has a command: %q", what, line)
			}
		}
		if strings.HasPrefix(line, "FORGED") || strings.HasPrefix(line, ": :") {
			t.Errorf("%s has a line of others: %q", what, line)
		}
	}
}
