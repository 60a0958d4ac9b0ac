package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/harness/kvcl/crank"
)

var now = time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a crank and the least there is around one: objects by name, and writes carried out in memory.
type world struct {
	*crank.Crank
	objects map[string]scalehist.Object
	ordinal map[types.UID]int64
	now     time.Time
	version int
	// writes are what the scheduler wrote in the last Settle, as text.
	writes []string
}

func newWorld(ctx context.Context, o crank.Options) (*world, error) {
	w := &world{objects: map[string]scalehist.Object{}, ordinal: map[types.UID]int64{}, now: now}
	o.Ordinal = func(u types.UID) int64 { return w.ordinal[u] }
	o.Flush = w.flush
	var err error
	w.Crank, err = crank.New(ctx, now, o)
	return w, err
}

func id(o scalehist.Object) string { return fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName()) }

func podID(n types.NamespacedName) string { return fmt.Sprintf("%T %s", &corev1.Pod{}, n) }

// put shows an object, one of the caller's own, as the next version of its name: the scheduler ignores an update without a
// version of its own.
func (w *world) put(o scalehist.Object) error {
	w.version++
	o.SetResourceVersion(strconv.Itoa(w.version))
	if _, ok := o.(*corev1.Pod); ok && w.ordinal[o.GetUID()] == 0 {
		w.ordinal[o.GetUID()] = int64(len(w.ordinal) + 1)
	}
	w.objects[id(o)] = o
	return w.Set(o)
}

func (w *world) drop(o scalehist.Object) error {
	delete(w.objects, id(o))
	return w.Remove(o)
}

// pods lists the pods that hold, with or without a node, in order of names.
func (w *world) pods(placed bool) []*corev1.Pod {
	return slices.DeleteFunc(all[*corev1.Pod](w), func(p *corev1.Pod) bool { return (p.Spec.NodeName != "") != placed })
}

// all lists the objects of a kind in order of names.
func all[T scalehist.Object](w *world) []T {
	var list []T
	for _, key := range slices.Sorted(maps.Keys(w.objects)) {
		if o, ok := w.objects[key].(T); ok {
			list = append(list, o)
		}
	}
	return list
}

// wallClock is the one thing the scheduler writes that differs from run to run.
var wallClock = regexp.MustCompile(`"lastTransitionTime":"[^"]*"`)

func (w *world) flush(_ context.Context, writes []crank.Write) error {
	for _, x := range writes {
		w.writes = append(w.writes, fmt.Sprintf("%d %s %s %s", x.Kind, x.Pod, x.Node, wallClock.ReplaceAll(x.Patch, nil)))
		switch x.Kind {
		case crank.WriteVolume:
			if x.Volume != nil {
				if err := w.put(x.Volume); err != nil {
					return err
				}
			}
			if x.Claim != nil {
				if err := w.put(x.Claim); err != nil {
					return err
				}
			}
			continue
		case crank.WriteEvent:
			continue
		}
		pod, ok := w.objects[podID(x.Pod)].(*corev1.Pod)
		if !ok {
			continue
		}
		var err error
		switch x.Kind {
		case crank.WriteBind:
			pod = pod.DeepCopy()
			pod.Spec.NodeName = x.Node
			err = w.put(pod)
		case crank.WritePreempt:
			if w.ordinal[pod.UID]%2 == 0 { // its termination takes no time
				err = w.drop(pod)
				break
			}
			pod = pod.DeepCopy()
			pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.now))
			err = w.put(pod)
		case crank.WriteStatus:
			if pod, err = patched(pod, x.Patch); err == nil {
				err = w.put(pod)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func patched(pod *corev1.Pod, patch []byte) (*corev1.Pod, error) {
	before, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, pod)
	if err != nil {
		return nil, err
	}
	changed := &corev1.Pod{}
	return changed, json.Unmarshal(after, changed)
}

// settle lets a second pass and schedules.
func (w *world) settle(ctx context.Context) (crank.Result, error) {
	w.now = w.now.Add(time.Second)
	w.SetNow(w.now)
	w.writes = nil
	return w.Settle(ctx)
}

func pick[T any](list []T, n uint32) (T, bool) {
	if len(list) == 0 {
		var none T
		return none, false
	}
	return list[int(n)%len(list)], true
}
