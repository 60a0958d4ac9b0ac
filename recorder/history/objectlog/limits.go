package objectlog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/api/v1alpha1"
)

// maxSpan bounds how far times of one log are apart: what is farther is a stray year, and a replay would never end.
const maxSpan = 10 * 366 * 24 * time.Hour

// spanProblem says what is wrong with a time that something lasts to from the line's; a zero one is open.
func spanProblem(at, to time.Time) string {
	switch {
	case to.IsZero():
		return ""
	case to.Before(at):
		return fmt.Sprintf(`key "spec.to": %s is before the line's time %s`, to.UTC().Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	case to.Sub(at) > maxSpan:
		return fmt.Sprintf(`key "spec.to": %s is more than ten years after the line's time %s`, to.UTC().Format(time.RFC3339Nano), at.Format(time.RFC3339Nano))
	}
	return ""
}

// objectProblem says what is wrong with the values of an object that can be read: what no cluster has, and what a replay
// would take for room or for time without end. "" is nothing.
func objectProblem(at time.Time, o scalehist.Object) string {
	switch o := o.(type) {
	case *v1alpha1.NodeGroup:
		if p := o.Spec.Problem(); p != "" {
			return p
		}
	case *Recording:
		return spanProblem(at, o.Spec.To)
	case *Gap:
		return spanProblem(at, o.Spec.To)
	case *Usage:
		if o.Spec.CPUMilli < 0 || o.Spec.MemoryBytes < 0 {
			return fmt.Sprintf(`key "spec": %dm of cpu and %d bytes of memory: usage is 0 or more`, o.Spec.CPUMilli, o.Spec.MemoryBytes)
		}
		return ""
	}
	return negative(reflect.ValueOf(o), "")
}

var resourceList = reflect.TypeFor[corev1.ResourceList]()

// negative names the first quantity below zero in lists of resources, wherever in an object they are: as a request it would make
// room where there is none.
func negative(v reflect.Value, path string) string {
	if v.Type() == resourceList {
		list := v.Interface().(corev1.ResourceList)
		for _, name := range slices.Sorted(maps.Keys(list)) {
			if q := list[name]; q.Sign() < 0 {
				return fmt.Sprintf("key %q: %s is negative", strings.TrimPrefix(path, ".")+"."+string(name), q.String())
			}
		}
		return ""
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return negative(v.Elem(), path)
		}
	case reflect.Struct:
		t := v.Type()
		if !holdsResources(t) {
			return ""
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			at := path + "." + name
			if f.Anonymous && name == "" {
				at = path
			}
			if p := negative(v.Field(i), at); p != "" {
				return p
			}
		}
	case reflect.Slice:
		if !holdsResources(v.Type()) {
			return ""
		}
		for i := range v.Len() {
			if p := negative(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); p != "" {
				return p
			}
		}
	}
	return ""
}

// withResources remembers of types whether they hold lists of resources: most hold none, and are not looked into.
var withResources sync.Map

func holdsResources(t reflect.Type) bool {
	if known, ok := withResources.Load(t); ok {
		return known.(bool)
	}
	found := searchResources(t, map[reflect.Type]bool{})
	withResources.Store(t, found)
	return found
}

// searchResources searches a type; seen are those it is inside of already.
func searchResources(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == resourceList {
		return true
	}
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return searchResources(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() && searchResources(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
