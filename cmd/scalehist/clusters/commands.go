// Package clusters has the commands that run beside clusters, or serve what does: providers of node groups and what they ask, autoscalers of workloads,
// and recommenders.
package clusters

import (
	"github.com/spf13/cobra"

	"github.com/scalehist/scalehist/cmd/scalehist/console"
)

// Commands are the constructors of the commands of this package.
func Commands() []func(console.IO) *cobra.Command {
	return []func(console.IO) *cobra.Command{
		newProviderCommand, newNodeManagerCommand, newDiscoveryCommand, newRecommenderCommand, newHorizontalCommand, newVerticalCommand,
	}
}
