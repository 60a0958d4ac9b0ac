package recorder

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/harness/kvcl"
)

// cluster is the API server all tests of the package share; each test works in a namespace of its own and removes its
// cluster-wide objects. It ends with this process, however that ends.
var cluster *rest.Config

// apiServer are the flags a test's API server has beyond those of a kvcl: it says who may what.
var apiServer = kvcl.RBACFlags()

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childRole)]; ok {
		os.Exit(run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	plane, err := kvcl.Start(context.Background(), kvcl.Options{Now: time.Now(), APIServerFlags: apiServer})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cluster = plane.RESTConfig()
	code := m.Run()
	if err := plane.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
