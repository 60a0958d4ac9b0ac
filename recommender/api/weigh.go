package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// unmarshaler: a type that reads itself.
var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// JSON is small where what it becomes is large: "{}," in a list of containers is 3 bytes, and a Container of 408. So
// a request is counted before it is decoded, token by token and without building anything. What it may be depends on
// the largest body, which the server's options say:
const (
	// bytesPerElement: a request may have one value for each of so many bytes of the largest body. Objects as kubectl
	// prints them have one in 25 to 40 bytes, the smallest pods one in 16.
	bytesPerElement = 8
	// memoryPerByte: decoding a request may allocate so many bytes for each of the largest body. Pods as kubectl prints
	// them take 2 to 4, the smallest ones 12.
	memoryPerByte = 16
	// maxDepth bounds nesting. The deepest of Kubernetes' objects has some 20 levels.
	maxDepth = 100
	// leastBody is the size of a body that limits are derived from where the largest body is smaller still.
	leastBody = 1 << 20
)

// allowance is what a request may still take.
type allowance struct {
	maxElements, maxMemory int64
	elements, memory       int64 // taken
}

// newAllowance is what a body of the given size may take where the largest is maxBody.
func newAllowance(maxBody, size int64) *allowance {
	if maxBody == 0 { // nobody serves: a file of one's own
		maxBody = max(DefaultMaxBody, size)
	}
	maxBody = max(maxBody, leastBody)
	return &allowance{maxElements: maxBody / bytesPerElement, maxMemory: maxBody * memoryPerByte, memory: 2 * size} // strings and raw objects
}

// level is a list or an object that is open.
type level struct {
	// of is what a list's elements or a map's values become. It is nil where nothing is built of them, and in structs.
	of reflect.Type
	// fields are a struct's, by name.
	fields map[string]reflect.Type
	object bool
	// named: the name of a member was read, its value is next; next is what it becomes.
	named bool
	next  reflect.Type
	// length and room of the list or map, as the decoder makes them.
	length, room int64
}

// weigh counts data, which becomes a t. recount: its elements were counted before. Data that is no JSON passes: decoding
// says what is wrong with it.
func (a *allowance) weigh(data []byte, t reflect.Type, path string, recount bool) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var open []level
	for {
		token, err := dec.ReadToken()
		if err == io.EOF { //nolint:errorlint // it is never wrapped
			return nil
		}
		if err != nil {
			if json.Valid(data) { // what the counter cannot read, the decoder must not
				return &RequestError{path, "it cannot be read: " + err.Error(), "correct it"}
			}
			return nil
		}
		kind := token.Kind()
		if kind == '}' || kind == ']' {
			open = open[:len(open)-1]
			continue
		}
		slot := t
		if len(open) > 0 {
			in := &open[len(open)-1]
			if in.object && !in.named {
				in.named, in.next = true, in.of
				if in.fields != nil {
					in.next = in.fields[strings.ToLower(token.String())]
				}
				continue
			}
			if slot = in.of; in.object {
				slot, in.named = in.next, false
			}
			a.memory += in.grow()
		}
		if !recount {
			a.elements++
		}
		inner, cost := built(slot, kind)
		a.memory += cost
		if kind == '{' || kind == '[' {
			inner.object = kind == '{'
			open = append(open, inner)
		}
		if err := a.exceeded(path, len(open), dec.InputOffset()); err != nil {
			return err
		}
	}
}

func (a *allowance) exceeded(path string, depth int, at int64) error {
	problem, advice := "", "leave out objects that are no nodes, pods, storage, priorities or DaemonSets, or give the server a higher --max-body"
	switch {
	case depth > maxDepth:
		problem, advice = fmt.Sprintf("it is nested deeper than %d levels", maxDepth), "no object of a cluster is"
	case a.elements > a.maxElements:
		problem = fmt.Sprintf("it has more than %d values", a.maxElements)
	case a.memory > a.maxMemory:
		problem = fmt.Sprintf("decoding it takes more than %d bytes of memory", a.maxMemory)
	default:
		return nil
	}
	return &tooLargeError{&RequestError{Path: path, Problem: fmt.Sprintf("%s (seen by byte %d)", problem, at), Advice: advice}}
}

// tooLargeError is about how much was sent, not about what.
type tooLargeError struct{ *RequestError }

// Unwrap makes it a RequestError.
func (e *tooLargeError) Unwrap() error { return e.RequestError }

// mapGroup is the least room that Go makes in a map, doubling is how far lists double.
const (
	mapGroup = 8
	doubling = 256
)

// grow takes one more into the list or map, and gives what is allocated for it, with what is given up: the room of
// lists grows as append does it, that of maps doubles, and a set of the keys is kept with it.
func (l *level) grow() int64 {
	if l.of == nil {
		return 0
	}
	l.length++
	if l.length <= l.room {
		return 0
	}
	each := int64(l.of.Size())
	if l.object {
		l.room, each = max(mapGroup, 2*l.room), 2*(each+int64(reflect.TypeFor[string]().Size()))
	} else if l.room < doubling {
		l.room = max(1, 2*l.room)
	} else {
		l.room += (l.room + 3*doubling) / 4
	}
	return l.room * each
}

// ownWay is about what types allocate that read themselves: times, quantities.
const ownWay = 64

// mapHeader is about what an empty map is.
const mapHeader = 48

// built is what becomes of a value beside what its list or struct has room for already, and the level it opens.
func built(t reflect.Type, kind jsontext.Kind) (inner level, cost int64) {
	if t == nil || kind == 'n' {
		return inner, 0
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
		cost += int64(t.Size())
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return inner, cost + ownWay
	}
	switch t.Kind() {
	case reflect.Slice:
		inner.of = t.Elem()
	case reflect.Map:
		inner.of, cost = t.Elem(), cost+mapHeader
	case reflect.Struct:
		inner.fields = fieldsOf(t)
	}
	return inner, cost
}

var fieldsByType sync.Map

// fieldsOf are the fields of a struct by their names in JSON, in lower case: not all decoders mind it.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsByType.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			for name, inner := range fieldsOf(f.Type) {
				if _, nearer := out[name]; !nearer {
					out[name] = inner
				}
			}
		case name == "":
			out[strings.ToLower(f.Name)] = f.Type
		default:
			out[strings.ToLower(name)] = f.Type
		}
	}
	fieldsByType.Store(t, out)
	return out
}
