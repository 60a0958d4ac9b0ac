package memory

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"

	"github.com/scalehist/scalehist/harness/kvcl/internal/plane"
)

// table is one kind of objects, in the API server's internal version, by key: what etcd is to a real one. What is stored
// is never changed in place: writers get copies.
type table struct {
	server *server
	kind   *plane.Kind
	rows   map[string]runtime.Object
}

var (
	_         storage.Interface = (*table)(nil)
	versioner storage.APIObjectVersioner
)

// set makes out the object obj; what is deeper in it they share.
func set(out, obj runtime.Object) error {
	if out == nil {
		return nil
	}
	v, err := conversion.EnforcePtr(out)
	if err != nil {
		return err
	}
	v.Set(reflect.ValueOf(obj).Elem())
	return nil
}

func (t *table) Versioner() storage.Versioner { return versioner }

// put stores an object, which is the table's from now on, under the next resource version.
func (t *table) put(key string, obj runtime.Object) error {
	t.server.version++
	if err := versioner.UpdateObject(obj, t.server.version); err != nil {
		return err
	}
	t.rows[key] = obj
	return t.server.emit(t.kind, obj, false)
}

// reread is an object as a real storage decodes it.
func (t *table) reread(obj runtime.Object) (runtime.Object, error) {
	if t.kind == nil {
		return obj, nil
	}
	v1, err := external(t.kind, obj)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(v1)
	in := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
	return in, legacyscheme.Scheme.Convert(v1, in, nil)
}

func (t *table) Create(_ context.Context, key string, obj, out runtime.Object, _ uint64) error {
	if _, taken := t.rows[key]; taken {
		return storage.NewKeyExistsError(key, 0)
	}
	if err := versioner.PrepareObjectForStorage(obj); err != nil {
		return err
	}
	// What is read from etcd has defaults, also where a strategy emptied the status.
	obj, err := t.reread(obj)
	if err != nil {
		return err
	}
	if err := t.put(key, obj); err != nil {
		return err
	}
	return set(out, obj)
}

func (t *table) Get(_ context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	obj, ok := t.rows[key]
	switch {
	case ok:
		return set(out, obj.DeepCopyObject())
	case opts.IgnoreNotFound:
		return runtime.SetZeroValue(out)
	}
	return storage.NewKeyNotFoundError(key, 0)
}

func (t *table) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, _ storage.DeleteOptions) error {
	old, ok := t.rows[key]
	if !ok {
		return storage.NewKeyNotFoundError(key, 0)
	}
	obj := old.DeepCopyObject()
	if preconditions != nil {
		if err := preconditions.Check(key, obj); err != nil {
			return err
		}
	}
	if err := validate(ctx, obj); err != nil {
		return err
	}
	delete(t.rows, key)
	t.server.version++
	if err := versioner.UpdateObject(obj, t.server.version); err != nil {
		return err
	}
	if err := t.server.emit(t.kind, obj, true); err != nil {
		return err
	}
	return set(out, obj)
}

func (t *table) GuaranteedUpdate(_ context.Context, key string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, try storage.UpdateFunc, _ runtime.Object) error {
	old, ok := t.rows[key]
	if !ok && !ignoreNotFound {
		return storage.NewKeyNotFoundError(key, 0)
	}
	var (
		have runtime.Object
		rv   uint64
		err  error
	)
	if ok {
		have = old.DeepCopyObject()
		if rv, err = versioner.ObjectResourceVersion(have); err != nil {
			return err
		}
	} else {
		have = reflect.New(reflect.TypeOf(out).Elem()).Interface().(runtime.Object)
	}
	if preconditions != nil {
		if err := preconditions.Check(key, have); err != nil {
			return err
		}
	}
	want, _, err := try(have, storage.ResponseMeta{ResourceVersion: rv})
	if err != nil {
		return err
	}
	// What is stored has no version of its own, so a write that changes nothing else is none.
	if err := versioner.UpdateObject(want, rv); err != nil {
		return err
	}
	if ok && same(old, want) {
		return set(out, old)
	}
	if err := t.put(key, want); err != nil {
		return err
	}
	return set(out, want)
}

// same says whether a write would change nothing. Of a pod it is nearly always the status that changes.
func same(a, b runtime.Object) bool {
	if p, ok := a.(*core.Pod); ok && !equality.Semantic.DeepEqual(p.Status, b.(*core.Pod).Status) {
		return false
	}
	return equality.Semantic.DeepEqual(a, b)
}

func (t *table) GetList(_ context.Context, key string, opts storage.ListOptions, out runtime.Object) error {
	keys := make([]string, 0, len(t.rows))
	for k := range t.rows {
		if k == key || opts.Recursive && strings.HasPrefix(k, strings.TrimSuffix(key, "/")+"/") {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var list []runtime.Object
	for _, k := range keys {
		obj := t.rows[k].DeepCopyObject()
		if match, err := opts.Predicate.Matches(obj); err != nil {
			return err
		} else if match {
			list = append(list, obj)
		}
	}
	if err := meta.SetList(out, list); err != nil {
		return err
	}
	return versioner.UpdateList(out, t.server.version, "", nil)
}

func (t *table) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	return nil, fmt.Errorf("watch %s: a control plane in memory has no watches", t.kind.Resource)
}

func (t *table) Stats(context.Context) (storage.Stats, error) {
	return storage.Stats{ObjectCount: int64(len(t.rows))}, nil
}

func (t *table) ReadinessCheck() error { return nil }

func (t *table) RequestWatchProgress(context.Context) error { return nil }

func (t *table) GetCurrentResourceVersion(context.Context) (uint64, error) {
	return t.server.version, nil
}

func (t *table) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (t *table) CompactRevision() int64 { return 0 }
