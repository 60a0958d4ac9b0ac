package cloudprovider

import "time"

// Resize is one change of a target size that was asked for and granted.
type Resize struct {
	At       time.Time
	Group    string
	From, To int
	// Nodes are the nodes deleted by it, if any.
	Nodes []string
}

// Resizes lists every change of a target size so far, in order. Changes of the recorded bounds are not among them.
func (p *Provider) Resizes() []Resize { return p.resizes }

func (p *Provider) resized(at time.Time, g *group, from int, nodes []string) {
	if g.TargetSize != from {
		p.resizes = append(p.resizes, Resize{At: at, Group: g.Name, From: from, To: g.TargetSize, Nodes: nodes})
	}
}
