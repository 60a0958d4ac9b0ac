package docstest

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// cluster starts an API server and returns a kubeconfig of it: somewhere to record from.
func cluster(t *testing.T) string {
	t.Helper()
	paths, err := assets.Ensure(t.Context(), assets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Dir(paths.KubeAPIServer)}
	if _, err := env.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, env.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
