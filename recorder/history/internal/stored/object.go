package stored

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// Key names an object among the living.
type Key struct{ Kind, Namespace, Name string }

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + "/" + k.Name
	}
	return k.Kind + "/" + k.Namespace + "/" + k.Name
}

// Object is an object taken apart for storage.
type Object struct {
	Key     Key
	Prefix  string // of the name, as stored
	UID     types.UID
	Created time.Time // zero if unknown
	Deleted time.Time // metadata.deletionTimestamp
	Content []byte
	State   []byte // nil for kinds without
	Node    string
	moments times
	Bare    bool // only identity: the object of a delete may carry no more
}

// Times formats the moments against the object's creation, with or without the deletion's.
func (e *Object) Times(created time.Time, deletion bool) string {
	t := e.moments
	if !deletion {
		t.deletion = metav1.Time{}
	}
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	return t.format(created)
}

// Encode projects o and takes it apart. ok is false for what is not kept.
func Encode(o scalehist.Object) (e Object, ok bool, err error) {
	p, ok := projection.Of(o)
	if !ok {
		return Object{}, false, nil
	}
	e.Key = Key{objectlog.KindOf(p), p.GetNamespace(), p.GetName()}
	if e.Key.Name == "" {
		return Object{}, false, fmt.Errorf("%s without a name: give metadata.name", e.Key.Kind)
	}
	if err := checkSizes(p); err != nil {
		return Object{}, false, err
	}
	e.UID, e.Prefix = p.GetUID(), namePrefix(p)
	e.Created = utc(p.GetCreationTimestamp().Time)
	s, node, t, has, err := takeState(p)
	if err != nil {
		return Object{}, false, fmt.Errorf("%s: %w", e.Key, err)
	}
	e.Node, e.moments = node, t
	if !t.deletion.IsZero() {
		e.Deleted = utc(t.deletion.Time)
	}
	p.SetNamespace("")
	p.SetName("")
	p.SetUID("")
	p.SetCreationTimestamp(metav1.Time{})
	if e.Content, err = json.Marshal(p); err != nil {
		return Object{}, false, fmt.Errorf("%s: %w", e.Key, err)
	}
	if has {
		if e.State, err = json.Marshal(s); err != nil {
			return Object{}, false, fmt.Errorf("%s: %w", e.Key, err)
		}
	}
	e.Bare = isBare(p, e.Content)
	return e, true, nil
}

// bareContents are the contents of objects that say nothing, by kind.
var bareContents = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for kind, info := range kinds {
		if info.custom {
			continue
		}
		b, err := json.Marshal(New(kind))
		if err != nil {
			panic(fmt.Sprintf("marshal an empty %s: %v", kind, err)) // cannot fail
		}
		out[kind] = string(b)
	}
	return out
})

func isBare(o scalehist.Object, content []byte) bool {
	switch o := o.(type) {
	case *corev1.Pod:
		return len(o.Spec.Containers) == 0
	case *unstructured.Unstructured:
		return isBareCustom(o)
	}
	return string(content) == bareContents()[objectlog.KindOf(o)]
}

// Hash is the content address: 16 bytes of SHA-256, enough for any number of contents a file can hold.
func Hash(b []byte) [16]byte {
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// Version is a version as rows give it.
type Version struct {
	Key     Key
	UID     types.UID
	Created time.Time
	Content scalehist.Object
	State   *State
	Node    string
	Times   string
}

// Decode builds the object again: it shares nothing with other versions of the same content.
func (v Version) Decode() (scalehist.Object, error) {
	o := v.Content.DeepCopyObject().(scalehist.Object)
	info := kinds[v.Key.Kind]
	if !info.custom {
		o.GetObjectKind().SetGroupVersionKind(info.gvk)
	}
	o.SetNamespace(v.Key.Namespace)
	o.SetName(v.Key.Name)
	o.SetUID(v.UID)
	base := v.Created
	if base.IsZero() {
		base = time.Unix(0, 0)
	} else {
		o.SetCreationTimestamp(metav1.NewTime(v.Created))
	}
	t, err := parseTimes(v.Times, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.Key, err)
	}
	if err := putState(o, v.State, v.Node, t); err != nil {
		return nil, fmt.Errorf("%s: %w", v.Key, err)
	}
	return o, checkSizes(o)
}

// checkSizes refuses a node group of which no cluster could have the nodes, written and read: who reads it makes an object
// for each.
func checkSizes(o scalehist.Object) error {
	g, ok := o.(*v1alpha1.NodeGroup)
	if !ok || !g.Spec.TooLarge() {
		return nil
	}
	return fmt.Errorf("NodeGroup %s: %s", g.Name, g.Spec.Problem())
}
