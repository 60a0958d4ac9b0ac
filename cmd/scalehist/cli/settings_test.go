package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// runWith is run with environment variables.
func runWith(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	s := console.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(name string) string { return env[name] }, Environ: func() []string {
		var list []string
		for name, value := range env {
			list = append(list, name+"="+value)
		}
		return list
	}}
	code = Execute(t.Context(), args, s)
	return code, out.String(), errs.String()
}

func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ci.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPrecedence: the command line, a variable of the command, one of all, the file's section, the file, the default.
func TestPrecedence(t *testing.T) {
	file := configured(t, "seed: 2\nreplay:\n  seed: 3\n  fault: [\"stock-out:a@+1m\", \"quota:3@+2m\"]\n  bounds: {workers: \"1:20\"}\n")
	general := configured(t, "seed: 2\n")
	type env = map[string]string
	for _, tt := range []struct {
		name string
		env  env
		args []string
		want string // value and source of --seed of replay
	}{
		{"default", env{}, nil, "0 default"},
		{"file", env{}, []string{"--config-file", general}, "2 ci.yaml:1"},
		{"section", env{}, []string{"--config-file", file}, "3 ci.yaml:3"},
		{"file of a variable", env{"SCALEHIST_CONFIG_FILE": file}, nil, "3 ci.yaml:3"},
		{"variable", env{"SCALEHIST_SEED": "4"}, []string{"--config-file", file}, "4 SCALEHIST_SEED"},
		{"variable of the command", env{"SCALEHIST_SEED": "4", "SCALEHIST_REPLAY_SEED": "5"}, []string{"--config-file", file}, "5 SCALEHIST_REPLAY_SEED"},
		{"variable of another command", env{"SCALEHIST_SWEEP_SEED": "5"}, nil, "0 default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := runWith(t, tt.env, append([]string{"config", "show", "replay", "--all", "-o", "json"}, tt.args...)...)
			var list []shownSetting
			if err := json.Unmarshal([]byte(stdout), &list); err != nil || code != console.ExitOK {
				t.Fatalf("exit %d, %v, %q", code, err, stderr)
			}
			for _, l := range list {
				if got := l.Value + " " + filepath.Base(l.Source); l.Flag == "seed" && got != tt.want {
					t.Errorf("seed is %s, want %s", got, tt.want)
				}
			}
		})
	}
	_, stdout, _ := runWith(t, env{}, "config", "show", "replay", "--config-file", file)
	for _, want := range []string{"[stock-out:a@+1m,quota:3@+2m]", "[workers=1:20]"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("there is no %s in\n%s", want, stdout)
		}
	}
}

// TestSettingsReachTheCommand: what is set is what the command does, and the command line wins.
func TestSettingsReachTheCommand(t *testing.T) {
	env := map[string]string{"SCALEHIST_VERSION_OUTPUT": "json"}
	if _, stdout, _ := runWith(t, env, "version"); !strings.HasPrefix(stdout, "{") {
		t.Errorf("SCALEHIST_VERSION_OUTPUT=json printed %q", stdout)
	}
	if _, stdout, _ := runWith(t, env, "version", "-o", "table"); strings.HasPrefix(stdout, "{") {
		t.Errorf("with -o table it printed %q", stdout)
	}
	if _, stdout, _ := runWith(t, map[string]string{"SCALEHIST_OUTPUT": "json"}, "version"); strings.HasPrefix(stdout, "{") {
		t.Error("SCALEHIST_OUTPUT set the output of all commands, for some of which it is a file")
	}
	to := filepath.Join(t.TempDir(), "x.db")
	env = map[string]string{"SCALEHIST_CUT_OUT": to} // a required flag
	inRepository(t)
	if code, stdout, stderr := runWith(t, env, "cut", "idle-after-burst", "--to", "+1m"); code != console.ExitOK || !console.FileExists(to) {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
	_, _, stderr := runWith(t, map[string]string{"SCALEHIST_VERSION_OUTPUT": "json"}, "version", "-v")
	if !strings.Contains(stderr, "--output (SCALEHIST_VERSION_OUTPUT)") {
		t.Errorf("-v logs %q, want what the environment set", stderr)
	}
}

func TestSettingsErrors(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		env        map[string]string
		args       []string
		want       []string
	}{
		{"unknown key", "replay:\n  sede: 3\n", nil, nil, []string{`ci.yaml:2: "sede" is not a flag of scalehist replay; did you mean "seed"`}},
		{"unknown command", "repaly:\n  seed: 3\n", nil, nil, []string{`ci.yaml:1: "repaly" is not a command or a flag; did you mean "replay"`}},
		{"every mistake is told", "sede: 3\nx1: 2\n", nil, nil, []string{"ci.yaml:1:", "ci.yaml:2:"}},
		{"twice", "seed: 1\nseed: 2\n", nil, nil, []string{"ci.yaml:2: seed is there already, in line 1"}},
		{"command without flags", "replay: 3\n", nil, nil, []string{"ci.yaml:1: replay is a command"}},
		{"flag with flags", "seed: {a: b}\n", nil, nil, []string{"ci.yaml:1: seed: want a whole number"}},
		{"nothing", "seed:\n", nil, nil, []string{"ci.yaml:1: seed: want a whole number"}},
		{"output of all", "output: json\n", nil, nil, []string{"ci.yaml:1: output means another thing with each command"}},
		{"file of the file", "config-file: x\n", nil, nil, []string{"ci.yaml:1: config-file cannot be set here"}},
		{"no mapping", "- a\n", nil, nil, []string{"ci.yaml:1: want flags and commands"}},
		{"two documents", "seed: 1\n---\nseed: 2\n", nil, nil, []string{"more than one document"}},
		{"no YAML", "a: [\n", nil, nil, []string{"ci.yaml: "}},
		{"value", "version:\n  output: xml\n", nil, nil, []string{"ci.yaml:2: --output: must be table, json, wide"}},
		{"list", "version: {output: [a, b]}\n", nil, nil, []string{"--output takes one value, not a list"}},
		{"variable's value", "", map[string]string{"SCALEHIST_VERSION_OUTPUT": "xml"}, nil, []string{"SCALEHIST_VERSION_OUTPUT: --output: must be table"}},
		{"unknown variable", "", map[string]string{"SCALEHIST_VERSION_OUTPTU": "json"}, nil, []string{`SCALEHIST_VERSION_OUTPTU: scalehist version has no such flag; did you mean "SCALEHIST_VERSION_OUTPUT"`}},
		{"no file", "", map[string]string{"SCALEHIST_CONFIG_FILE": "nowhere.yaml"}, nil, []string{"SCALEHIST_CONFIG_FILE: open nowhere.yaml", "docs/configuration.md"}},
		{"who set the flag that does not fit", "redact: {salt-file: a}\n", nil, []string{"redact", "x.db", "-f", "y.db", "--save-salt", "b"}, []string{"salt-file", "not from the command line: --salt-file (", "ci.yaml:1)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := tt.args
			if args == nil {
				args = []string{"version"}
			}
			if tt.file != "" {
				args = append(args, "--config-file", configured(t, tt.file))
			}
			code, _, stderr := runWith(t, tt.env, args...)
			if code != console.ExitFailed {
				t.Errorf("exit %d, want %d", code, console.ExitFailed)
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("error %q, want %q in it", stderr, want)
				}
			}
		})
	}
}

// TestConfigurationPage: the file of docs/configuration.md is read, and shows as the page says.
func TestConfigurationPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	file, rest, _ := strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "--config-file ci.yaml\n")
	want, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no file, or no command that shows it")
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("ci.yaml", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := runWith(t, map[string]string{"SCALEHIST_SEED": "4"}, "config", "show", "replay", "--config-file", "ci.yaml")
	if code != console.ExitOK || stdout != want {
		t.Errorf("exit %d, %q, printed\n%swant\n%s", code, stderr, stdout, want)
	}
}

// FuzzConfigFile: no file makes it panic.
func FuzzConfigFile(f *testing.F) {
	for _, text := range []string{"", "seed: 3", "replay: {seed: 3, bounds: {a: 1}}", "a: &a {b: *a}", "? [x]\n: 3", "!!binary x: y", "<<: {seed: 3}"} {
		f.Add([]byte(text))
	}
	root := commandLine()
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = parseConfigFile(root, "x.yaml", b)
	})
}

// TestLogAmongTheFiles: with -v the log is one of the files of a replay, and standard error says where.
func TestLogAmongTheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "report")
	inRepository(t)
	code, _, stderr := run(t, t.Context(), "replay", "max-size-reached", "--control-plane", "memory", "--report-dir", dir, "-v")
	log, err := os.ReadFile(filepath.Join(dir, console.LogName))
	if err != nil || code == console.ExitFailed || !strings.Contains(string(log), "ScaleUpSuccessful") || !strings.Contains(stderr, "log: "+filepath.Join(dir, console.LogName)) {
		t.Errorf("exit %d, %v, error %q, log %q", code, err, stderr, log)
	}
}

// TestMan: a page a command, the same bytes every time.
func TestMan(t *testing.T) {
	dirs := [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		if code, _, stderr := runWith(t, map[string]string{epochVariable: "1700000000"}, "man", "--dir", dir); code != console.ExitOK {
			t.Fatalf("exit %d, %q", code, stderr)
		}
	}
	console.WalkCommands(commandLine(), func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		a, err := os.ReadFile(filepath.Join(dirs[0], name))
		b, err2 := os.ReadFile(filepath.Join(dirs[1], name))
		if err != nil || err2 != nil || !bytes.Equal(a, b) || !bytes.Contains(a, []byte("Nov 2023")) {
			t.Errorf("%s: %v, %v: %.200s", name, err, err2, a)
		}
	})
	if code, _, stderr := runWith(t, map[string]string{epochVariable: "today"}, "man", "--dir", t.TempDir()); code != console.ExitFailed || !strings.Contains(stderr, epochVariable) {
		t.Errorf("exit %d, %q", code, stderr)
	}
}
