package deps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// readGoMod is this module's go.mod.
func readGoMod(t *testing.T) *modfile.File {
	t.Helper()
	path := filepath.Join("..", "..", "go.mod")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNothingIsReplaced: a replace is ignored in modules that import this one, and go install refuses it.
func TestNothingIsReplaced(t *testing.T) {
	for _, r := range readGoMod(t).Replace {
		t.Errorf("go.mod replaces %s: require the version that is meant", r.Old.Path)
	}
}

// TestStagingModulesAreRequired: all that k8s.io/kubernetes requires at v0.0.0, of its minor version and not older than it. Some are newer:
// the Vertical Pod Autoscaler's module wants them so, and not every module is served at every patch.
func TestStagingModulesAreRequired(t *testing.T) {
	required := map[string]string{}
	for _, r := range readGoMod(t).Require {
		required[r.Mod.Path] = r.Mod.Version
	}
	want := strings.Replace(required["k8s.io/kubernetes"], "v1.", "v0.", 1)
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	data, err := os.ReadFile(strings.TrimSpace(string(dir)))
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := modfile.ParseLax("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, r := range kubernetes.Require {
		if r.Mod.Version != "v0.0.0" {
			continue
		}
		count++
		if got := required[r.Mod.Path]; semver.MajorMinor(got) != semver.MajorMinor(want) || semver.Compare(got, want) < 0 {
			t.Errorf("go.mod requires %s %q, want %s or a later patch: go get %[1]s@%[3]s, and import a package of it in staging.go if tidy drops it",
				r.Mod.Path, got, want)
		}
	}
	if count < 30 {
		t.Errorf("k8s.io/kubernetes requires %d modules at v0.0.0, want the 31 of v1.36 or so", count)
	}
}

// A module that imports this one, as its author writes it.
const consumerSpec = `package consumer

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/scalehist/scalehist/engines"
	"github.com/scalehist/scalehist/harness"
	. "github.com/scalehist/scalehist/harness/expect"
)

func TestReplay(t *testing.T) {
	g := NewWithT(t)
	r, err := harness.NewReplayer(t.Context(), RECORDING,
		harness.WithAutoscaler(engines.ClusterAutoscaler()), harness.OnControlPlane(harness.Memory))
	g.Expect(err).NotTo(HaveOccurred())
	defer r.Close()
	report, err := r.Replay(t.Context(), r.RecordDuration())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(report).To(HaveScaledUp(ScaleUps{"batch": 3}))
	g.Expect(report).To(LeaveUnschedulable())
}
`

// TestConsumerModule: a module elsewhere, with no replace but the one that finds this checkout, tidies, and replays in a spec of its
// own. Only the module proxy is asked, for what the module cache does not have.
func TestConsumerModule(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod := readGoMod(t)
	gomega := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == "github.com/onsi/gomega" })
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module example.com/consumer\n\ngo %s\n\nrequire %s\n\nreplace %s => %q\n",
			mod.Go.Version, strings.Replace(mod.Require[gomega].Mod.String(), "@", " ", 1), mod.Module.Mod.Path, root),
		"go.sum": string(sums), // else a database of checksums is asked
		"replay_test.go": strings.Replace(consumerSpec, "RECORDING",
			strconv.Quote(filepath.Join(root, "fixtures", "from-zero", "recording.db")), 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"mod", "tidy"},
		// As make build and other tests build, so that they share what is built.
		{"test", "-trimpath", "-vet=off", "-count=1", "-v", "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOSUMDB=off", "KUBEBUILDER_ASSETS=/nowhere")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		if args[0] == "test" && !strings.Contains(string(out), "--- PASS: TestReplay") {
			t.Errorf("the spec did not run:\n%s", out)
		}
	}
}
