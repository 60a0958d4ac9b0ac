package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
)

// TestReplayInMemory: by default a replay needs no binaries. It writes profiles when asked to, and says on what it ran.
func TestReplayInMemory(t *testing.T) {
	t.Setenv("PATH", "") // whatever a real API server would be built with
	t.Setenv("KUBEBUILDER_ASSETS", filepath.Join(t.TempDir(), "none"))
	cpu, heap := filepath.Join(t.TempDir(), "cpu.pprof"), filepath.Join(t.TempDir(), "heap.pprof")
	var out, errs bytes.Buffer
	code := Execute(t.Context(), []string{"replay", filepath.Join("..", "..", "..", "fixtures", "from-zero", "recording.db"),
		"-o", "json", "--cpu-profile", cpu, "--memory-profile", heap}, console.IO{Out: &out, Err: &errs})
	if code != 0 || !strings.Contains(out.String(), `"controlPlane": "memory"`) {
		t.Fatalf("exit %d, output without its control plane\n%.300s\n%s", code, out.String(), errs.String())
	}
	for _, profile := range []string{cpu, heap} {
		data, err := os.ReadFile(profile)
		if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			t.Errorf("%s: not a profile (%v)", filepath.Base(profile), err)
		}
	}
}

func TestControlPlaneFlag(t *testing.T) {
	file := filepath.Join("..", "..", "..", "fixtures", "from-zero", "recording.db")
	for _, test := range []struct {
		name, env string
		args      []string
		want      string
	}{
		{"unknown", "", []string{"--control-plane", "kind"}, `--control-plane "kind": want memory or envtest`},
		{"unknown default", "kwok", nil, `SCALEHIST_CONTROL_PLANE "kwok": want memory or envtest`},
		{"logs of nothing", "", []string{"--control-plane", "memory", "--log-dir", "logs"}, "has no processes that log"},
		{"profile nowhere", "", []string{"--control-plane", "memory", "--cpu-profile", filepath.Join(t.TempDir(), "no", "where")}, "--cpu-profile: open"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv(harness.ControlPlaneVariable, test.env)
			var out, errs bytes.Buffer
			if code := Execute(t.Context(), append([]string{"replay", file}, test.args...), console.IO{Out: &out, Err: &errs}); code != 2 {
				t.Errorf("exit %d, want 2", code)
			}
			if !strings.Contains(errs.String(), test.want) {
				t.Errorf("error %q, want %q", errs.String(), test.want)
			}
		})
	}
}
