package scalehist

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ClusterState is a cluster as an autoscaler saw it when it decided: the objects, and what its cloud provider said.
type ClusterState struct {
	// Loop is the loop of the Decision that was made about it; At is the instant of both (UTC).
	Loop int
	At   time.Time
	// Objects are read only.
	Objects *Objects
	// NodeGroups are in the provider's order, which breaks ties.
	NodeGroups []GroupState
	// Backoff are the groups that the autoscaler did not let grow.
	Backoff []GroupBackoff
}

// GroupState is a node group with what the objects do not show of it.
type GroupState struct {
	NodeGroup
	// Upcoming are the nodes that were asked for and have not joined; Failed are those of them that could not be created, of
	// which the autoscaler is about to hear. Both are in the target size.
	Upcoming []UpcomingNode `json:"upcoming,omitempty"`
	Failed   []string       `json:"failed,omitempty"`
	// Deleting are the nodes that exist and are on their way out; the target size is without them.
	Deleting []string `json:"deleting,omitempty"`
	// TemplatePods come with every fresh node, beside DaemonSet pods.
	TemplatePods []*corev1.Pod `json:"templatePods,omitempty"`
}

// UpcomingNode is a node that was asked for.
type UpcomingNode struct {
	Name        string    `json:"name"`
	RequestedAt time.Time `json:"requestedAt"`
}

// Moments are the clusters that decisions of a report were made about, whole, so that each can be decided again. What does
// not change from one to the next is in it once.
type Moments struct {
	// Objects has every version of every object there was, by kind, in the order in which they were first seen.
	Objects Objects `json:"objects"`
	// Templates are the nodes that scale-ups from zero would bring.
	Templates []*corev1.Node `json:"templates,omitempty"`
	Moments   []Moment       `json:"moments"`
}

// Moment is one ClusterState, as indices into Moments.
type Moment struct {
	Loop int       `json:"loop"`
	At   time.Time `json:"at"`
	// Objects are by kind, under the names that Moments.Objects has for them, what was there: ranges [first, last], in the order of
	// creation.
	Objects map[string][][2]int `json:"objects"`
	// NodeGroups are without templates; Templates has for each the place of its own, -1 for none.
	NodeGroups []GroupState   `json:"nodeGroups"`
	Templates  []int          `json:"templates"`
	Backoff    []GroupBackoff `json:"backoff,omitempty"`
}

// MomentsBuilder builds Moments. The zero value has none.
type MomentsBuilder struct {
	moments Moments
	// at is where a version is in the pool of a name, by its pointer: caches replace objects, they do not change them, and this
	// keeps an address from being used again.
	at map[versionKey]int
}

type versionKey struct {
	pool    string
	version any
}

// Moments are those that were added so far; nil when there are none. Adding more does not change them.
func (k *MomentsBuilder) Moments() *Moments {
	if len(k.moments.Moments) == 0 {
		return nil
	}
	soFar := k.moments // lists are only added to, behind what soFar sees of them
	return &soFar
}

// Add keeps a state. Its objects are not changed; what is kept of them is without resource versions, which differ from one
// virtual cluster to the next.
func (k *MomentsBuilder) Add(s ClusterState) {
	if k.at == nil {
		k.at = map[versionKey]int{}
	}
	m := Moment{Loop: s.Loop, At: s.At.UTC(), Objects: map[string][][2]int{}, Backoff: slices.Clone(s.Backoff)}
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
func (k *MomentsBuilder) AddAll(others *Moments) error {
	if others == nil {
		return nil
	}
	for n := range others.Moments {
		s, err := others.State(n)
		if err != nil {
			return err
		}
		k.Add(s)
	}
	return nil
}

// place is where a version is in the pool; one that is not there is put at its end.
func (k *MomentsBuilder) place(name string, pool, version reflect.Value) int {
	key := versionKey{name, version.Interface()}
	at, ok := k.at[key]
	if !ok {
		at = pool.Len()
		k.at[key] = at
		pool.Set(reflect.Append(pool, reflect.ValueOf(unversioned(version.Interface().(Object)))))
	}
	return at
}

// State is the nth state. Moments that contradict themselves, as a file may that was changed, are an error.
func (m *Moments) State(n int) (ClusterState, error) {
	moment := &m.Moments[n]
	s := ClusterState{Loop: moment.Loop, At: moment.At, Objects: &Objects{}, Backoff: moment.Backoff}
	bad := func(format string, args ...any) (ClusterState, error) {
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
func kindsOf(o *Objects) map[string]reflect.Value {
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
