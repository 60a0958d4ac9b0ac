package decode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist/internal/near"
)

// MaxFile bounds a file that people write, in bytes: what YAML makes of a text takes up to a hundred times its size. A ConfigMap has at most
// 1 MiB.
const MaxFile = 4 << 20

// Size refuses a text of more than MaxFile.
func Size(data []byte) error {
	if len(data) > MaxFile {
		return &Error{0, "", fmt.Sprintf("%d bytes are more than %d", len(data), MaxFile)}
	}
	return nil
}

// YAML reads YAML, or JSON, into what into points to, by its json tags. Keys that it does not know and keys that are given twice are errors,
// of type *Error, as is a text of more than MaxFile.
func YAML(data []byte, into any) error {
	if err := Size(data); err != nil {
		return err
	}
	err := sigsyaml.UnmarshalStrict(data, into)
	if err == nil {
		return nil
	}
	var doc yaml.Node
	if syntax := yaml.Unmarshal(data, &doc); syntax != nil {
		return &Error{0, "", "not YAML: " + scrub(syntax.Error())}
	}
	if len(doc.Content) > 0 {
		if found := blameNode(doc.Content[0], reflect.TypeOf(into).Elem(), "", 0); found != nil {
			return found
		}
	}
	return &Error{0, "", scrub(err.Error())}
}

var (
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// deepest bounds how deep a value is looked at; no type is nested deeper, but for those that hold themselves.
const deepest = 50

// blameNode finds the first value that its type cannot take.
func blameNode(n *yaml.Node, t reflect.Type, path string, depth int) *Error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n.Tag == "!!null" || depth > deepest {
		return nil
	}
	self := reflect.PointerTo(t).Implements(jsonReader) || reflect.PointerTo(t).Implements(textReader)
	switch kind := t.Kind(); {
	case self || kind != reflect.Struct && kind != reflect.Map && kind != reflect.Slice:
		return blameValue(n, t, path)
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return blameValue(n, t, path)
	case kind == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			if found := blameNode(item, t.Elem(), fmt.Sprintf("%s[%d]", path, i), depth+1); found != nil {
				return found
			}
		}
		return nil
	case kind != reflect.Slice && n.Kind == yaml.MappingNode:
		return blameKeys(n, t, path, depth)
	}
	return &Error{n.Line, path, fmt.Sprintf("%s where %s is due", given(n), dueAt(t, path))}
}

// blameKeys finds a key that is unknown or given twice, or the value of one that its type cannot take.
func blameKeys(n *yaml.Node, t reflect.Type, path string, depth int) *Error {
	fields := map[string]reflect.Type{}
	var known []string
	if t.Kind() == reflect.Struct {
		known = collectFields(t, fields)
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Tag == "!!merge" {
			continue
		}
		if line, twice := seen[key.Value]; twice {
			return &Error{key.Line, path, fmt.Sprintf("the key %q is given twice, first in line %d", key.Value, line)}
		}
		seen[key.Value] = key.Line
		of, ok := fields[strings.ToLower(key.Value)]
		switch {
		case t.Kind() == reflect.Map:
			of = t.Elem()
		case !ok:
			return &Error{key.Line, path, fmt.Sprintf("unknown key %q%s", key.Value, near.Suggest(key.Value, known))}
		}
		if found := blameNode(value, of, strings.TrimPrefix(path+"."+key.Value, "."), depth+1); found != nil {
			return found
		}
	}
	return nil
}

// collectFields gives the keys of a type in their order, and adds the type of each by its name in lower case: keys are read so.
func collectFields(t reflect.Type, to map[string]reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case name == "" && f.Anonymous && f.Type.Kind() == reflect.Struct:
			names = append(names, collectFields(f.Type, to)...)
			continue
		case name == "":
			name = f.Name
		}
		names = append(names, name)
		to[strings.ToLower(name)] = f.Type
	}
	return names
}

// blameValue reads one value alone.
func blameValue(n *yaml.Node, t reflect.Type, path string) *Error {
	text, err := yaml.Marshal(n)
	if err == nil {
		err = sigsyaml.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return nil
	}
	if n.Kind != yaml.ScalarNode || !reflect.PointerTo(t).Implements(jsonReader) {
		return &Error{n.Line, path, fmt.Sprintf("%s where %s is due", given(n), Due(t))}
	}
	return &Error{n.Line, path, fmt.Sprintf("%s: %s", given(n), scrub(err.Error()))}
}

// dueAt is Due, at the top of a text with the keys that belong there.
func dueAt(t reflect.Type, path string) string {
	if path != "" || t.Kind() != reflect.Struct {
		return Due(t)
	}
	names := collectFields(t, map[string]reflect.Type{})
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	if len(names) > 3 {
		return Due(t)
	}
	return Due(t) + " with " + strings.Join(names, ", ")
}

// longest is how much of a value an error quotes, in bytes.
const longest = 60

// given is what is there: "a list", or the value quoted.
func given(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "an object"
	}
	if len(n.Value) > longest {
		return strconv.Quote(strings.ToValidUTF8(n.Value[:longest], "")) + "..."
	}
	return strconv.Quote(n.Value)
}

// nodeError is what yaml.v3 says where a value is of another type.
var nodeError = regexp.MustCompile("cannot unmarshal (!!\\w+)(?: `(.*)`)? into (.*)$")

// Line is a line of a *yaml.TypeError in words without the names of Go.
func Line(text string) string {
	m := nodeError.FindStringSubmatch(text)
	if m == nil {
		return scrub(text)
	}
	is := strconv.Quote(m[2])
	switch m[1] {
	case "!!seq":
		is = "a list"
	case "!!map":
		is = "an object"
	}
	return strings.TrimSuffix(text, m[0]) + is + " where " + dueText(m[3]) + " is due"
}
