package assets

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
)

var update = flag.Bool("update", false, "write controlplane.mod and controlplane.sum with the versions of go.mod")

// requirements are the versions that a module file requires.
func requirements(t *testing.T, path string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := modfile.Parse(path, data, nil)
	if err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, r := range f.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions
}

// TestControlPlaneHasOurVersions: kube-apiserver is built of the modules that the control plane in memory is linked from.
func TestControlPlaneHasOurVersions(t *testing.T) {
	ours := requirements(t, filepath.Join("..", "..", "..", "go.mod"))
	dir := t.TempDir()
	var edits []string
	for module, version := range requirements(t, "controlplane.mod") {
		if want := ours[module]; want != "" && want != version {
			edits = append(edits, "-require="+module+"@"+want)
			if !*update {
				t.Errorf("controlplane.mod requires %s %s, go.mod %s: go test ./harness/kvcl/assets -update", module, version, want)
			}
		}
	}
	if !*update {
		return
	}
	// A module of its own in another directory: here, go mod tidy would look at the packages of this one.
	for from, to := range map[string]string{"controlplane.mod": "go.mod", "controlplane.sum": "go.sum"} {
		copyFile(t, from, filepath.Join(dir, to))
	}
	for _, args := range [][]string{append([]string{"mod", "edit", "-module=controlplane"}, edits...), {"mod", "tidy"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	for from, to := range map[string]string{"go.mod": "controlplane.mod", "go.sum": "controlplane.sum"} {
		copyFile(t, filepath.Join(dir, from), to)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
