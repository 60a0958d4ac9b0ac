package cloudprovider

import "time"

// Resume is Fill for nodes that were asked for before now: requested lists, by group and in order, when. Each joins
// its provision delay after its request, at once if that has passed. A group with fewer requests listed than nodes
// missing asks for the rest now.
func (p *Provider) Resume(now time.Time, requested map[string][]time.Time) {
	for _, name := range p.names {
		g := p.groups[name]
		at := requested[name]
		missing := g.TargetSize - g.live()
		if extra := len(at) - missing; extra > 0 {
			at = at[extra:] // the oldest have joined, whatever their nodes are called
		}
		for i := range missing {
			when := now
			if i < len(at) {
				when = at[i]
			}
			p.request(g, when)
		}
	}
}
