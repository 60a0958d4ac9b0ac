package virtualca

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/simulator/drain"
)

// planMemo is a plan with all it rests on. Most loops of a day see what the one before saw: then the plan is the same,
// and nothing is simulated. Time enters a plan only by what a memo excludes: pods that terminate, nodes that are being
// deleted, kube-system pods that come of age (until), and memories of unremovable nodes that end (unremovable).
type planMemo struct {
	planKey
	until       time.Time
	found       []*removal
	reasons     map[string]string
	utilization map[string]float64
}

// planKey is what a plan rests on. Objects are shared and never changed in place, so equal pointers are equal objects.
type planKey struct {
	// base counts the contents of the checker's snapshot: nodes, bound pods, storage.
	base        int
	groups      []scalehist.NodeGroup
	candidates  []*corev1.Node
	unremovable map[string]memory
	limit       int
	pdbs        []*policyv1.PodDisruptionBudget
	rss         []*appsv1.ReplicaSet
	sss         []*appsv1.StatefulSet
	dss         []*appsv1.DaemonSet
	jobs        []*batchv1.Job
	rcs         []*corev1.ReplicationController
}

func (k *planKey) equal(o *planKey) bool {
	return k.base == o.base && k.limit == o.limit && slices.Equal(k.groups, o.groups) && slices.Equal(k.candidates, o.candidates) &&
		maps.Equal(k.unremovable, o.unremovable) && slices.Equal(k.pdbs, o.pdbs) && k.sameOwners(o)
}

func (k *planKey) sameOwners(o *planKey) bool {
	return slices.Equal(k.rss, o.rss) && slices.Equal(k.sss, o.sss) && slices.Equal(k.dss, o.dss) && slices.Equal(k.jobs, o.jobs) && slices.Equal(k.rcs, o.rcs)
}

// ownersOf are the controllers of this loop's cluster, read again when one has changed.
func (d *downState) ownersOf(l *loop, k *planKey) *drain.Owners {
	if d.owners == nil || !k.sameOwners(&d.ownersKey) {
		d.owners, d.ownersKey = drain.NewOwners(l.objects), k.cloned()
	}
	return d.owners
}

// cloned is the key with lists of its own.
func (k *planKey) cloned() planKey {
	c := *k
	c.groups, c.pdbs = slices.Clone(k.groups), slices.Clone(k.pdbs)
	c.rss, c.sss, c.dss = slices.Clone(k.rss), slices.Clone(k.sss), slices.Clone(k.dss)
	c.jobs, c.rcs = slices.Clone(k.jobs), slices.Clone(k.rcs)
	return c
}

// planKey is the key of this loop's plan; false when it is not to be remembered: pods were placed in the snapshot, or
// something in it changes by time alone.
func (l *loop) planKey(candidates []*corev1.Node, limit int) (planKey, bool) {
	o := l.objects
	k := planKey{base: l.a.checker.Base(), groups: l.groups, candidates: candidates, unremovable: l.a.down.unremovable, limit: limit,
		pdbs: o.PodDisruptionBudgets, rss: o.ReplicaSets, sss: o.StatefulSets, dss: o.DaemonSets, jobs: o.Jobs, rcs: o.ReplicationControllers}
	return k, !l.a.checker.Snapshot().Changed() && l.a.down.deletions.count() == 0
}

// recall takes over the remembered plan, if it is the one of this loop.
func (l *loop) recall(k *planKey) bool {
	m := l.a.down.memo
	if m == nil || !l.now.Before(m.until) || !k.equal(&m.planKey) {
		return false
	}
	maps.Copy(l.reasons, m.reasons)
	l.a.down.utilization = m.utilization
	l.a.down.update(m.found, l.now)
	return true
}

// remember keeps a plan with a key taken before it was made. Slices and maps of the key that change in place are copied.
func (l *loop) remember(k planKey, until time.Time, found []*removal) {
	l.a.down.memo = &planMemo{planKey: k.cloned(), until: until, found: found, reasons: maps.Clone(l.reasons), utilization: l.a.down.utilization}
}

// steadyUntil is when the verdict on some bound pod changes by age; false when time matters at any instant. Ask it of a
// snapshot that is as the cluster is.
func (l *loop) steadyUntil() (time.Time, bool) {
	until := l.now.Add(factsFor)
	s := l.a.checker.Snapshot()
	for at := range s.Len() {
		n := s.NodeInfo(at)
		f := l.facts(n)
		if f.timed || f.claims > 0 || scalehist.HasTaint(n.Node(), toBeDeletedTaint) {
			return until, false
		}
		if f.until.Before(until) {
			until = f.until
		}
	}
	return until, true
}
