package engines

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/scalehist/scalehist"
	"github.com/scalehist/scalehist/internal/decode"
	"github.com/scalehist/scalehist/internal/near"
)

// ObjectField is a field of an object that configures a controller.
type ObjectField struct {
	// Kind, Namespace and Name are the object's. Without a namespace one object only may be called that.
	Kind, Namespace, Name string
	// Path are the keys and indexes down to the field, as they were written: "spec.metrics[0].resource.target.averageUtilization".
	Path string
	keys []any // string or int
}

// String is "HorizontalPodAutoscaler/shop/web:spec.minReplicas".
func (f ObjectField) String() string {
	if f.Namespace == "" {
		return fmt.Sprintf("%s/%s:%s", f.Kind, f.Name, f.Path)
	}
	return fmt.Sprintf("%s/%s/%s:%s", f.Kind, f.Namespace, f.Name, f.Path)
}

// ParseObjectField reads KIND/NAME:PATH or KIND/NAMESPACE/NAME:PATH. A key of the path with a dot, a slash or a bracket in it is quoted in brackets:
// metadata.annotations["example.com/x"].
func ParseObjectField(text string) (ObjectField, error) {
	bad := func(why string) (ObjectField, error) {
		return ObjectField{}, fmt.Errorf("%q: %s: write KIND/NAME:FIELD, such as HorizontalPodAutoscaler/web:spec.metrics[0].resource.target.averageUtilization", text, why)
	}
	object, path, ok := strings.Cut(text, ":")
	if !ok || path == "" {
		return bad("no field of an object")
	}
	parts := strings.Split(object, "/")
	if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
		return bad("no object")
	}
	f := ObjectField{Kind: parts[0], Name: parts[len(parts)-1], Path: path}
	if len(parts) == 3 {
		f.Namespace = parts[1]
	}
	for rest := path; rest != ""; {
		if list, inside := strings.CutPrefix(rest, "["); inside {
			at, after, closed := strings.Cut(list, "]")
			if quoted, err := strconv.QuotedPrefix(list); err == nil {
				at, after, closed = quoted, strings.TrimPrefix(list[len(quoted):], "]"), strings.HasPrefix(list[len(quoted):], "]")
			}
			index, err := strconv.Atoi(at)
			key, quotedErr := strconv.Unquote(at)
			switch {
			case !closed:
				return bad("a bracket is not closed")
			case err == nil && index >= 0:
				f.keys = append(f.keys, index)
			case quotedErr == nil:
				f.keys = append(f.keys, key)
			default:
				return bad(fmt.Sprintf("[%s] is neither an index nor a quoted key", at))
			}
			rest = after
		} else {
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return bad("a key is empty")
			}
			f.keys = append(f.keys, rest[:end])
			rest = rest[end:]
		}
		if next, more := strings.CutPrefix(rest, "."); more {
			if next == "" || next[0] == '.' || next[0] == '[' {
				return bad("a key is empty")
			}
			rest = next
		}
	}
	return f, nil
}

// FieldValue is what a field of an object is set to, as YAML writes it.
type FieldValue struct {
	Field ObjectField
	Value string
}

// ParseObjectsWith is ParseObjects with fields set to other values. A field that the object does not have is set too, where its kind has it.
func ParseObjectsWith(data []byte, set []FieldValue) ([]scalehist.Object, error) {
	if objects, err := ParseObjects(data); err != nil || len(set) == 0 { // what is wrong without it is not blamed on a field
		return objects, err
	}
	docs := documents(data)
	for _, s := range set {
		i, err := s.Field.find(docs)
		if err != nil {
			return nil, err
		}
		if docs[i], err = s.in(docs[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Field, err)
		}
	}
	var out []scalehist.Object
	for _, doc := range docs {
		objects, err := ParseObjects(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

// find is the document with the object of a field.
func (f ObjectField) find(docs [][]byte) (int, error) {
	found, known := -1, []string{}
	for i, doc := range docs {
		objects, err := ParseObjects(doc)
		if err != nil {
			return 0, err
		}
		o := objects[0]
		kind, err := kindOf(doc)
		if err != nil {
			return 0, err
		}
		known = append(known, fmt.Sprintf("%s/%s/%s", kind, o.GetNamespace(), o.GetName()))
		if kind != f.Kind || o.GetName() != f.Name || f.Namespace != "" && o.GetNamespace() != f.Namespace {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("%s: there are several: name the namespace, as in %s", f, known[found])
		}
		found = i
	}
	if found < 0 {
		if slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Pod"}, f.Kind) {
			return 0, fmt.Errorf("%s: a %s is what was recorded, and configures nothing: vary minReplicas and maxReplicas of an autoscaler of its replicas, or minAllowed and maxAllowed of one of its requests", f, f.Kind)
		}
		whole := fmt.Sprintf("%s/%s/%s", f.Kind, f.Namespace, f.Name)
		return 0, fmt.Errorf("%s: there is no such object: there are %s%s", f, strings.Join(known, ", "), near.Suggest(whole, known))
	}
	return found, nil
}

func kindOf(doc []byte) (string, error) {
	var o struct{ Kind string }
	err := yaml.Unmarshal(doc, &o)
	return o.Kind, err
}

// in is a document with the field set: as YAML reads the value, else as text, which is what a field for text needs of "Off" and "50".
func (s FieldValue) in(doc []byte) ([]byte, error) {
	var value any
	if err := yaml.Unmarshal([]byte(s.Value), &value); err != nil {
		value = s.Value
	}
	if _, is := value.(bool); is && s.Value != "true" && s.Value != "false" {
		value = s.Value // modes are called Off and No
	}
	out, err := s.with(doc, value)
	if err == nil || errors.Is(err, errNoField) {
		return out, err
	}
	if asText, errText := s.with(doc, s.Value); errText == nil {
		return asText, nil
	}
	return nil, err
}

var errNoField = errors.New("there is no such field")

func (s FieldValue) with(doc []byte, value any) ([]byte, error) {
	var root any
	if err := yaml.Unmarshal(doc, &root); err != nil {
		return nil, err
	}
	root, err := set(root, s.Field.keys, value, "")
	if err != nil {
		return nil, err
	}
	out, err := yaml.Marshal(root)
	if err != nil {
		return nil, err
	}
	objects, err := ParseObjects(out)
	if err != nil {
		var wrong *decode.Error
		if errors.As(err, &wrong) {
			err = &decode.Error{Path: wrong.Path, Problem: wrong.Problem} // its line is of no file that anybody has
		}
		return nil, fmt.Errorf("with %s: %w", s.Value, err)
	}
	if objects[0].GetName() != s.Field.Name {
		return nil, errors.New("it would be another object")
	}
	return out, nil
}

// set puts a value at the end of a path, in what is at a place.
func set(in any, keys []any, value any, place string) (any, error) {
	if len(keys) == 0 {
		return value, nil
	}
	var err error
	switch key := keys[0].(type) {
	case int:
		list, ok := in.([]any)
		if !ok {
			return nil, fmt.Errorf("%w: %s is no list", errNoField, place)
		}
		if key >= len(list) {
			return nil, fmt.Errorf("%w: %s has no element %d, it has %d", errNoField, place, key, len(list))
		}
		list[key], err = set(list[key], keys[1:], value, fmt.Sprintf("%s[%d]", place, key))
		return list, err
	case string:
		if in == nil {
			in = map[string]any{}
		}
		fields, ok := in.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%w: %s has no keys", errNoField, place)
		}
		next := key
		if place != "" {
			next = place + "." + key
		}
		fields[key], err = set(fields[key], keys[1:], value, next)
		return fields, err
	}
	return nil, errNoField // keys are nothing else
}
