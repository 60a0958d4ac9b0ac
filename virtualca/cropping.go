package virtualca

// bucket are nodes of one group that may go now.
type bucket struct {
	group string
	nodes []*unneededNode
}

// crop cuts the nodes that may go to what may be removed at a time (core/scaledown/budgets): total removals, and of them
// those with pods to move. Zero-or-max groups come first and whole; one of them may overshoot, or it could never go.
// Then single empty nodes, then single nodes to drain, group by group in the order in which the groups first appear.
func (l *loop) crop(empty, drained []*unneededNode) (_, _ []*unneededNode) {
	d, s := l.a.down.deletions, &l.a.settings.Down
	emptyWhole, emptySingle := l.buckets(empty)
	drainWhole, drainSingle := l.buckets(drained)
	total := s.MaxParallelism - d.count()
	drains := s.MaxDrain - len(d.draining())
	mayOvershoot := true
	var emptyOut, drainOut []*unneededNode
	for _, b := range emptyWhole {
		others := drainWhole.of(b.group)
		if total < len(b.nodes)+len(others) || drains < len(others) {
			if total <= 0 || (len(others) > 0 && drains <= 0) || !mayOvershoot {
				break
			}
			mayOvershoot = false
		}
		emptyOut, drainOut = append(emptyOut, b.nodes...), append(drainOut, others...)
		total -= len(b.nodes) + len(others)
		drains -= len(others)
	}
	drains = min(total, drains)
	for _, b := range drainWhole {
		if emptyWhole.of(b.group) != nil {
			continue // taken or left above
		}
		if drains < len(b.nodes) {
			if drains <= 0 || !mayOvershoot {
				break
			}
			mayOvershoot = false
		}
		drainOut = append(drainOut, b.nodes...)
		total -= len(b.nodes)
		drains -= len(b.nodes)
	}
	single := emptySingle.first(total)
	emptyOut = append(emptyOut, single...)
	total -= len(single)
	return emptyOut, append(drainOut, drainSingle.first(min(total, drains))...)
}

type buckets []bucket

// buckets groups nodes by node group, zero-or-max groups apart from others, in the order of each group's first node.
func (l *loop) buckets(nodes []*unneededNode) (whole, single buckets) {
	for _, u := range nodes {
		to := &single
		if l.zeroOrMax(u.group) {
			to = &whole
		}
		to.add(u)
	}
	return whole, single
}

func (b *buckets) add(u *unneededNode) {
	for i := range *b {
		if (*b)[i].group == u.group {
			(*b)[i].nodes = append((*b)[i].nodes, u)
			return
		}
	}
	*b = append(*b, bucket{u.group, []*unneededNode{u}})
}

func (b buckets) of(group string) []*unneededNode {
	for i := range b {
		if b[i].group == group {
			return b[i].nodes
		}
	}
	return nil
}

// first lists up to n nodes, group by group.
func (b buckets) first(n int) []*unneededNode {
	var out []*unneededNode
	for i := range b {
		for _, u := range b[i].nodes {
			if len(out) >= n {
				return out
			}
			out = append(out, u)
		}
	}
	return out
}
