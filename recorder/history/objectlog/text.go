package objectlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// textProblem says what is wrong with the text of a line, whatever it means: other programs would read something else in it. "" is nothing.
func textProblem(text []byte) string {
	if !utf8.Valid(text) {
		at := 0
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return fmt.Sprintf("byte %d is not UTF-8: write the log with a JSON encoder", at+1)
	}
	if !bytes.Contains(text, []byte(`\u0000`)) { // as nearly every line
		return ""
	}
	var v any
	if json.Unmarshal(text, &v) != nil {
		return "" // the reader says what is wrong
	}
	if key := nulIn("", v); key != "" {
		return fmt.Sprintf("key %q has a NUL in it: SQLite and others would end the text there", key)
	}
	return ""
}

// nulIn is the key under which a text has a NUL. Messages may: they hold what a program printed.
func nulIn(path string, v any) string {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e, at := v[k], strings.TrimPrefix(path+"."+k, ".")
			if strings.Contains(k, "\x00") {
				return at
			}
			if k == "message" || k == "note" {
				continue
			}
			if found := nulIn(at, e); found != "" {
				return found
			}
		}
	case []any:
		for i, e := range v {
			if found := nulIn(fmt.Sprintf("%s[%d]", path, i), e); found != "" {
				return found
			}
		}
	case string:
		if strings.Contains(v, "\x00") {
			return path
		}
	}
	return ""
}

// twiceIn says which key is in an object twice, found as an API server finds it with strict validation; "" where none is. into is of the
// object's type, and is filled.
func twiceIn(raw []byte, into any) string {
	strict, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowDuplicateFields)
	if err != nil || len(strict) == 0 {
		return ""
	}
	return strings.Replace(strict[0].Error(), "duplicate field ", "key ", 1) + " is there twice: which of them counts?"
}
