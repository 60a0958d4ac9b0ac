package multicluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/scalehist/scalehist/internal/docstore"
	"github.com/scalehist/scalehist/virtualca/externalgrpc"
	"github.com/scalehist/scalehist/virtualca/nodemanager"
)

// TargetSize implements externalgrpc.Sizes.
func (p *Pool) TargetSize(_ context.Context, id string) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.group(id); err != nil {
		return 0, err
	}
	return target(p.of(id)), nil
}

// IncreaseSize implements externalgrpc.Sizes. Where only some of the nodes can be had, the others are instances without resources, which the
// autoscaler gives back; where none can be had, nothing is asked for.
func (p *Pool) IncreaseSize(ctx context.Context, id string, delta int) error {
	list, err := p.clusters(ctx)
	if err != nil {
		return fmt.Errorf("increase node group %s by %d: %w", id, delta, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.group(id)
	if err != nil {
		return err
	}
	if delta <= 0 {
		return fmt.Errorf("increase node group %s by %d: %w", id, delta, externalgrpc.ErrInvalid)
	}
	if size := target(p.of(id)); delta > g.MaxSize-size {
		return fmt.Errorf("increase node group %s from %d by %d: %w: its maximum is %d", id, size, delta, externalgrpc.ErrExhausted, g.MaxSize)
	}
	now := p.o.Clock.Now().UTC()
	seq, next := p.lastSeq(), p.next[id]
	asked := map[string]*machine{}
	defer func() { // offers are less what was asked for: those that were not granted are none
		for name := range asked {
			delete(p.machines, name)
		}
	}()
	var refused error
	for n := range delta {
		m := &machine{Group: id, Seq: seq + n + 1, State: externalgrpc.Creating, CreatedAt: now}
		m.ID, next = p.nextName(id, next)
		if refused == nil {
			best, err := p.choose(ctx, g, list, "")
			switch {
			case err == nil:
				m.take(best)
			case n == 0:
				return fmt.Errorf("increase by %d: %w", delta, err)
			default:
				refused = err
			}
		}
		if refused != nil {
			m.Error = outOfResources(refused)
		}
		asked[m.ID], p.machines[m.ID] = m, m
	}
	granted := asked
	if err := p.commit(ctx, granted, func(tx *docstore.Tx) error { return tx.Put(groupBucket, id, groupState{Next: next, Own: p.own(id)}) }); err != nil {
		return err
	}
	p.next[id], asked = next, nil
	for _, m := range p.of(id) {
		if granted[m.ID] != nil && m.Cluster != "" {
			p.o.Said(fmt.Sprintf("node %s of %s borrows from cluster %s", m.ID, id, m.Cluster), nil)
		}
	}
	return nil
}

// take makes a machine a share of an offer.
func (m *machine) take(o offer) {
	m.Cluster, m.Granted, m.Labels, m.Gone = o.cluster.Name, o.granted, labelsOf(o.cluster), false
}

func outOfResources(err error) *externalgrpc.InstanceError {
	return &externalgrpc.InstanceError{Code: "NO_CLUSTER_FITS", Message: err.Error(), Class: externalgrpc.OutOfResources}
}

func (p *Pool) lastSeq() (seq int) {
	for _, m := range p.machines {
		seq = max(seq, m.Seq)
	}
	return seq
}

// nextName is "<group>-<n>", and the number after it.
func (p *Pool) nextName(group string, n int) (string, int) {
	for ; ; n++ {
		if name := fmt.Sprintf("%s-%d", group, n); p.machines[name] == nil {
			return name, n + 1
		}
	}
}

// own is the specification of a group that was created by a call; nil of one of the configuration.
func (p *Pool) own(id string) *Group {
	if slices.ContainsFunc(p.o.Config.Groups, func(g Group) bool { return g.Name == id }) {
		return nil
	}
	return p.groups[id]
}

// DecreaseTargetSize implements externalgrpc.Sizes: the newest requests are taken back first, those without resources before all.
func (p *Pool) DecreaseTargetSize(ctx context.Context, id string, delta int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.group(id); err != nil {
		return err
	}
	if delta <= 0 {
		return fmt.Errorf("decrease the target size of node group %s by %d: %w", id, delta, externalgrpc.ErrInvalid)
	}
	var creating []*machine
	for _, m := range p.of(id) {
		if m.State == externalgrpc.Creating {
			creating = append(creating, m)
		}
	}
	if delta > len(creating) {
		return fmt.Errorf("decrease the target size of node group %s by %d: %w: %d of its nodes are not there yet, and others are not deleted for it",
			id, delta, externalgrpc.ErrPrecondition, len(creating))
	}
	slices.Reverse(creating)
	slices.SortStableFunc(creating, func(a, b *machine) int { return have(a.Error == nil) - have(b.Error == nil) })
	changed := map[string]*machine{}
	for _, m := range creating[:delta] {
		changed[m.ID] = m.deleting()
	}
	return p.commit(ctx, changed, nil)
}

func have(b bool) int {
	if b {
		return 1
	}
	return 0
}

// deleting is a machine that is to be given back; nil if nothing was borrowed.
func (m *machine) deleting() *machine {
	if m.Cluster == "" {
		return nil
	}
	next := *m
	next.State, next.Error = externalgrpc.Deleting, nil
	return &next
}

// DeleteNodes implements externalgrpc.Instances.
func (p *Pool) DeleteNodes(ctx context.Context, id string, nodes []externalgrpc.Node) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	g, err := p.group(id)
	if err != nil {
		return err
	}
	all := p.of(id)
	changed, running := map[string]*machine{}, 0
	for _, n := range nodes {
		at := slices.IndexFunc(all, func(m *machine) bool { return m.is(n) })
		if at < 0 {
			return fmt.Errorf("delete nodes of %s: node %q (%q): %w: it is not one of its machines", id, n.Name, n.ProviderID, externalgrpc.ErrPrecondition)
		}
		m := all[at]
		if _, twice := changed[m.ID]; twice || m.State == externalgrpc.Deleting {
			return fmt.Errorf("delete nodes of %s: node %s: %w: it is being deleted already", id, m.ID, externalgrpc.ErrPrecondition)
		}
		if m.State == externalgrpc.Running {
			running++
		}
		changed[m.ID] = m.deleting()
	}
	if size := target(all); running > 0 && size-len(changed) < g.MinSize {
		return fmt.Errorf("delete %d of %d nodes of %s: %w: its minimum is %d", len(changed), size, id, externalgrpc.ErrPrecondition, g.MinSize)
	}
	return p.commit(ctx, changed, nil)
}

// is says whether a node is the machine's. One that never joined has the machine's id as name, too.
func (m *machine) is(n externalgrpc.Node) bool {
	if n.ProviderID != "" {
		return n.ProviderID == m.providerID()
	}
	return n.Name == m.ID || n.Name == m.providerID()
}

// CreateGroup implements nodemanager.Groups.
func (p *Pool) CreateGroup(ctx context.Context, in externalgrpc.NodeGroup, like string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.groups[in.ID]; ok {
		return fmt.Errorf("node group %s is there already: %w", in.ID, externalgrpc.ErrPrecondition)
	}
	old, err := p.group(like)
	if err != nil {
		return err
	}
	g := *old
	g.Name, g.MinSize, g.MaxSize = in.ID, in.MinSize, in.MaxSize
	if err := g.check(); err != nil {
		return fmt.Errorf("node group %s: %w: %w", in.ID, externalgrpc.ErrInvalid, err)
	}
	state := groupState{Next: p.next[g.Name], Own: &g}
	if err := p.commit(ctx, nil, func(tx *docstore.Tx) error { return tx.Put(groupBucket, g.Name, state) }); err != nil {
		return err
	}
	p.add(&g)
	return nil
}

// DestroyGroup implements nodemanager.Groups.
func (p *Pool) DestroyGroup(ctx context.Context, id string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, err := p.group(id); err != nil {
		return err
	}
	if n := len(p.of(id)); n > 0 {
		return fmt.Errorf("node group %s has %d nodes: delete them first: %w", id, n, externalgrpc.ErrPrecondition)
	}
	if err := p.commit(ctx, nil, func(tx *docstore.Tx) error {
		return tx.Put(groupBucket, id, groupState{Next: p.next[id], Removed: true})
	}); err != nil {
		return err
	}
	p.remove(id)
	return nil
}

// Changed implements nodemanager.Groups.
func (p *Pool) Changed(ctx context.Context, key string) (bool, error) {
	return nodemanager.Committed(ctx, p.o.Store, key)
}
