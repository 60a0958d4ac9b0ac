package objectlog

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/scalehist/scalehist/internal/decode"
)

// offendingKey finds the innermost key of a JSON object that cannot be decoded: encoding/json does not say which when
// a type reads itself (times, quantities). At each level only one key is kept, and the first that still fails is gone
// into. It is empty when no single key is at fault.
func offendingKey(raw json.RawMessage, fails func(json.RawMessage) bool) string {
	path := ""
	wrap := func(v json.RawMessage) json.RawMessage { return v }
	for range 100 { // no object is nested deeper
		if empty := emptyOf(raw); path != "" && (empty == nil || fails(wrap(empty))) {
			break // the value itself is of the wrong type, whatever is in it
		}
		key, value, next := failingChild(raw, func(v json.RawMessage) bool { return fails(wrap(v)) })
		if key == "" {
			return strings.TrimPrefix(path, ".")
		}
		path += key
		outer := wrap
		wrap = func(v json.RawMessage) json.RawMessage { return outer(next(v)) }
		raw = value
	}
	return strings.TrimPrefix(path, ".")
}

// emptyOf is an object or list without content, nil for a value that has none.
func emptyOf(raw json.RawMessage) json.RawMessage {
	switch trimmed := bytes.TrimSpace(raw); {
	case bytes.HasPrefix(trimmed, []byte("{")):
		return json.RawMessage("{}")
	case bytes.HasPrefix(trimmed, []byte("[")):
		return json.RawMessage("[]")
	}
	return nil
}

// failingChild is the first key or index of raw that fails on its own; next puts a value in its place.
func failingChild(raw json.RawMessage, fails func(json.RawMessage) bool) (key string, value json.RawMessage, next func(json.RawMessage) json.RawMessage) {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for _, k := range slices.Sorted(maps.Keys(object)) {
			quoted, err := json.Marshal(k)
			if err != nil {
				continue
			}
			next := func(v json.RawMessage) json.RawMessage {
				return slices.Concat([]byte("{"), quoted, []byte(":"), v, []byte("}"))
			}
			if fails(next(object[k])) {
				return "." + k, object[k], next
			}
		}
		return "", nil, nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		for i, v := range list {
			next := func(v json.RawMessage) json.RawMessage { return slices.Concat([]byte("["), v, []byte("]")) }
			if fails(next(v)) {
				return "[" + strconv.Itoa(i) + "]", v, next
			}
		}
	}
	return "", nil, nil
}

// valueProblem says what is wrong with the value of a key that is named already.
func valueProblem(err error) string {
	return decode.Plain(err)
}
