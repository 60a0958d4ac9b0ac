package canary

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Canary is one text and where it is.
type Canary struct{ Text, Place string }

// Cage makes canaries.
type Cage struct {
	// Dress is a format with one %s; empty is "%s".
	Dress string
	// Digits: canaries are numbers of twelve digits, as those of accounts are.
	Digits bool
	// Canaries are all that were made.
	Canaries []Canary

	inside []reflect.Type
}

// At is what every time is that is filled in.
var At = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// Text makes a canary for a place, dressed.
func (c *Cage) Text(place string) string {
	text := fmt.Sprintf("zq%05dz", len(c.Canaries))
	if c.Digits {
		text = fmt.Sprintf("7319%08d", len(c.Canaries))
	}
	c.Canaries = append(c.Canaries, Canary{text, place})
	if c.Dress == "" {
		return text
	}
	return fmt.Sprintf(c.Dress, text)
}

// Fill puts a canary into every text below v, which can be set: fields, keys and values of maps, bytes. Lists and maps get one
// element, numbers are 1, times At. A type that holds itself is filled once.
func (c *Cage) Fill(v reflect.Value, place string) {
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return // what an object is decides whether it is read
	case *resource.Quantity:
		*p = resource.MustParse("1")
		return
	case *metav1.Time:
		*p = metav1.NewTime(At)
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(At)
		return
	case *time.Time:
		*p = At
		return
	case *intstr.IntOrString:
		*p = intstr.FromString(c.Text(place))
		return
	case *metav1.FieldsV1:
		*p = *metav1.NewFieldsV1(fmt.Sprintf("{%q:{}}", c.Text(place)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(c.Text(place))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		c.Fill(v.Elem(), place)
	case reflect.Struct:
		c.fields(v, place)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(c.Text(place)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		c.Fill(v.Index(0), place+"[]")
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		c.Fill(key, place+"{key}")
		c.Fill(value, place+"{}")
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

func (c *Cage) fields(v reflect.Value, place string) {
	for _, t := range c.inside {
		if t == v.Type() {
			return
		}
	}
	c.inside = append(c.inside, v.Type())
	defer func() { c.inside = c.inside[:len(c.inside)-1] }()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		at := place + "." + name
		if name == "" {
			at = place
		}
		c.Fill(v.Field(i), at)
	}
}
