package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Blame finds the innermost value that its type cannot take, the first in the order of the type's fields.
func Blame(raw json.RawMessage, t reflect.Type, path string) (string, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return "", nil
	}
	whole := func() (string, error) {
		if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
			return path, err
		}
		return "", nil
	}
	if reflect.PointerTo(t).Implements(jsonReader) {
		return whole()
	}
	switch t.Kind() {
	case reflect.Struct:
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(raw, &keys); err != nil {
			return whole()
		}
		return blameFields(keys, t, path)
	case reflect.Map:
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(raw, &keys); err != nil {
			return whole()
		}
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if at, err := Blame(keys[k], t.Elem(), join(path, k)); err != nil {
				return at, err
			}
		}
		return "", nil
	case reflect.Slice:
		var list []json.RawMessage
		if t.Elem().Kind() == reflect.Uint8 || json.Unmarshal(raw, &list) != nil {
			return whole()
		}
		for i, v := range list {
			if at, err := Blame(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return at, err
			}
		}
		return "", nil
	default:
		return whole()
	}
}

func blameFields(keys map[string]json.RawMessage, t reflect.Type, path string) (string, error) {
	of := map[string]reflect.Type{}
	for _, name := range collectFields(t, of) {
		if v, ok := keys[name]; ok {
			if at, err := Blame(v, of[strings.ToLower(name)], join(path, name)); err != nil {
				return at, err
			}
		}
	}
	return "", nil
}

// join is the path of a key.
func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}
