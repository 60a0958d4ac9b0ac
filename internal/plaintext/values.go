package plaintext

import (
	"reflect"
	"slices"
	"strings"
)

// Values is v with every string that can be reached from it made inert, map keys among them: v itself where all are, else a copy that
// shares what needed no change. v is never changed. Fields that are not exported are left as they are, so that a type that is to be printed
// has its values in exported ones; cycles are not looked for.
func Values[T any](v T) T {
	got, changed := inert(reflect.ValueOf(&v).Elem())
	if !changed {
		return v
	}
	out, _ := got.Interface().(T) // inert keeps the type
	return out
}

// inert gives v without what is not printable, and whether that is another value than v.
func inert(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		if s := Escape(v.String()); s != v.String() {
			return reflect.ValueOf(s).Convert(v.Type()), true
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v, false
		}
		if e, changed := inert(v.Elem()); changed {
			out := reflect.New(v.Type().Elem())
			out.Elem().Set(e)
			return out, true
		}
	case reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		if e, changed := inert(v.Elem()); changed {
			out := reflect.New(v.Type()).Elem()
			out.Set(e)
			return out, true
		}
	case reflect.Struct:
		return inertStruct(v)
	case reflect.Slice, reflect.Array:
		return inertList(v)
	case reflect.Map:
		return inertMap(v)
	}
	return v, false
}

func inertStruct(v reflect.Value) (reflect.Value, bool) {
	var out reflect.Value
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		if f, changed := inert(v.Field(i)); changed {
			if !out.IsValid() {
				out = reflect.New(v.Type()).Elem()
				out.Set(v)
			}
			out.Field(i).Set(f)
		}
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

func inertList(v reflect.Value) (reflect.Value, bool) {
	if !hasText(v.Type().Elem()) {
		return v, false
	}
	var out reflect.Value
	for i := range v.Len() {
		if e, changed := inert(v.Index(i)); changed {
			if !out.IsValid() {
				out = reflect.New(v.Type()).Elem()
				if v.Kind() == reflect.Slice {
					out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
				}
				reflect.Copy(out, v)
			}
			out.Index(i).Set(e)
		}
	}
	if !out.IsValid() {
		return v, false
	}
	return out, true
}

// inertMap takes the keys in order: two that become one key give the same on every run.
func inertMap(v reflect.Value) (reflect.Value, bool) {
	keys := v.MapKeys()
	if v.Type().Key().Kind() == reflect.String {
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	}
	out, changed := reflect.MakeMapWithSize(v.Type(), v.Len()), false
	for _, k := range keys {
		key, c1 := inert(k)
		e, c2 := inert(v.MapIndex(k))
		changed = changed || c1 || c2
		out.SetMapIndex(key, e)
	}
	if !changed {
		return v, false
	}
	return out, true
}

// hasText says whether a list of t is worth looking through: numbers and bytes are not.
func hasText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}
