package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalehist/scalehist/internal/realprogram/realtest"
)

// binary is a shell script in place of a cluster-autoscaler.
func binary(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster-autoscaler")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

const help = `Usage of cluster-autoscaler:
      --cloud-config string                 The path to the cloud provider configuration file.
      --cloud-provider string               Cloud provider type. Available values: [externalgrpc] (default "externalgrpc")
      --expander string                     Type of node group expander
      --kube-client-qps float32             QPS (default 5)
      --max-graceful-termination-sec int    Maximum number of seconds (default 600)
      --max-binpacking-time duration        Maximum time (default 5m0s)
      --balance-similar-node-groups         Detect similar node groups
      --scale-down-unneeded-time duration   How long a node should be unneeded (default 10m0s)
      --scale-down-delay-after-delete duration   How long (default 0s)
      --scan-interval duration              How often (default 10s)
  -v, --v Level                             number for the log level verbosity
`

func helping(t *testing.T) string {
	return binary(t, "cat <<'EOF'\n"+help+"EOF\n")
}

func TestWhatIsNoClusterAutoscaler(t *testing.T) {
	for name, c := range map[string]struct{ path, want string }{
		"nothing":           {filepath.Join(t.TempDir(), "absent"), "no such file"},
		"another program":   {binary(t, "echo Usage: cat [OPTION]... [FILE]..."), "want a cluster-autoscaler that is built with the externalgrpc provider"},
		"one that fails":    {binary(t, "exit 3"), "exit status 3"},
		"another provider":  {binary(t, "cat <<'EOF'\n"+strings.Replace(help, "[externalgrpc]", "[aws gce]", 1)+"EOF\n"), "has no cloud provider externalgrpc, but aws gce"},
		"a text file":       {func() string { p := helping(t); _ = os.WriteFile(p, []byte("\x00"), 0o755); return p }(), "exec format error"},
		"not an executable": {func() string { p := helping(t); _ = os.Chmod(p, 0o644); return p }(), "permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := knownFlags(t.Context(), c.path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	path := helping(t)
	for flag, want := range map[string]string{
		"--expander=price": "", "--balance-similar-node-groups": "", "--scan-interval=5s": "",
		"--expandr=price":    `has no such flag; did you mean "expander"?`,
		"--v=9":              "the replay sets it",
		"--cloud-config=x":   "the replay sets it",
		"--expander":         "write --expander=VALUE",
		"least-waste":        "want --name=value",
		"--kubeconfig=/root": "has no such flag",
	} {
		err := Check(t.Context(), path, []string{flag})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", flag, err, want)
		}
	}
}

func TestFlagsOfARecording(t *testing.T) {
	known, err := knownFlags(t.Context(), helping(t))
	if err != nil {
		t.Fatal(err)
	}
	recorded := []string{
		"./cluster-autoscaler", "--v=4", "--cloud-provider=aws", "--nodes=1:3:a", "--expander=***", "--skip-nodes-with-everything=true", "--scan-interval=20s",
		"--balance-similar-node-groups", "--scan-interval=30s",
	}
	flags, warnings := usable(recorded, known)
	if diff := cmp.Diff([]string{"--scan-interval=20s", "--balance-similar-node-groups", "--scan-interval=30s"}, flags); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	want := []string{"recorded flags that the binary does not have, left out: --skip-nodes-with-everything", "recorded flags whose values were not kept, left out: --expander"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	plain, err := scaled(flags, known, 1)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(flags, "--v=5"), plain); diff != "" {
		t.Errorf("in real time (-want +got):\n%s", diff)
	}
	fast, err := scaled(flags, known, 10)
	if err != nil {
		t.Fatal(err)
	}
	// Times of the policy are divided, given or not; what bounds the work of a loop is left.
	divided := append(flags, "--kube-client-qps=50", "--max-graceful-termination-sec=60", "--scale-down-delay-after-delete=0s", "--scale-down-unneeded-time=1m0s", "--scan-interval=3s", "--v=5")
	if diff := cmp.Diff(divided, fast); diff != "" {
		t.Errorf("ten times as fast (-want +got):\n%s", diff)
	}
}

// TestEveryScaledFlagIsOneOfTheRealProgram: a name that is spelt wrong would be left as it is.
func TestEveryScaledFlagIsOneOfTheRealProgram(t *testing.T) {
	known, err := knownFlags(t.Context(), realtest.ClusterAutoscaler(t, "../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range policy {
		if known[name].kind != "duration" {
			t.Errorf("--%s is of type %q", name, known[name].kind)
		}
	}
	if _, ok := known[everyEvent]; !ok {
		t.Errorf("--%s is none of its flags", everyEvent)
	}
}
