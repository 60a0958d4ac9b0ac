package moments

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/scalehist/scalehist"
)

// Builder builds Moments. The zero value has none.
type Builder struct {
	moments scalehist.Moments
	// at is where a version is in the pool of a name, by its pointer: caches replace objects, they do not change them, and this
	// keeps an address from being used again.
	at map[versionKey]int
}

type versionKey struct {
	pool    string
	version any
}

// Moments are those that were added so far; nil when there are none. Adding more does not change them.
func (k *Builder) Moments() *scalehist.Moments {
	if len(k.moments.Moments) == 0 {
		return nil
	}
	soFar := k.moments // lists are only added to, behind what soFar sees of them
	return &soFar
}

// Add keeps a state. Its objects are not changed; what is kept of them is without resource versions, which differ from one
// virtual cluster to the next.
func (k *Builder) Add(s scalehist.ClusterState) {
	if k.at == nil {
		k.at = map[versionKey]int{}
	}
	m := scalehist.Moment{Loop: s.Loop, At: s.At.UTC(), Objects: map[string][][2]int{}, Backoff: slices.Clone(s.Backoff)}
	for name, field := range kindsOf(s.Objects) {
		pool := kindsOf(&k.moments.Objects)[name]
		var ranges [][2]int
		for i := range field.Len() {
			at := k.place(name, pool, field.Index(i))
			if n := len(ranges); n > 0 && ranges[n-1][1] == at-1 {
				ranges[n-1][1] = at
				continue
			}
			ranges = append(ranges, [2]int{at, at})
		}
		if len(ranges) > 0 {
			m.Objects[name] = ranges
		}
	}
	templates := reflect.ValueOf(&k.moments.Templates).Elem()
	for _, g := range s.NodeGroups {
		at := -1
		if g.Template != nil {
			at = k.place("templates", templates, reflect.ValueOf(g.Template))
		}
		g.Template = nil
		m.NodeGroups, m.Templates = append(m.NodeGroups, g), append(m.Templates, at)
	}
	k.moments.Moments = append(k.moments.Moments, m)
}

// AddAll keeps all states of others; nil has none.
func (k *Builder) AddAll(others *scalehist.Moments) error {
	if others == nil {
		return nil
	}
	for n := range others.Moments {
		s, err := State(others, n)
		if err != nil {
			return err
		}
		k.Add(s)
	}
	return nil
}

// place is where a version is in the pool; one that is not there is put at its end.
func (k *Builder) place(name string, pool, version reflect.Value) int {
	key := versionKey{name, version.Interface()}
	at, ok := k.at[key]
	if !ok {
		at = pool.Len()
		k.at[key] = at
		kept := version.Interface().(scalehist.Object).DeepCopyObject().(scalehist.Object)
		kept.SetResourceVersion("") // it counts the writes of one virtual cluster
		pool.Set(reflect.Append(pool, reflect.ValueOf(kept)))
	}
	return at
}

// State is the nth state of moments. Moments that contradict themselves, as a file may that was changed, are an error.
func State(m *scalehist.Moments, n int) (scalehist.ClusterState, error) {
	moment := &m.Moments[n]
	s := scalehist.ClusterState{Loop: moment.Loop, At: moment.At, Objects: &scalehist.Objects{}, Backoff: moment.Backoff}
	bad := func(format string, args ...any) (scalehist.ClusterState, error) {
		return s, fmt.Errorf("moment %d of %d: %s", n+1, len(m.Moments), fmt.Sprintf(format, args...))
	}
	pools, into := kindsOf(&m.Objects), kindsOf(s.Objects)
	for name, ranges := range moment.Objects {
		pool, ok := pools[name]
		if !ok {
			return bad("there are no objects called %q", name)
		}
		for _, r := range ranges {
			if r[0] < 0 || r[1] < r[0] || r[1] >= pool.Len() {
				return bad("%s %d to %d are not among the %d there are", name, r[0], r[1], pool.Len())
			}
			into[name].Set(reflect.AppendSlice(into[name], pool.Slice(r[0], r[1]+1)))
		}
	}
	if len(moment.Templates) != len(moment.NodeGroups) {
		return bad("%d templates for %d node groups", len(moment.Templates), len(moment.NodeGroups))
	}
	for i, g := range moment.NodeGroups {
		switch at := moment.Templates[i]; {
		case at >= len(m.Templates):
			return bad("the template of node group %s is not among the %d there are", g.Name, len(m.Templates))
		case at >= 0:
			g.Template = m.Templates[at]
		}
		s.NodeGroups = append(s.NodeGroups, g)
	}
	return s, nil
}

// kindsOf are the lists of Objects by the names JSON has for them. What scaling does not look at is left out.
func kindsOf(o *scalehist.Objects) map[string]reflect.Value {
	out := map[string]reflect.Value{}
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name != "custom" {
			out[name] = v.Field(i)
		}
	}
	return out
}
