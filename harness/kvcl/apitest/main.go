package apitest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/scalehist/scalehist/harness/kvcl"
)

// Run runs a package's tests against an API server with those flags, after setUp, and gives the exit code. It writes to stderr what fails.
func Run(m *testing.M, flags map[string]string, setUp func(context.Context, *kvcl.APIServer) error) int {
	ctx := context.Background()
	server, err := kvcl.StartAPIServer(ctx, kvcl.Options{APIServerFlags: flags})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 1
	if err := setUp(ctx, server); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
