package workload

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxSyncs bounds how often one workload acts in one instant: far beyond what a rollout takes when no pod changes.
const maxSyncs = 1000

// turn is one Reconcile: the State, the instant, and what was done so far.
type turn struct {
	*State
	now     time.Time
	actions []Action
}

func (t *turn) did(a Action) { t.actions = append(t.actions, a) }

// second is the instant in the precision of API objects.
func (t *turn) second() time.Time { return t.now.Truncate(time.Second) }

// workload is what has a turn of its own.
type workload interface {
	object() metav1.Object
	// sync acts once, and says whether anything was done, and when time alone makes the next turn (zero: never).
	sync(t *turn) (acted bool, next time.Time, err error)
}

// Reconcile does what the controllers would do at this instant until nothing more is due without a change of pods, and says what it did
// in the order in which it did it. Only workloads with changes, or whose time has come, have a turn. Time must not run backwards. It is
// an error where a workload does not settle, or its template makes no pod; the State then shows what was done before.
func (s *State) Reconcile(now time.Time) ([]Action, error) {
	t := &turn{State: s, now: now}
	t.collectGarbage()
	for _, w := range t.turns() {
		var err error
		switch w := w.(type) {
		case *deployment:
			err = t.settleDeployment(w)
		case *job:
			err = t.actJob(w)
		default:
			_, err = t.settle(w)
		}
		if err != nil {
			return t.actions, err
		}
	}
	clear(s.dirty) // what is left are pods of controllers that nobody applied
	return t.actions, nil
}

// Next is the earliest instant at which Reconcile would have something to do though nothing changed; false if there is none.
func (s *State) Next() (next time.Time, ok bool) {
	for _, at := range s.due {
		if !ok || at.Before(next) {
			next, ok = at, true
		}
	}
	return next, ok
}

// settle lets a workload act until it has nothing to do, and says whether it had.
func (t *turn) settle(w workload) (acted bool, err error) {
	uid := w.object().GetUID()
	for range maxSyncs {
		again, next, err := w.sync(t)
		if err != nil {
			return acted, err
		}
		acted = acted || again
		if !again {
			t.done(uid, next)
			return acted, nil
		}
	}
	return acted, t.unsettled(w)
}

// done notes that a workload settled, and when time alone makes its next turn (zero: never).
func (s *State) done(uid types.UID, next time.Time) {
	delete(s.dirty, uid)
	delete(s.due, uid)
	if !next.IsZero() {
		s.due[uid] = next
	}
}

func (t *turn) unsettled(w workload) error {
	o := w.object()
	return fmt.Errorf("workload %s/%s: does not settle: acted %d times at %s", o.GetNamespace(), o.GetName(), maxSyncs, t.now.Format(time.RFC3339Nano))
}

// ready says whether it is a workload's turn: it or its pods changed, or its time has come.
func (t *turn) ready(uid types.UID) bool {
	at, timed := t.due[uid]
	return t.dirty[uid] || timed && !at.After(t.now)
}

// turns are the roots whose turn it is, in the order of the package's documentation.
func (t *turn) turns() []workload {
	roots := map[types.UID]bool{}
	for uid := range t.dirty {
		roots[t.root(uid)] = true
	}
	for uid := range t.due {
		if t.ready(uid) {
			roots[t.root(uid)] = true
		}
	}
	var kinds [4][]workload
	for uid := range roots {
		if d := t.deployments[uid]; d != nil {
			kinds[0] = append(kinds[0], d)
		} else if rs := t.replicaSets[uid]; rs != nil {
			kinds[1] = append(kinds[1], rs)
		} else if set := t.statefulSets[uid]; set != nil {
			kinds[2] = append(kinds[2], set)
		} else if j := t.jobs[uid]; j != nil {
			kinds[3] = append(kinds[3], j)
		}
	}
	for _, kind := range kinds {
		slices.SortFunc(kind, func(a, b workload) int { return byName(a.object(), b.object()) })
	}
	return slices.Concat(kinds[:]...)
}

// collectGarbage deletes the dependents of workloads that were deleted, in the order of these deletions and then of creation
// (pkg/controller/garbagecollector, background).
func (t *turn) collectGarbage() {
	for len(t.doomed) > 0 {
		uid := t.doomed[0]
		t.doomed = t.doomed[1:]
		for _, rs := range slices.Clone(t.owned[uid]) {
			t.did(Action{Verb: DeleteReplicaSet, Object: rs.obj})
			t.State.Delete(rs.obj.UID)
		}
		if f := t.families[uid]; f != nil {
			for _, p := range slices.Clone(f.pods) {
				if p.DeletionTimestamp == nil {
					t.deletePod(p)
				}
			}
		}
	}
}
