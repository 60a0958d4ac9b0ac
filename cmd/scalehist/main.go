// Command scalehist records a Kubernetes cluster's scaling history and replays it through any autoscaler.
package main

import (
	"os"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
)

func main() { os.Exit(cli.Main()) }
