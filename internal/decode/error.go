package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Error is a text that does not hold what it should, at one place.
type Error struct {
	// Line counts from 1; 0 if it is not known, or the text has one line only.
	Line int
	// Path leads to the value, such as faults[0].count; "" is the whole text.
	Path    string
	Problem string
}

func (e *Error) Error() string {
	text := e.Problem
	if e.Path != "" {
		text = e.Path + ": " + text
	}
	if e.Line > 0 {
		text = fmt.Sprintf("line %d: %s", e.Line, text)
	}
	return text
}

// Due is what a type takes, with its article: "a whole number".
func Due(t reflect.Type) string {
	if t == nil {
		return "another value"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return Due(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "another value"
}

// Plain is an error of a decoder in words without the names of Go.
func Plain(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s where %s is due", wrong.Value, Due(wrong.Type))
	}
	return scrub(err.Error())
}

var (
	// typeError is what encoding/json says where a value is of another type, once it is only text in another error.
	typeError = regexp.MustCompile(`(?m)(?:json: )?cannot unmarshal ([a-z]+(?: [-+.0-9eE]+)?) into Go (?:value of type (.*)|struct field (\S+) of type (.*))$`)
	// selfRead is how types of Go name what reads them.
	selfRead = regexp.MustCompile(`\b[A-Za-z0-9.]*\.Unmarshal(JSON|Text|YAML): `)
	// decoders are the prefixes of the layers between a file and its values.
	decoders = regexp.MustCompile(`error unmarshaling JSON: |error converting YAML to JSON: |while decoding JSON: |error decoding from json: |(^|: )json: |(^|: )yaml: `)
)

// scrub takes the names of Go out of an error that other packages made text of.
func scrub(text string) string {
	text = typeError.ReplaceAllStringFunc(text, func(found string) string {
		m := typeError.FindStringSubmatch(found)
		if m[3] == "" {
			return fmt.Sprintf("%s where %s is due", m[1], dueText(m[2]))
		}
		_, path, _ := strings.Cut(m[3], ".") // before it is the type
		return fmt.Sprintf("%s: %s where %s is due", path, m[1], dueText(m[4]))
	})
	return selfRead.ReplaceAllString(decoders.ReplaceAllString(text, "$1$2"), "")
}

// dueText is Due of a type that is only known by its name.
func dueText(name string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map["), strings.HasPrefix(name, "struct"), strings.Contains(name, "."):
		return "an object"
	case name == "bool":
		return "true or false"
	case name == "string":
		return "a string"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "int"), strings.HasPrefix(name, "uint"):
		return "a whole number"
	}
	return "another value"
}

// Scrubbed is err with the names of Go taken out of its text, for errors of libraries that read files; nil for nil. It wraps err.
func Scrubbed(err error) error {
	if err == nil {
		return nil
	}
	return &scrubbed{err}
}

type scrubbed struct{ err error }

func (s *scrubbed) Error() string { return scrub(s.err.Error()) }
func (s *scrubbed) Unwrap() error { return s.err }
