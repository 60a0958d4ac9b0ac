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
	name, list, ok := strings.Cut(text, "=")
	name = strings.ReplaceAll(strings.TrimLeft(strings.TrimSpace(name), "-"), "_", "-")
	if !ok || name == "" || list == "" {
		return Parameter{}, fmt.Errorf("%q: want a flag and its values, such as expander=least-waste,most-pods", text)
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

// ParseParameters reads several; a name may be there once.
func ParseParameters(texts []string) ([]Parameter, error) {
	var out []Parameter
	for _, text := range texts {
		p, err := ParseParameter(text)
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

// Setting is one value of a parameter.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Point is what one replay of the grid is played with.
type Point struct {
	Engine   string    `json:"engine"`
	Settings []Setting `json:"settings"`
}

// Flags are the settings as an autoscaler takes them.
func (p Point) Flags() []string {
	out := make([]string, 0, len(p.Settings))
	for _, s := range p.Settings {
		out = append(out, "--"+s.Name+"="+s.Value)
	}
	return out
}

// Label is the point for tables: "virtualca expander=most-pods".
func (p Point) Label() string {
	parts := []string{p.Engine}
	for _, s := range p.Settings {
		parts = append(parts, s.Name+"="+s.Value)
	}
	return strings.Join(parts, " ")
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
