// Package spec reads names with options: "max-usage:margin=0.3,window=24h". It knows nobody who has such names.
package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/scalehist/scalehist/internal/near"
)

// Option is an option that there is.
type Option struct{ Name, Default, About string }

// Setting is an option that is set.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Parse parts a spec into its name and its settings, in their order. A setting without "=" has no value; leading dashes are left out.
func Parse(text string) (name string, settings []Setting) {
	name, list, _ := strings.Cut(text, ":")
	if list == "" {
		return name, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		option, value, _ := strings.Cut(part, "=")
		settings = append(settings, Setting{strings.TrimLeft(option, "-"), value})
	}
	return name, settings
}

// String is the inverse of Parse.
func String(name string, settings []Setting) string {
	for i, s := range settings {
		name += string(":,"[min(i, 1)]) + s.Name + "=" + s.Value
	}
	return name
}

// New takes settings of options. The error says which one is unknown, and what it may have meant, or is given twice.
func New(known []Option, settings []Setting) (*Values, error) {
	v := &Values{known: known, set: map[string]string{}}
	for _, s := range settings {
		if _, twice := v.set[s.Name]; twice {
			return nil, fmt.Errorf("option %s is given twice", s.Name)
		}
		v.set[s.Name] = s.Value
		if slices.ContainsFunc(known, func(o Option) bool { return o.Name == s.Name }) {
			continue
		}
		var names []string
		for _, o := range known {
			names = append(names, o.Name)
		}
		return nil, fmt.Errorf("there is no option %s: choose %s%s", s.Name, strings.Join(names, ", "), near.Suggest(s.Name, names))
	}
	return v, nil
}

// Kind is something to choose by name, with options; T is what comes of it.
type Kind[T any] struct {
	Name, About string
	Options     []Option
	Make        func(*Values) T
	// Of is set in place of Options and Make where settings are not a list that is known here: it makes it of all of them, or says which is wrong.
	Of func([]Setting) (T, error)
	// First is the option whose value may be the first setting alone: with "at", "url:http://a" is "url:at=http://a".
	First string
}

// Names are the names of kinds, in their order.
func Names[T any](kinds []Kind[T]) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// Choose reads a spec of one of the kinds, and makes what it names. The error says which name or option of what is unknown, or which value is wrong.
func Choose[T any](what string, kinds []Kind[T], text string) (name string, settings []Setting, made T, err error) {
	name, settings = Parse(text)
	settings, made, err = With(what, kinds, name, settings)
	return name, settings, made, err
}

// With is Choose of a spec that is parsed already. It returns the settings with their names.
func With[T any](what string, kinds []Kind[T], name string, settings []Setting) (_ []Setting, made T, err error) {
	i := slices.IndexFunc(kinds, func(k Kind[T]) bool { return k.Name == name })
	if i < 0 {
		return nil, made, fmt.Errorf("%s %q is not known: choose %s%s", what, name, strings.Join(Names(kinds), ", "), near.Suggest(name, Names(kinds)))
	}
	k := &kinds[i]
	if k.First != "" && len(settings) > 0 && settings[0].Value == "" && !k.Takes(settings[0].Name) {
		settings = append([]Setting{{k.First, settings[0].Name}}, settings[1:]...)
	}
	if k.Of != nil {
		made, err = k.Of(settings)
	} else {
		var v *Values
		if v, err = New(k.Options, settings); err == nil {
			made = k.Make(v)
			err = v.Err // by reading the values
		}
	}
	if err != nil {
		return nil, made, fmt.Errorf("%s %s: %w", what, name, err)
	}
	return settings, made, nil
}

// Takes says whether Options have one of that name.
func (k *Kind[T]) Takes(option string) bool {
	return slices.ContainsFunc(k.Options, func(o Option) bool { return o.Name == option })
}

// Values are options that were given. Its methods read one, or its default, and keep the first error.
type Values struct {
	known []Option
	set   map[string]string
	// Err is the first error.
	Err error
}

// Text is a value as it was given.
func (o *Values) Text(name string) string {
	if v, ok := o.set[name]; ok {
		return v
	}
	i := slices.IndexFunc(o.known, func(k Option) bool { return k.Name == name })
	return o.known[i].Default
}

// Wrong notes what a value should be.
func (o *Values) Wrong(name, want string) {
	if o.Err == nil {
		o.Err = fmt.Errorf("%s=%s: want %s", name, o.Text(name), want)
	}
}

// Number reads one from least to most.
func (o *Values) Number(name string, least, most float64) float64 {
	v, err := strconv.ParseFloat(o.Text(name), 64)
	if err != nil || !(v >= least && v <= most) {
		o.Wrong(name, fmt.Sprintf("a number from %g to %g", least, most))
	}
	return v
}

// Whole reads a whole number that is not negative.
func (o *Values) Whole(name string) uint64 {
	v, err := strconv.ParseUint(o.Text(name), 10, 64)
	if err != nil {
		o.Wrong(name, "a whole number, such as 1")
	}
	return v
}

// Flag reads true or false.
func (o *Values) Flag(name string) bool {
	v, err := strconv.ParseBool(o.Text(name))
	if err != nil {
		o.Wrong(name, "true or false")
	}
	return v
}

// Duration reads one, of at least that and at most 24000h.
func (o *Values) Duration(name string, least time.Duration) time.Duration {
	v, err := time.ParseDuration(o.Text(name))
	if err != nil || v < least || v > 1000*24*time.Hour {
		o.Wrong(name, fmt.Sprintf("a duration from %s to 24000h", least))
	}
	return v
}

// Quantity reads an amount of CPU, in millicores, or of memory, in bytes.
func (o *Values) Quantity(name string, cpu bool) int64 {
	q, err := resource.ParseQuantity(o.Text(name))
	if err != nil || q.Sign() < 0 || q.AsApproximateFloat64() > 1e15 {
		o.Wrong(name, "an amount such as 250m or 512Mi")
		return 0
	}
	if cpu {
		return q.MilliValue()
	}
	return q.Value()
}
