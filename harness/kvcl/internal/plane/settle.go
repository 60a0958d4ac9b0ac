package plane

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// Settle moves the clock to now and schedules until the scheduler is quiescent.
func (pl *Plane) Settle(ctx context.Context, now time.Time) (Settled, error) {
	defer since(&pl.stats.Schedule)()
	if now.Before(pl.now) {
		return Settled{}, fmt.Errorf("settle at %s: the clock is at %s already and never goes back", now.Format(time.RFC3339Nano), pl.now.Format(time.RFC3339Nano))
	}
	if pl.opts.Unscheduled {
		return Settled{}, errors.New("settle: the control plane was started without a scheduler")
	}
	if pl.crank == nil {
		if err := pl.Start(ctx, now); err != nil {
			return Settled{}, err
		}
	}
	pl.now = now.UTC()
	pl.crank.SetNow(pl.now)
	if err := pl.Sync(ctx); err != nil {
		return Settled{}, err
	}
	if err := pl.feed(ctx); err != nil {
		return Settled{}, err
	}
	r, err := pl.crank.Settle(ctx)
	if err != nil {
		return Settled{}, fmt.Errorf("schedule at %s: %w", pl.now.Format(time.RFC3339), err)
	}
	return pl.settled(r), nil
}

// settled keeps the scheduler's verdicts beside the pods, which is where Cluster shows them.
func (pl *Plane) settled(r Settled) Settled {
	var left []crank.Unschedulable
	for _, u := range r.Unschedulable {
		it := pl.store.find(PodKind, u.Pod.String())
		if it == nil || it.obj == nil {
			continue // preempted after it was tried
		}
		it.setUnschedulable(u.Message, u.Nominated, pl.now)
		pl.store.listing.touch(it)
		left = append(left, u)
	}
	r.Unschedulable = left
	return r
}

// change of an object on its way to the scheduler.
type change struct {
	obj  scalehist.Object
	gone bool
}

// drain takes what the watches delivered into the store. It sorts by kind and creation, which is the same in every
// run; the order in which parallel writes reached the API server is not.
func (pl *Plane) drain() {
	events := pl.server.Take()
	if len(events) == 0 {
		return
	}
	items := make(map[types.UID]*item, len(events))
	kept := events[:0]
	for _, ev := range events {
		it := items[ev.UID]
		if it == nil {
			it = pl.store.byUID[ev.Kind.Order][ev.UID]
		}
		if it == nil {
			if ev.Gone || serverMade(ev.Kind, Name(ev.Obj)) {
				continue
			}
			it = pl.foreign(ev)
		}
		items[ev.UID] = it
		kept = append(kept, ev)
	}
	slices.SortStableFunc(kept, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.Kind.Order, b.Kind.Order), cmp.Compare(items[a.UID].ordinal, items[b.UID].ordinal))
	})
	for _, ev := range kept {
		it := items[ev.UID]
		if !ev.Gone && (it.takenBack || ev.RV <= it.hushed) {
			continue
		}
		if ev.Gone {
			if ev.Kind == PodKind && pl.store.find(PodKind, Name(ev.Obj)) == it {
				pl.lost[Name(ev.Obj)] = true // what we delete has no name any more
			}
			pl.store.forget(it, Name(ev.Obj))
			if it.obj != nil {
				pl.hold(change{obj: it.obj, gone: true})
			}
			continue
		}
		if ev.RV < it.shown {
			continue // the scheduler has seen a later version
		}
		if Version(it.latest) < ev.RV {
			it.latest = ev.Obj
			if it.service != nil {
				it.latest = ev.Obj.DeepCopyObject().(scalehist.Object)
			}
		}
		pl.redeliver(it, ev.Obj)
	}
}

// foreign gives an identity to an object that somebody made through Client: virtual, like that of all others.
func (pl *Plane) foreign(ev Event) *item {
	bare := ev.Obj.DeepCopyObject().(scalehist.Object)
	bare.SetUID("")
	bare.SetCreationTimestamp(metav1.Time{})
	it := pl.store.newItem(ev.Kind, bare, pl.now)
	it.service = nil
	pl.store.add(it, ev.Obj)
	it.apiUID = ev.UID
	return it
}

// redeliver shows obj, which must not be shared, as the newest version of the item.
func (pl *Plane) redeliver(it *item, obj scalehist.Object) {
	it.shown = Version(obj)
	it.obj = it.restore(obj, pl.now)
	pl.store.listing.touch(it)
	pl.hold(change{obj: it.obj})
}

// hold keeps a change until the scheduler is fed.
func (pl *Plane) hold(c change) {
	if !pl.opts.Unscheduled {
		pl.pending = append(pl.pending, c)
	}
}

// feed lets the scheduler see what changed. Each change may let it look at all pods that wait, so it ends with ctx; nobody goes on
// with a plane whose scheduler has not seen all.
func (pl *Plane) feed(ctx context.Context) error {
	pending := pl.pending
	pl.pending = nil
	for _, c := range pending {
		err := ctx.Err()
		if err != nil {
			return err
		}
		if c.gone {
			err = pl.crank.Remove(c.obj)
		} else {
			err = pl.crank.Set(c.obj)
		}
		if err != nil {
			return fmt.Errorf("show %T %s to the scheduler: %w", c.obj, Name(c.obj), err)
		}
		if _, ok := c.obj.(*corev1.Pod); ok && c.gone && pl.store.podByUID[c.obj.GetUID()] == nil {
			delete(pl.store.podOrdinal, c.obj.GetUID())
		}
	}
	return nil
}

// flush carries out what the scheduler wants written: volumes first, then pods, each in order, several at once.
func (pl *Plane) flush(ctx context.Context, writes []crank.Write) error {
	var (
		order   []types.NamespacedName
		byPod   = map[types.NamespacedName][]crank.Write{}
		victims []types.NamespacedName
		events  []crank.Write
	)
	for _, w := range writes {
		switch w.Kind {
		case crank.WriteVolume:
			if err := pl.writeVolume(ctx, w); err != nil {
				return err
			}
		case crank.WritePreempt:
			victims = append(victims, w.Pod)
		case crank.WriteEvent:
			events = append(events, w)
		default:
			if byPod[w.Pod] == nil {
				order = append(order, w.Pod)
			}
			byPod[w.Pod] = append(byPod[w.Pod], w)
		}
	}
	errs := make([]error, len(order))
	parallel(ctx, pl.server.Writers(), errs, func(i int) error { return pl.writePod(ctx, order[i], byPod[order[i]]) })
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = make([]error, len(events))
	parallel(ctx, pl.server.Writers(), errs, func(i int) error { return pl.server.Event(ctx, events[i].Event) })
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write the scheduler's events: %w", err)
	}
	if err := pl.Sync(ctx); err != nil {
		return err
	}
	for _, v := range victims {
		pl.preempt(v)
	}
	return pl.feed(ctx)
}

// preempt lets a victim terminate, with its grace period from now. It holds its room until somebody deletes it: there is no kubelet.
// The deletion is beside the object, as a recorded one does, because a server ends it by the wall clock.
func (pl *Plane) preempt(pod types.NamespacedName) {
	it := pl.store.find(PodKind, pod.String())
	if it == nil {
		return // somebody deleted it through Client
	}
	terminating := it.latest.DeepCopyObject().(*corev1.Pod)
	grace := ptr.Deref(terminating.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	terminating.DeletionTimestamp = ptr.To(metav1.NewTime(pl.now.Add(time.Duration(grace) * time.Second)))
	pl.noteDeletion(it, terminating)
}

func (pl *Plane) writeVolume(ctx context.Context, w crank.Write) error {
	for _, obj := range []scalehist.Object{w.Volume, w.Claim} {
		k, err := KindOf(obj)
		if err != nil {
			return err
		}
		c := scalehist.Change{At: pl.now, Op: scalehist.OpUpdate, Object: obj}
		if pl.store.find(k, Name(obj)) == nil {
			c.Op = scalehist.OpAdd
		}
		if err := pl.applyOne(ctx, c); err != nil {
			return fmt.Errorf("bind volumes: %w", err)
		}
	}
	return nil
}

// writePod carries out the writes to one pod. A pod that somebody deleted through Client is no error: the watch will
// notify the scheduler.
func (pl *Plane) writePod(ctx context.Context, pod types.NamespacedName, writes []crank.Write) error {
	it := pl.store.find(PodKind, pod.String())
	if it == nil {
		return nil
	}
	for _, w := range writes {
		var err error
		switch w.Kind {
		case crank.WriteBind:
			err = pl.bind(ctx, it, pod.Namespace, pod.Name, w.Node)
		case crank.WriteStatus:
			if pl.onlyNewMessage(it, w.Patch) {
				continue
			}
			_, err = pl.server.Patch(ctx, PodKind, pod.Namespace, pod.Name, types.StrategicMergePatchType, w.Patch, "status")
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("write Pod %s for the scheduler: %w", pod, err)
		}
	}
	return nil
}

// onlyNewMessage says whether a patch would change nothing but the text of the unschedulable condition. The API
// server gets the first; Settled and Cluster have the newest. It halves the writes when many pods wait.
func (pl *Plane) onlyNewMessage(it *item, patch []byte) bool {
	p, ok := it.obj.(*corev1.Pod)
	if !ok {
		return false
	}
	c := podScheduled(p)
	if c == nil || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable {
		return false
	}
	var body struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if json.Unmarshal(patch, &body) != nil {
		return false
	}
	for field := range body.Status {
		if field != "conditions" && field != "$setElementOrder/conditions" {
			return false
		}
	}
	var conditions []corev1.PodCondition
	if json.Unmarshal(body.Status["conditions"], &conditions) != nil {
		return false
	}
	for _, n := range conditions {
		if n.Type != corev1.PodScheduled || n.Status != "" && n.Status != corev1.ConditionFalse || n.Reason != "" && n.Reason != c.Reason {
			return false
		}
	}
	return true
}
