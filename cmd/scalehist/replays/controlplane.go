package replays

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
	"github.com/scalehist/scalehist/harness"
	"github.com/scalehist/scalehist/harness/kvcl"
	"github.com/scalehist/scalehist/harness/kvcl/assets"
)

// addControlPlaneFlag adds --control-plane to a command that replays.
func addControlPlaneFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "control-plane", harness.DefaultControlPlane(), fmt.Sprintf(
		"what the virtual cluster runs on: %s (the API server's registries in this process), or %s (a real API server; the same report, much later). %s sets the default",
		harness.Memory, harness.EnvTest, harness.ControlPlaneVariable))
	if err := cmd.RegisterFlagCompletionFunc("control-plane", cobra.FixedCompletions(harness.ControlPlanes, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --control-plane: %v", err)) // only a second registration of the same flag fails
	}
}

// ControlPlane is the option for --control-plane. logs is where processes log.
func ControlPlane(cmd *cobra.Command, s console.IO, name, logs string) (harness.Option, error) {
	switch {
	case !slices.Contains(harness.ControlPlanes, name):
		from := "--control-plane"
		if !cmd.Flags().Changed("control-plane") {
			from = harness.ControlPlaneVariable
		}
		return nil, console.UsageErrorf(cmd, "%s %q: want %s", from, name, strings.Join(harness.ControlPlanes, " or "))
	case name == harness.EnvTest:
		return harness.WithControlPlane(name, func(ctx context.Context, o kvcl.Options) (kvcl.ControlPlane, error) {
			o.LogDir, o.Assets = logs, assets.Options{Progress: s.Err}
			plane, err := kvcl.Start(ctx, o)
			switch {
			case err == nil:
				return plane, nil
			case ctx.Err() != nil:
				return nil, err
			}
			return nil, fmt.Errorf("%w; --control-plane %s needs no processes", err, harness.Memory)
		}), nil
	case logs != "":
		return nil, console.UsageErrorf(cmd, "--log-dir: a control plane in memory has no processes that log; leave it out, or use --control-plane %s", harness.EnvTest)
	}
	return harness.OnControlPlane(name), nil
}
