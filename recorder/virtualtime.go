package recorder

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history"
)

// translator turns wall-clock stamps and random names of a real API server into virtual ones, the same each time the
// same thing is recorded. It is used under the queue's lock.
//
// A stamp is of the wall clock if it lies later than a day before the recorder was made. It becomes the virtual
// instant at which the recorder saw it first, and stays that as long as it is beside the same status.
type translator struct {
	times Times
	wall  time.Time // stamps after it are the wall clock's
	lives map[types.UID]*life
	ids   map[string]int // how often a generated id was given out
}

// life is what is known of one object, by its real UID.
type life struct {
	uid     types.UID
	name    string // of events: the stable name
	created time.Time
	stamps  map[string]stamp
}

type stamp struct{ real, virtual time.Time }

func newTranslator(t Times) *translator {
	return &translator{times: t, wall: clock.RealClock{}.Now().Add(-24 * time.Hour), lives: map[types.UID]*life{}, ids: map[string]int{}}
}

// object translates the object of an entry in place.
func (t *translator) object(e *history.Entry) {
	o := e.Change.Object
	real := o.GetUID()
	if real == "" { // given to Record: virtual already
		return
	}
	l, ok := t.lives[real]
	if !ok {
		l = t.begin(o, e.ObservedAt)
		t.lives[real] = l
	}
	if e.Change.Op == scalehist.OpDelete {
		// The UID stays known: events about the object come later.
		defer func() { l.stamps = nil }()
	}
	owners := o.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = t.uid(owners[i].UID)
	}
	o.SetOwnerReferences(owners)
	if event, isEvent := o.(*corev1.Event); isEvent {
		t.event(event, l)
	}
	now := l.stamps
	l.stamps = map[string]stamp{}
	t.walk(reflect.ValueOf(o).Elem(), "", func(path string, at time.Time) time.Time {
		if at.Before(t.wall) {
			return at
		}
		s, seen := now[path]
		if !seen || !s.real.Equal(at) {
			s = stamp{real: at, virtual: e.ObservedAt}
		}
		l.stamps[path] = s
		return s.virtual
	})
	o.SetUID(l.uid)
	o.SetCreationTimestamp(metav1.NewTime(l.created))
}

func (t *translator) begin(o scalehist.Object, now time.Time) *life {
	if created, uid, ok := t.times.ObjectTime(o); ok {
		return &life{uid: types.UID(uid), created: created}
	}
	l := &life{created: now}
	if at := o.GetCreationTimestamp(); !at.IsZero() && at.Time.Before(t.wall) {
		l.created = at.Time
	}
	name := o.GetName()
	if event, ok := o.(*corev1.Event); ok { // named after the wall clock
		name = event.InvolvedObject.Name
	}
	id := fmt.Sprintf("%s/%s/%s", o.GetObjectKind().GroupVersionKind().Kind, o.GetNamespace(), name)
	t.ids[id]++
	l.uid = types.UID(fmt.Sprintf("%s#%d", id, t.ids[id]))
	l.name = fmt.Sprintf("%s.%d", name, t.ids[id])
	return l
}

// event gives an event names that do not depend on the machine and the moment.
func (t *translator) event(e *corev1.Event, l *life) {
	e.Name = l.name
	e.ReportingInstance, e.Source.Host = "", "" // host names
	for _, ref := range []*corev1.ObjectReference{&e.InvolvedObject, e.Related} {
		if ref != nil {
			ref.UID, ref.ResourceVersion = t.refUID(ref), ""
		}
	}
}

// uid is the virtual UID of an object seen before; another stays as it is.
func (t *translator) uid(real types.UID) types.UID {
	if l, ok := t.lives[real]; ok {
		return l.uid
	}
	return real
}

// refUID is the virtual UID of what an event is about. Its own watch may not have shown that object yet.
func (t *translator) refUID(ref *corev1.ObjectReference) types.UID {
	if _, ok := t.lives[ref.UID]; ok || ref.UID == "" {
		return t.uid(ref.UID)
	}
	meta := metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: ref.UID}
	var about scalehist.Object
	switch ref.Kind {
	case "Pod":
		about = &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta}
	case "Node":
		about = &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: meta}
	default:
		return ""
	}
	if created, uid, ok := t.times.ObjectTime(about); ok {
		t.lives[ref.UID] = &life{uid: types.UID(uid), created: created}
		return types.UID(uid)
	}
	return ""
}

var (
	timeType  = reflect.TypeFor[metav1.Time]()
	microType = reflect.TypeFor[metav1.MicroTime]()
)

// walk replaces every non-zero time in v. The path of a condition has its type and status, so that a status that
// flips within one second of the wall clock gets a new virtual time.
func (t *translator) walk(v reflect.Value, path string, f func(string, time.Time) time.Time) {
	switch v.Type() {
	case timeType:
		if at := v.Interface().(metav1.Time); !at.IsZero() {
			v.Set(reflect.ValueOf(metav1.NewTime(f(path, at.Time))))
		}
		return
	case microType:
		if at := v.Interface().(metav1.MicroTime); !at.IsZero() {
			v.Set(reflect.ValueOf(metav1.NewMicroTime(f(path, at.Time))))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			t.walk(v.Elem(), path, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				t.walk(v.Field(i), path+"."+v.Type().Field(i).Name, f)
			}
		}
	case reflect.Slice:
		if kind := v.Type().Elem().Kind(); kind != reflect.Struct && kind != reflect.Pointer {
			return
		}
		for i := range v.Len() {
			t.walk(v.Index(i), fmt.Sprintf("%s[%s]", path, conditionKey(v.Index(i), i)), f)
		}
	}
}

func conditionKey(v reflect.Value, i int) string {
	if v.Kind() == reflect.Struct {
		kind, status := v.FieldByName("Type"), v.FieldByName("Status")
		if kind.IsValid() && status.IsValid() && kind.Kind() == reflect.String && status.Kind() == reflect.String {
			return kind.String() + "=" + status.String()
		}
	}
	return fmt.Sprint(i)
}
