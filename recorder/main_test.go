package recorder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// cluster is the API server all tests of the package share; each test works in a namespace of its own and removes its
// cluster-wide objects.
var cluster *rest.Config

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	paths, err := assets.Ensure(context.Background(), assets.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	env := &envtest.Environment{BinaryAssetsDirectory: filepath.Dir(paths.KubeAPIServer)}
	if cluster, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start an API server:", err)
		return 1
	}
	cluster.QPS = -1
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop the API server:", err)
		return 1
	}
	return code
}
