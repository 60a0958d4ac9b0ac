// Command scalehist records a Kubernetes cluster's scaling history and replays it through any autoscaler.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/scalehist/scalehist/cmd/scalehist/cli"
)

func main() { os.Exit(run()) }

// run gives the command a context that the first Ctrl-C (or SIGTERM) cancels, so that it can stop cleanly; the second
// one exits at once. What a replay leaves behind then is reaped by the next one.
func run() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(cli.ExitInterrupted)
	}()
	return cli.Execute(ctx, os.Args[1:], cli.Stdio())
}
