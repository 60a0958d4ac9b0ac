package sweep

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
)

// Parameter is a flag of an autoscaler, without dashes, and the values to try in the order given.
type Parameter struct {
	Name   string
	Values []string
}

// ParseParameter reads "name=value,value". A value with a comma is quoted: expander=least-waste,"priority,least-waste".
func ParseParameter(text string) (Parameter, error) {
	return parse(text, "a flag and its values, such as expander=least-waste,most-pods", func(name string) string {
		return strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-")
	})
}

// ParseField reads "KIND/NAME:FIELD=value,value", in the same way: a field of an object, named as it is written.
func ParseField(text string) (Parameter, error) {
	return parse(text, "a field of an object and its values, such as HorizontalPodAutoscaler/web:spec.maxReplicas=10,20", func(name string) string { return name })
}

func parse(text, want string, named func(string) string) (Parameter, error) {
	name, list, ok := strings.Cut(text, "=")
	name = named(strings.TrimSpace(name))
	if !ok || name == "" || list == "" {
		return Parameter{}, fmt.Errorf("%q: want %s", text, want)
	}
	r := csv.NewReader(strings.NewReader(list))
	values, err := r.Read()
	if err != nil {
		return Parameter{}, fmt.Errorf("%q: separate values by commas, and quote a value that has one: %w", text, err)
	}
	if strings.ContainsAny(list, "\r\n") {
		return Parameter{}, fmt.Errorf("%q: values stand on one line", text)
	}
	p := Parameter{Name: name}
	for _, v := range values {
		if v == "" {
			return Parameter{}, fmt.Errorf("%q: a value is empty", text)
		}
		if slices.Contains(p.Values, v) {
			return Parameter{}, fmt.Errorf("%q: the value %q is there twice", text, v)
		}
		p.Values = append(p.Values, v)
	}
	return p, nil
}

// ParseParameters reads several flags; a name may be there once.
func ParseParameters(texts []string) ([]Parameter, error) { return parseAll(texts, ParseParameter) }

// ParseFields reads several fields of objects; each may be there once.
func ParseFields(texts []string) ([]Parameter, error) { return parseAll(texts, ParseField) }

func parseAll(texts []string, parse func(string) (Parameter, error)) ([]Parameter, error) {
	var out []Parameter
	for _, text := range texts {
		p, err := parse(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Parameter) bool { return o.Name == p.Name }) {
			return nil, fmt.Errorf("%s is there twice: give all its values at once", p.Name)
		}
		out = append(out, p)
	}
	return out, nil
}

// Setting is one value of a parameter: a flag, or a field of an object ("HorizontalPodAutoscaler/web:spec.maxReplicas").
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Point is what one replay of the grid is played with.
type Point struct {
	Engine   string    `json:"engine"`
	Settings []Setting `json:"settings"`
}

// ofObject says whether it is a field of an object: no flag has a colon in its name.
func (s Setting) ofObject() bool { return strings.Contains(s.Name, ":") }

// Flags are the settings that are flags, as an autoscaler takes them.
func (p Point) Flags() []string {
	out := make([]string, 0, len(p.Settings))
	for _, s := range p.Settings {
		if !s.ofObject() {
			out = append(out, "--"+s.Name+"="+s.Value)
		}
	}
	return out
}

// Fields are the settings that are fields of objects.
func (p Point) Fields() []Setting {
	return slices.DeleteFunc(slices.Clone(p.Settings), func(s Setting) bool { return !s.ofObject() })
}

// Label is the point for tables: "virtualca expander=most-pods web:maxReplicas=20".
func (p Point) Label() string {
	var names []string
	for _, s := range p.Settings {
		names = append(names, s.Name)
	}
	parts := []string{p.Engine}
	for _, s := range p.Settings {
		parts = append(parts, short(s.Name, names)+"="+s.Value)
	}
	return strings.Join(parts, " ")
}

// short is what tables call a field of an object, "web:maxReplicas", where that is no other one's too; a flag is called as it is.
func short(name string, among []string) string {
	cut := func(name string) string {
		object, path, ok := strings.Cut(name, ":")
		if !ok || strings.Contains(path, `"`) {
			return name
		}
		return object[strings.LastIndex(object, "/")+1:] + ":" + path[strings.LastIndex(path, ".")+1:]
	}
	for _, other := range among {
		if other != name && cut(other) == cut(name) {
			return name
		}
	}
	return cut(name)
}

// Points are all combinations on an engine: the last parameter changes first. Without parameters there is one.
func Points(engine string, params []Parameter) []Point {
	out := []Point{{Engine: engine, Settings: []Setting{}}}
	for _, p := range params {
		var next []Point
		for _, point := range out {
			for _, v := range p.Values {
				next = append(next, Point{Engine: engine, Settings: append(slices.Clone(point.Settings), Setting{p.Name, v})})
			}
		}
		out = next
	}
	return out
}

// Size is the number of points, without making them; it stops counting beyond the limit.
func Size(params []Parameter, limit int) int {
	n := 1
	for _, p := range params {
		if n *= len(p.Values); n > limit {
			return n
		}
	}
	return n
}
