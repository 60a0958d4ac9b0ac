package cloudprovider

import (
	"maps"
	"slices"
)

// Clone is a provider of its own in the same state: what one is asked for the other does not know. Templates, prices and
// options are shared, they never change.
func (p *Provider) Clone() *Provider {
	c := *p
	c.names, c.faultUsed, c.resizes = slices.Clone(p.names), slices.Clone(p.faultUsed), slices.Clone(p.resizes)
	c.used = maps.Clone(p.used)
	c.groups = make(map[string]*group, len(p.groups))
	c.instances = make(map[string]*instance, len(p.instances))
	for name, g := range p.groups {
		own := *g
		own.instances = make([]*instance, len(g.instances))
		for at, i := range g.instances {
			machine := *i
			own.instances[at] = &machine
			c.instances[machine.NodeName] = &machine
		}
		c.groups[name] = &own
	}
	return &c
}
