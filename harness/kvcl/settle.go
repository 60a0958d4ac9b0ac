package kvcl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

// Settle implements ControlPlane.
func (e *EnvTest) Settle(ctx context.Context, now time.Time) (Settled, error) {
	defer since(&e.stats.Schedule)()
	if now.Before(e.now) {
		return Settled{}, fmt.Errorf("settle at %s: the clock is at %s already and never goes back", now.Format(time.RFC3339Nano), e.now.Format(time.RFC3339Nano))
	}
	if e.crank == nil {
		if err := e.startScheduler(ctx, now); err != nil {
			return Settled{}, err
		}
	}
	e.now = now.UTC()
	e.crank.SetNow(e.now)
	if err := e.sync(ctx); err != nil {
		return Settled{}, err
	}
	if err := e.feed(); err != nil {
		return Settled{}, err
	}
	r, err := e.crank.Settle(ctx)
	if err != nil {
		return Settled{}, fmt.Errorf("schedule at %s: %w", e.now.Format(time.RFC3339), err)
	}
	return e.settled(r), nil
}

// settled keeps the scheduler's verdicts beside the pods, which is where Cluster shows them.
func (e *EnvTest) settled(r Settled) Settled {
	var left []Unschedulable
	for _, u := range r.Unschedulable {
		it := e.store.find(podKind, u.Pod.String())
		if it == nil || it.obj == nil {
			continue // preempted after it was tried
		}
		it.setUnschedulable(u.Message, u.Nominated, e.now)
		e.store.dirty[podKind.order] = true
		left = append(left, u)
	}
	r.Unschedulable = left
	return r
}

// Observe returns when everything that others wrote through Client before the call is in Cluster and will be seen by
// the next Settle. Without it, Settle sees of their writes what the watches have shown by then.
func (e *EnvTest) Observe(ctx context.Context) error {
	defer since(&e.stats.Apply)()
	for _, k := range kinds {
		list, err := k.group(e.client).Get().Resource(k.resource).Do(ctx).Get()
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.resource, err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.resource, err)
		}
		listed, err := meta.ListAccessor(list)
		if err != nil {
			return fmt.Errorf("observe %s: %w", k.resource, err)
		}
		there := make(map[types.UID]bool, len(objects))
		for _, o := range objects {
			obj := o.(scalehist.Object)
			there[obj.GetUID()] = true
			e.inbox.wrote(k, obj)
		}
		e.inbox.onlyThese(k, there, listed.GetResourceVersion())
	}
	return e.sync(ctx)
}

// Cluster implements ControlPlane.
func (e *EnvTest) Cluster() *scalehist.Objects {
	e.drain()
	return e.store.list()
}

// change of an object on its way to the scheduler.
type change struct {
	obj  scalehist.Object
	gone bool
}

// drain takes what the watches delivered into the store. It sorts by kind and creation, which is the same in every
// run; the order in which parallel writes reached the API server is not.
func (e *EnvTest) drain() {
	events := e.inbox.take()
	if len(events) == 0 {
		return
	}
	items := make(map[types.UID]*item, len(events))
	kept := events[:0]
	for _, ev := range events {
		it := items[ev.uid]
		if it == nil {
			it = e.store.byUID[ev.kind.order][ev.uid]
		}
		if it == nil {
			if ev.gone || serverMade(ev.kind, name(ev.obj)) {
				continue
			}
			it = e.foreign(ev)
		}
		items[ev.uid] = it
		kept = append(kept, ev)
	}
	sort.SliceStable(kept, func(i, j int) bool {
		if a, b := kept[i].kind.order, kept[j].kind.order; a != b {
			return a < b
		}
		return items[kept[i].uid].ordinal < items[kept[j].uid].ordinal
	})
	for _, ev := range kept {
		it := items[ev.uid]
		if ev.gone {
			e.store.forget(it, name(ev.obj))
			if it.obj != nil {
				e.pending = append(e.pending, change{obj: it.obj, gone: true})
			}
			continue
		}
		if version(it.latest) < ev.rv {
			it.latest = ev.obj
			if it.service != nil {
				it.latest = ev.obj.DeepCopyObject().(scalehist.Object)
			}
		}
		e.redeliver(it, ev.obj)
	}
}

// foreign gives an identity to an object that somebody made through Client: virtual, like that of all others.
func (e *EnvTest) foreign(ev event) *item {
	bare := ev.obj.DeepCopyObject().(scalehist.Object)
	bare.SetUID("")
	bare.SetCreationTimestamp(metav1.Time{})
	it := e.store.newItem(ev.kind, bare, e.now)
	it.service = nil
	e.store.add(it, ev.obj)
	it.apiUID = ev.uid
	return it
}

// redeliver shows obj, which must not be shared, as the newest version of the item.
func (e *EnvTest) redeliver(it *item, obj scalehist.Object) {
	it.obj = it.restore(obj, e.now)
	e.store.dirty[it.kind.order] = true
	e.pending = append(e.pending, change{obj: it.obj})
}

// feed lets the scheduler see what changed.
func (e *EnvTest) feed() error {
	pending := e.pending
	e.pending = nil
	for _, c := range pending {
		var err error
		if c.gone {
			err = e.crank.Remove(c.obj)
		} else {
			err = e.crank.Set(c.obj)
		}
		if err != nil {
			return fmt.Errorf("show %T %s to the scheduler: %w", c.obj, name(c.obj), err)
		}
		if _, ok := c.obj.(*corev1.Pod); ok && c.gone && e.store.podByUID[c.obj.GetUID()] == nil {
			delete(e.store.podOrdinal, c.obj.GetUID())
		}
	}
	return nil
}

// flush carries out what the scheduler wants written: volumes first, then pods, each in order, several at once.
func (e *EnvTest) flush(ctx context.Context, writes []crank.Write) error {
	var (
		order  []types.NamespacedName
		byPod  = map[types.NamespacedName][]crank.Write{}
		events []crank.Write
	)
	for _, w := range writes {
		switch w.Kind {
		case crank.WriteVolume:
			if err := e.writeVolume(ctx, w); err != nil {
				return err
			}
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
	parallel(podWriters, len(order), func(i int) bool {
		errs[i] = e.writePod(ctx, order[i], byPod[order[i]])
		return errs[i] == nil
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = make([]error, len(events))
	parallel(podWriters, len(events), func(i int) bool {
		ev := events[i].Event
		_, errs[i] = e.client.EventsV1().Events(ev.Namespace).Create(ctx, ev, metav1.CreateOptions{})
		return errs[i] == nil
	})
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write the scheduler's events: %w", err)
	}
	if err := e.sync(ctx); err != nil {
		return err
	}
	return e.feed()
}

func (e *EnvTest) writeVolume(ctx context.Context, w crank.Write) error {
	for _, obj := range []scalehist.Object{w.Volume, w.Claim} {
		k, err := kindOf(obj)
		if err != nil {
			return err
		}
		c := scalehist.Change{At: e.now, Op: scalehist.OpUpdate, Object: obj}
		if e.store.find(k, name(obj)) == nil {
			c.Op = scalehist.OpAdd
		}
		if err := e.applyOne(ctx, c); err != nil {
			return fmt.Errorf("bind volumes: %w", err)
		}
	}
	return nil
}

// writePod carries out the writes to one pod. A pod that somebody deleted through Client is no error: the watch will
// tell the scheduler.
func (e *EnvTest) writePod(ctx context.Context, pod types.NamespacedName, writes []crank.Write) error {
	it := e.store.find(podKind, pod.String())
	if it == nil {
		return nil
	}
	for _, w := range writes {
		var err error
		switch w.Kind {
		case crank.WriteBind:
			err = e.bind(ctx, it, pod.Namespace, pod.Name, w.Node)
		case crank.WriteDelete:
			err = e.remove(ctx, it, pod.Namespace, pod.Name)
		case crank.WriteStatus:
			if e.onlyNewMessage(it, w.Patch) {
				continue
			}
			_, err = e.patch(ctx, podKind, pod.Namespace, pod.Name, types.StrategicMergePatchType, w.Patch, "status")
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
func (e *EnvTest) onlyNewMessage(it *item, patch []byte) bool {
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
