package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/scalehist/scalehist/internal/near"
)

// position is where something is in a file, from 1.
type position struct{ line, column int }

// decoder reads YAML into the types of this package, strictly: every key is known, is given once, and has a value of its type.
// It goes on after a problem, so that all are reported.
type decoder struct {
	file     string
	problems []Problem
	at       map[string]position
	// left bounds what aliases may multiply to.
	left int
}

// reader is a type that reads itself.
type reader interface {
	read(d *decoder, n *yaml.Node, path string)
}

func (d *decoder) addf(n *yaml.Node, format string, args ...any) {
	d.atf(position{n.Line, n.Column}, format, args...)
}

func (d *decoder) atf(at position, format string, args ...any) {
	d.problems = append(d.problems, Problem{d.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

func resolved(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

// spend counts a node; false when the file is more than anybody writes.
func (d *decoder) spend(n *yaml.Node) bool {
	d.left--
	if d.left == 0 {
		d.addf(n, "this file says too much: its aliases multiply")
	}
	return d.left > 0
}

// scalar is the text of a value that is one.
func (d *decoder) scalar(n *yaml.Node, path, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		d.addf(n, "%s: want %s", path, want)
		return "", false
	}
	return n.Value, true
}

func (d *decoder) list(n *yaml.Node, path string, f func(item *yaml.Node, path string)) {
	if n.Kind != yaml.SequenceNode {
		d.addf(n, "%s: want a list", path)
		return
	}
	for i, item := range n.Content {
		if !d.spend(item) {
			return
		}
		item = resolved(item)
		at := fmt.Sprintf("%s[%d]", path, i)
		d.at[at] = position{item.Line, item.Column}
		f(item, at)
	}
}

// each calls f for the keys of a mapping, in the order of the file. Merge keys (<<) bring the keys of another mapping that are not given.
func (d *decoder) each(n *yaml.Node, path string, f func(key, value *yaml.Node, path string)) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // "key:" without a value has nothing in it
	}
	if n.Kind != yaml.MappingNode {
		d.addf(n, "%s: want \"name: value\" lines", orFile(path))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], resolved(n.Content[i+1])
		if k.Tag == "!!merge" {
			continue
		}
		if k.Kind != yaml.ScalarNode || k.Value == "" {
			d.addf(k, "%s: a key must be a name", orFile(path))
			continue
		}
		if seen[k.Value] {
			d.addf(k, "%s is given twice", join(path, k.Value))
			continue
		}
		seen[k.Value] = true
		if !d.spend(k) {
			return
		}
		at := join(path, k.Value)
		d.at[at] = position{k.Line, k.Column}
		f(k, v, at)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			d.merge(resolved(n.Content[i+1]), path, seen, f)
		}
	}
}

// merge gives the keys of a mapping, or of a list of them, that are not seen yet.
func (d *decoder) merge(n *yaml.Node, path string, seen map[string]bool, f func(key, value *yaml.Node, path string)) {
	from := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		from = n.Content
	}
	for _, m := range from {
		m = resolved(m)
		if m.Kind != yaml.MappingNode {
			d.addf(m, "%s: << wants a mapping", orFile(path))
			continue
		}
		for i := 0; i+1 < len(m.Content); i += 2 {
			k := m.Content[i]
			if k.Tag == "!!merge" {
				d.addf(k, "%s: << in what << brings is not read: name the mapping itself", orFile(path))
				continue
			}
			if k.Kind != yaml.ScalarNode || k.Value == "" || seen[k.Value] {
				continue
			}
			seen[k.Value] = true
			if !d.spend(k) {
				return
			}
			at := join(path, k.Value)
			d.at[at] = position{k.Line, k.Column}
			f(k, resolved(m.Content[i+1]), at)
		}
	}
}

func orFile(path string) string {
	if path == "" {
		return "a scenario"
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func suggest(name string, known []string) string { return near.Suggest(name, known) }

// value reads a node into what to points at.
func (d *decoder) value(n *yaml.Node, to any, path string) {
	n = resolved(n)
	if r, ok := to.(reader); ok {
		r.read(d, n, path)
		return
	}
	v := reflect.ValueOf(to).Elem()
	if read := readers[v.Type()]; read != nil {
		read(d, n, to, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Interface(), path)
	case reflect.Struct:
		d.object(n, v, path)
	case reflect.Slice:
		d.list(n, path, func(item *yaml.Node, path string) {
			one := reflect.New(v.Type().Elem())
			d.value(item, one.Interface(), path)
			v.Set(reflect.Append(v, one.Elem()))
		})
	case reflect.Map:
		if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
			d.addf(n, "%s: nothing is given: write {} for none, or leave the key out", path)
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		d.each(n, path, func(key, value *yaml.Node, path string) {
			one := reflect.New(v.Type().Elem())
			d.value(value, one.Interface(), path)
			v.SetMapIndex(reflect.ValueOf(key.Value), one.Elem())
		})
	case reflect.String:
		if text, ok := d.scalar(n, path, "a text"); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if text, ok := d.scalar(n, path, "true or false"); ok {
			if text != "true" && text != "false" {
				d.addf(n, "%s: %q: want true or false", path, text)
			}
			v.SetBool(text == "true")
		}
	default: // int, int64
		if text, ok := d.scalar(n, path, "a whole number"); ok {
			i, err := strconv.ParseInt(text, 10, v.Type().Bits())
			if err != nil {
				d.addf(n, "%s: %q is not a whole number", path, text)
			}
			v.SetInt(i)
		}
	}
}

// object reads the fields of a struct by their yaml names.
func (d *decoder) object(n *yaml.Node, v reflect.Value, path string) {
	fields := map[string][]int{}
	for _, f := range reflect.VisibleFields(v.Type()) { // those of inlined structs too
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			fields[name] = f.Index
		}
	}
	known := make([]string, 0, len(fields))
	for name := range fields {
		known = append(known, name)
	}
	slices.Sort(known)
	d.each(n, path, func(key, value *yaml.Node, path string) {
		i, ok := fields[key.Value]
		if !ok {
			hint := suggest(key.Value, known)
			if hint == "" {
				hint = ": want one of " + strings.Join(known, ", ")
			}
			d.addf(key, "unknown key %q%s%s", key.Value, inside(path, key.Value), hint)
			return
		}
		d.value(value, v.FieldByIndex(i).Addr().Interface(), path)
	})
}

func inside(path, key string) string {
	outer := strings.TrimSuffix(strings.TrimSuffix(path, key), ".")
	if outer == "" {
		return ""
	}
	return " in " + outer
}
