package multicluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist/virtualca/discovery"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
)

// Share is a share of a cluster as a Peering sees it.
type Share struct {
	// Cluster gives it; only the name is known of one that is Gone.
	Cluster discovery.Cluster
	// Node is the virtual node as it should be.
	Node *corev1.Node
	// AskedAt is when it was asked for.
	AskedAt time.Time
	// Last: nothing else is borrowed from the cluster. Gone: the cluster is not listed any more.
	Last, Gone bool
}

// Peering makes shares nodes of this cluster. Both calls come again, after an error and after a restart, and then find what was done before; calls for
// different shares come at once.
type Peering interface {
	// Peer sees to a share and says whether its node is Ready.
	Peer(ctx context.Context, s Share) (ready bool, err error)
	// Unpeer gives a share back.
	Unpeer(ctx context.Context, s Share) error
}

// PeeringError is a failure that another try does not mend.
type PeeringError struct {
	Code, Message string
}

func (e *PeeringError) Error() string { return e.Message }

// poll is how often a peering under way is looked at.
const poll = time.Second

// atOnce is how many peerings are worked on at once.
const atOnce = 8

// Run works on what was asked for until ctx ends.
func (p *Pool) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	places := make(chan struct{}, atOnce)
	for {
		for _, one := range p.due(ctx) {
			wg.Go(func() {
				defer p.free(one.id)
				select {
				case places <- struct{}{}:
					defer func() { <-places }()
					p.do(ctx, one)
				case <-ctx.Done():
				}
			})
		}
		timer := p.o.Clock.NewTimer(poll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// Step does once what Run does all the time, one after the other.
func (p *Pool) Step(ctx context.Context) {
	for _, one := range p.due(ctx) {
		p.do(ctx, one)
		p.free(one.id)
	}
}

// work is a share, and what is to be done about it.
type work struct {
	id    string
	state externalgrpc.State
	share Share
	// left is a cluster that it was to borrow from before.
	left string
}

func (p *Pool) free(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, id)
}

// due is what is to be done and nobody works on. Machines whose cluster vanished borrow from another one, or are lost.
func (p *Pool) due(ctx context.Context) (out []work) {
	list, listed := p.clusters(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Clock.Now()
	leaving := map[string]bool{} // a cluster is left by one machine after the other: the last one unpeers it
	for id := range p.busy {
		if m := p.machines[id]; m != nil && m.State == externalgrpc.Deleting {
			leaving[m.Cluster] = true
		}
	}
	for _, m := range p.ordered() {
		if p.busy[m.ID] || m.Cluster == "" {
			continue
		}
		at := slices.IndexFunc(list, func(c discovery.Cluster) bool { return c.Name == m.Cluster })
		if listed == nil && at < 0 && !m.Gone {
			p.vanished(ctx, m, list)
			if m = p.machines[m.ID]; m == nil || m.Cluster == "" {
				continue
			}
			at = slices.IndexFunc(list, func(c discovery.Cluster) bool { return c.Name == m.Cluster })
		}
		if m.State == externalgrpc.Running || m.State == externalgrpc.Creating && m.Error != nil {
			continue
		}
		if m.State == externalgrpc.Creating && now.Sub(m.CreatedAt) >= p.timeout {
			p.failed(ctx, m, &PeeringError{"PEERING_TIMEOUT", fmt.Sprintf("cluster %s gave no node within %s", m.Cluster, p.timeout)})
			continue
		}
		if m.State == externalgrpc.Creating && at < 0 {
			continue // nobody can say how it is reached
		}
		if m.State == externalgrpc.Deleting {
			if leaving[m.Cluster] {
				continue
			}
			leaving[m.Cluster] = true
		}
		w := work{m.ID, m.State, Share{Cluster: discovery.Cluster{Name: m.Cluster}, AskedAt: m.CreatedAt, Gone: m.Gone, Last: p.last(m)}, m.Left}
		if at >= 0 {
			w.share.Cluster = list[at]
		}
		g := p.groups[m.Group]
		if g == nil {
			g = &Group{Name: m.Group}
		}
		w.share.Node = node(g, m.ID, m.providerID(), m.Granted, m.Labels)
		p.busy[m.ID] = true
		out = append(out, w)
	}
	return out
}

// last: no other machine borrows from the cluster of this one.
func (p *Pool) last(of *machine) bool {
	for _, m := range p.machines {
		if m.ID != of.ID && m.Cluster == of.Cluster {
			return false
		}
	}
	return true
}

// vanished is a machine whose cluster is not listed any more. While it is being created another cluster may give it; later it is lost, and the group
// smaller: its pods will ask for more.
func (p *Pool) vanished(ctx context.Context, m *machine, list []discovery.Cluster) {
	next := *m
	switch m.State {
	case externalgrpc.Creating:
		from := next.Cluster
		next.Cluster, next.Left = "", from
		if m.Error == nil {
			best, err := p.choose(ctx, p.groups[m.Group], list, from)
			if err == nil {
				next.take(best)
				p.o.Said(fmt.Sprintf("cluster %s vanished: node %s borrows from cluster %s", from, m.ID, next.Cluster), nil)
			} else {
				next.Error = outOfResources(fmt.Errorf("cluster %s vanished: %w", from, err))
			}
		}
	case externalgrpc.Running:
		next.State, next.Gone = externalgrpc.Deleting, true
		p.o.Said(fmt.Sprintf("cluster %s vanished: node %s is lost", m.Cluster, m.ID), nil)
	default:
		next.Gone = true
	}
	p.save(ctx, &next)
}

func (p *Pool) save(ctx context.Context, m *machine) {
	if err := p.commit(ctx, map[string]*machine{m.ID: m}, nil); err != nil {
		p.o.Said("node "+m.ID, err) // it is tried again
	}
}

// failed gives a machine its error; what it holds is given back when the autoscaler deletes it.
func (p *Pool) failed(ctx context.Context, m *machine, e *PeeringError) {
	next := *m
	next.Error = &externalgrpc.InstanceError{Code: e.Code, Message: e.Message, Class: externalgrpc.OtherError}
	p.o.Said("node "+m.ID+" will not come", e)
	p.save(ctx, &next)
}

// do peers or unpeers one share, and writes down what became of it.
func (p *Pool) do(ctx context.Context, w work) {
	var ready bool
	var err error
	if w.left != "" {
		before := w.share
		before.Cluster, before.Gone, before.Last = discovery.Cluster{Name: w.left}, true, true
		err = p.o.Peering.Unpeer(ctx, before)
	}
	if err != nil {
		err = fmt.Errorf("what was begun in cluster %s, which vanished: %w", w.left, err)
	} else if w.state == externalgrpc.Creating {
		ready, err = p.o.Peering.Peer(ctx, w.share)
	} else {
		err = p.o.Peering.Unpeer(ctx, w.share)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.machines[w.id]
	if m == nil || m.State != w.state || m.Cluster != w.share.Cluster.Name {
		return // it is wanted otherwise meanwhile: the next round sees to that
	}
	var final *PeeringError
	switch {
	case w.state == externalgrpc.Creating && errors.As(err, &final):
		p.failed(ctx, m, final)
	case err != nil:
		if ctx.Err() == nil {
			p.o.Said("node "+w.id+": it is tried again", err)
		}
	case w.state == externalgrpc.Deleting:
		if err := p.commit(ctx, map[string]*machine{w.id: nil}, nil); err != nil {
			p.o.Said("node "+w.id, err)
			return
		}
		p.o.Said(fmt.Sprintf("node %s is given back to cluster %s", w.id, w.share.Cluster.Name), nil)
	case ready:
		next := *m
		next.State, next.Left = externalgrpc.Running, ""
		p.save(ctx, &next)
		p.o.Said(fmt.Sprintf("node %s joined", w.id), nil)
	}
}
