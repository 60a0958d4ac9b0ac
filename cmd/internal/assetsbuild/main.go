// Command assetsbuild finds the kube-apiserver and etcd of the virtual cluster, or builds them once, and prints where
// they are. `make assets` runs it, so that tests need not wait for a build.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	paths, err := assets.Ensure(ctx, assets.Options{Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
	fmt.Println("kube-apiserver and etcd:", filepath.Dir(paths.KubeAPIServer))
}
