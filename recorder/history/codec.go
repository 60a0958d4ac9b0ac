package history

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// key names an object among the living.
type key struct{ kind, namespace, name string }

func (k key) String() string {
	if k.namespace == "" {
		return k.kind + "/" + k.name
	}
	return k.kind + "/" + k.namespace + "/" + k.name
}

// encoded is an object taken apart for storage.
type encoded struct {
	key     key
	prefix  string // of the name, as stored
	uid     types.UID
	created time.Time // zero if unknown
	deleted time.Time // metadata.deletionTimestamp
	content []byte
	state   []byte // nil for kinds without
	node    string
	moments times
	bare    bool // only identity: the object of a delete may carry no more
}

// times formats the moments against the object's creation, with or without the deletion's.
func (e *encoded) times(created time.Time, deletion bool) string {
	t := e.moments
	if !deletion {
		t.deletion = metav1.Time{}
	}
	if created.IsZero() {
		created = time.Unix(0, 0)
	}
	return t.format(created)
}

// encode projects o and takes it apart. ok is false for what is not kept.
func encode(o scalehist.Object) (e encoded, ok bool, err error) {
	p, ok := projection.Of(o)
	if !ok {
		return encoded{}, false, nil
	}
	e.key = key{KindOf(p), p.GetNamespace(), p.GetName()}
	if e.key.name == "" {
		return encoded{}, false, fmt.Errorf("%s without a name: give metadata.name", e.key.kind)
	}
	if err := checkSizes(p); err != nil {
		return encoded{}, false, err
	}
	e.uid, e.prefix = p.GetUID(), namePrefix(p)
	e.created = utc(p.GetCreationTimestamp().Time)
	s, node, t, has, err := takeState(p)
	if err != nil {
		return encoded{}, false, fmt.Errorf("%s: %w", e.key, err)
	}
	e.node, e.moments = node, t
	if !t.deletion.IsZero() {
		e.deleted = utc(t.deletion.Time)
	}
	p.SetNamespace("")
	p.SetName("")
	p.SetUID("")
	p.SetCreationTimestamp(metav1.Time{})
	if e.content, err = json.Marshal(p); err != nil {
		return encoded{}, false, fmt.Errorf("%s: %w", e.key, err)
	}
	if has {
		if e.state, err = json.Marshal(s); err != nil {
			return encoded{}, false, fmt.Errorf("%s: %w", e.key, err)
		}
	}
	e.bare = isBare(p, e.content)
	return e, true, nil
}

// bareContents are the contents of objects that say nothing, by kind.
var bareContents = func() map[string]string {
	out := map[string]string{}
	for kind, info := range kinds {
		if info.custom {
			continue
		}
		b, err := json.Marshal(info.new())
		if err != nil {
			panic(fmt.Sprintf("marshal an empty %s: %v", kind, err)) // cannot fail
		}
		out[kind] = string(b)
	}
	return out
}()

func isBare(o scalehist.Object, content []byte) bool {
	switch o := o.(type) {
	case *corev1.Pod:
		return len(o.Spec.Containers) == 0
	case *unstructured.Unstructured:
		return isBareCustom(o)
	}
	return string(content) == bareContents[KindOf(o)]
}

// hashOf is the content address: 16 bytes of SHA-256, enough for any number of contents a file can hold.
func hashOf(b []byte) [16]byte {
	sum := sha256.Sum256(b)
	return [16]byte(sum[:16])
}

// stored is a version as rows give it.
type stored struct {
	objectID int64
	key      key
	uid      types.UID
	created  time.Time
	content  scalehist.Object
	state    *state
	node     string
	times    string
}

// decode builds the object again: it shares nothing with other versions of the same content.
func (v stored) decode() (scalehist.Object, error) {
	o := v.content.DeepCopyObject().(scalehist.Object)
	info := kinds[v.key.kind]
	if !info.custom {
		o.GetObjectKind().SetGroupVersionKind(info.gvk)
	}
	o.SetNamespace(v.key.namespace)
	o.SetName(v.key.name)
	o.SetUID(v.uid)
	base := v.created
	if base.IsZero() {
		base = time.Unix(0, 0)
	} else {
		o.SetCreationTimestamp(metav1.NewTime(v.created))
	}
	t, err := parseTimes(v.times, base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v.key, err)
	}
	if err := putState(o, v.state, v.node, t); err != nil {
		return nil, fmt.Errorf("%s: %w", v.key, err)
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

// uidColumn is how a UID is stored: 16 bytes for a UUID in its usual spelling, else its text.
func uidColumn(uid types.UID) any {
	s := string(uid)
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return s
	}
	b, err := hex.DecodeString(s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:])
	if err != nil || uidText(b) != s { // upper case would not come back
		return s
	}
	return b
}

func uidText(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// uidFrom is the inverse of uidColumn.
func uidFrom(v any) types.UID {
	switch v := v.(type) {
	case []byte:
		if len(v) == 16 {
			return types.UID(uidText(v))
		}
		return types.UID(v)
	case string:
		return types.UID(v)
	}
	return ""
}

// toSeconds is a time column in whole seconds since 1970 UTC, nil for the zero time.
func toSeconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.Unix()
}

func nullSeconds(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.Unix(v.Int64, 0).UTC()
}

// objectTime is the column version.object_at: whole seconds after the object's creation, else nanoseconds as text.
func objectTime(t, created time.Time) any {
	if t.IsZero() {
		return nil
	}
	if t.Nanosecond() != 0 {
		return strconv.FormatInt(t.UnixNano(), 10)
	}
	return t.Unix() - unixOrZero(created)
}

// objectTimeFrom is the inverse of objectTime.
func objectTimeFrom(v any, created time.Time) (time.Time, error) {
	switch v := v.(type) {
	case nil:
		return time.Time{}, nil
	case int64:
		return time.Unix(unixOrZero(created)+v, 0).UTC(), nil
	case string:
		ns, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("column object_at: %w", err)
		}
		return fromNS(ns), nil
	}
	return time.Time{}, fmt.Errorf("column object_at holds a %T", v)
}

func unixOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// toNS is a time column: nanoseconds UTC, nil for the zero time.
func toNS(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func fromNS(ns int64) time.Time { return time.Unix(0, ns).UTC() }
