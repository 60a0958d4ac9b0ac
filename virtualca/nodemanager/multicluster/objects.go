package multicluster

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist/virtualca/nodegroups/beside"
)

// Objects is a peering without another cluster: the nodes of shares are objects of an API server, some time after they were asked for.
type Objects struct {
	// Nodes is nil where there is no API server.
	Nodes beside.Nodes
	Clock clock.PassiveClock
	Delay time.Duration
}

var _ Peering = Objects{}

// Peer implements Peering.
func (o Objects) Peer(ctx context.Context, s Share) (bool, error) {
	if o.Clock.Since(s.AskedAt) < o.Delay {
		return false, nil
	}
	if o.Nodes == nil {
		return true, nil
	}
	return true, o.Nodes.Create(ctx, s.Node)
}

// Unpeer implements Peering.
func (o Objects) Unpeer(ctx context.Context, s Share) error {
	if o.Nodes == nil {
		return nil
	}
	return o.Nodes.Delete(ctx, s.Node.Name)
}
