package recorder

import (
	"context"
	"os"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/apitest"
)

// cluster is the API server all tests of the package share; each test works in a namespace of its own and removes its
// cluster-wide objects. It ends with this process, however that ends.
var cluster *rest.Config

// server is the same as processes. Tests that end it start it again, and run alone.
var server *kvcl.APIServer

// apiServer are the flags a test's API server has beyond those of a kvcl: it says who may what.
var apiServer = kvcl.RBACFlags()

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childRole)]; ok {
		os.Exit(run())
	}
	os.Exit(apitest.Run(m, apiServer, func(_ context.Context, started *kvcl.APIServer) error {
		server, cluster = started, started.RESTConfig()
		return nil
	}))
}
