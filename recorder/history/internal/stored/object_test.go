package stored

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/recorder/history/objectlog"
	"github.com/scalehist/scalehist/recorder/history/projection"
)

// filler fills values of API types at random: whole seconds, short lists, texts of few words, so that much is equal.
type filler struct {
	t      *rapid.T
	inside []reflect.Type
}

func (f *filler) text() string {
	return rapid.SampledFrom([]string{"", "web", "db", "Completed", "OOMKilled", "cpu", "True", "Ready", "250m", "a-b"}).Draw(f.t, "text")
}

func (f *filler) time() metav1.Time {
	return metav1.NewTime(time.Unix(rapid.Int64Range(1, 4_000_000_000).Draw(f.t, "time"), 0).UTC())
}

func (f *filler) fill(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *resource.Quantity:
		*p = resource.MustParse(rapid.SampledFrom([]string{"0", "1", "250m", "1536Mi", "2G", "1e3"}).Draw(f.t, "quantity"))
		return
	case *metav1.Time:
		if rapid.Bool().Draw(f.t, "set") {
			*p = f.time()
		}
		return
	case *intstr.IntOrString:
		*p = intstr.FromInt32(rapid.Int32Range(0, 9).Draw(f.t, "int"))
		return
	case *metav1.FieldsV1:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(f.t, "bool"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64Range(-2, 140).Draw(f.t, "int"))
	case reflect.Pointer:
		if rapid.Bool().Draw(f.t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			if at, ok := v.Interface().(*metav1.Time); ok { // one that is there says something
				*at = f.time()
				return
			}
			f.fill(v.Elem())
		}
	case reflect.Struct:
		if slices.Contains(f.inside, v.Type()) {
			return
		}
		f.inside = append(f.inside, v.Type())
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
		f.inside = f.inside[:len(f.inside)-1]
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		if n := rapid.IntRange(0, 2).Draw(f.t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i))
			}
		}
	case reflect.Map:
		if rapid.Bool().Draw(f.t, "set") {
			v.Set(reflect.MakeMap(v.Type()))
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key)
			f.fill(value)
			v.SetMapIndex(key, value)
		}
	}
}

// json is a random JSON value.
func (f *filler) json(depth int) any {
	switch rapid.IntRange(0, 5).Draw(f.t, "what") {
	case 0:
		return rapid.Int64Range(-5, 5000).Draw(f.t, "number")
	case 1:
		return rapid.Bool().Draw(f.t, "bool")
	case 2:
		return 0.25 * float64(rapid.IntRange(1, 9).Draw(f.t, "quarter")*4+1)
	case 3:
		if depth > 0 {
			out := map[string]any{}
			for _, k := range []string{"lowerBound", "target", "memory", "metadata", "headers", "query", "serverAddress", "password"} {
				if rapid.Bool().Draw(f.t, "set") {
					out[k] = f.json(depth - 1)
				}
			}
			return out
		}
	case 4:
		if depth > 0 {
			return []any{f.json(depth - 1), f.json(depth - 1)}
		}
	}
	return rapid.OneOf(rapid.Just("1234567891"), rapid.Just("https://u:p@host/x"), rapid.Just("999950m"), rapid.StringN(0, 8, -1)).Draw(f.t, "text")
}

func (f *filler) custom(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	for _, path := range projection.Fields(kind) {
		if rapid.Bool().Draw(f.t, "set") {
			f.put(o.Object, strings.Split(path, "."))
		}
	}
	var meta metav1.ObjectMeta
	f.fill(reflect.ValueOf(&meta).Elem())
	name, group, _ := strings.Cut(kind, ".")
	o.SetAPIVersion(group + "/v1")
	o.SetKind(name)
	projection.SetMeta(o, meta)
	return o
}

func (f *filler) put(to map[string]any, path []string) {
	name, list := strings.CutSuffix(path[0], "[]")
	if len(path) == 1 {
		to[name] = f.json(3)
		return
	}
	inner, _ := to[name].(map[string]any)
	if list {
		if l, ok := to[name].([]any); ok {
			inner, _ = l[0].(map[string]any)
		}
	}
	if inner == nil {
		inner = map[string]any{}
	}
	f.put(inner, path[1:])
	if to[name] = inner; list {
		to[name] = []any{inner, f.json(1)}
	}
}

// projectedKinds are the kinds that say how workloads are made and scaled.
func projectedKinds() []string {
	out := append(objectlog.WorkloadKinds(), objectlog.AutoscalingKinds()...)
	for _, gk := range objectlog.CustomKinds() {
		out = append(out, gk.String())
	}
	out = append(out, "Pod", "MetricQuery")
	slices.Sort(out)
	return slices.Compact(out)
}

// TestProjectionOfAnything: whatever an object is, what is kept of it is the same again for what was kept, shares nothing
// with the object, and comes back from its parts.
func TestProjectionOfAnything(t *testing.T) {
	for _, kind := range projectedKinds() {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := &filler{t: t}
				var o scalehist.Object
				if kinds[kind].custom {
					o = f.custom(kind)
				} else {
					o = New(kind)
					f.fill(reflect.ValueOf(o).Elem())
				}
				o.SetName("x")
				before := o.DeepCopyObject()
				kept, ok := projection.Of(o)
				if !ok {
					t.Fatalf("nothing is kept")
				}
				again, _ := projection.Of(kept)
				same(t, "kept again", kept, again)
				e, _, err := Encode(o)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(before, o) {
					t.Fatalf("the object was changed")
				}
				back, err := decoded(e)
				if err != nil {
					t.Fatal(err)
				}
				back.GetObjectKind().SetGroupVersionKind(kept.GetObjectKind().GroupVersionKind())
				same(t, "decoded", kept, back)
			})
		})
	}
}

// decoded is what a file gives back of an object.
func decoded(e Object) (scalehist.Object, error) {
	v := Version{Key: e.Key, UID: e.UID, Created: e.Created, Content: New(e.Key.Kind), Node: e.Node, Times: e.Times(e.Created, true)}
	if err := json.Unmarshal(e.Content, v.Content); err != nil {
		return nil, err
	}
	if e.State != nil {
		v.State = &State{}
		if err := json.Unmarshal(e.State, v.State); err != nil {
			return nil, err
		}
	}
	return v.Decode()
}

// same compares as JSON has it: an empty list is none.
func same(t *rapid.T, what string, a, b scalehist.Object) {
	t.Helper()
	if equality.Semantic.DeepEqual(a, b) {
		return
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	if err1 != nil || err2 != nil || string(x) != string(y) {
		t.Fatalf("%s: %s\nwas %s (%v, %v)", what, y, x, err1, err2)
	}
}
