package vertical

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalehist/scalehist/internal/near"
	"github.com/scalehist/scalehist/internal/spec"
)

// Kind is a recommender by name.
type Kind struct {
	Name string
	// About says in a line what it recommends.
	About string
	// Options are its options with their defaults, in the order in which help lists them; nil of vpa, which takes upstream's flags.
	Options []Option
	// make returns how to make one for a workload, or what is wrong with the options.
	make func(options) (Maker, error)
}

// Option is an option of a recommender, Setting one that is set.
type (
	Option  = spec.Option
	Setting = spec.Setting
)

// Maker makes a recommender for a workload.
type Maker func(Workload) (Recommender, error)

// Kinds are the recommenders there are, in order of names.
func Kinds() []Kind {
	all := []Kind{vpaKind, thresholdKind, maxUsageKind, randomKind, holtWintersKind, smartKubeKind, boostedKind, policyKind}
	slices.SortFunc(all, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Names are the names of Kinds.
func Names() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// Spec is a recommender with options: "vpa", "vpa:target-cpu-percentile=0.95,recommendation-margin-fraction=0.3".
type Spec struct {
	Name    string
	Options []Setting
	Maker   Maker
}

// String is the spec as Parse reads it.
func (s Spec) String() string { return spec.String(s.Name, s.Options) }

// Parse reads a spec. The error says which name or option is unknown, and what it may have meant, or which value is wrong.
func Parse(text string) (Spec, error) {
	return With(spec.Parse(text))
}

// With is the recommender of that name with options.
func With(name string, settings []Setting) (Spec, error) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Spec{}, fmt.Errorf("recommender %q is not known%s: choose %s", name, near.Suggest(name, Names()), strings.Join(Names(), ", "))
	}
	k := kinds[i]
	o := options{list: settings}
	var err error
	if k.Options == nil {
		o.Values = &spec.Values{} // the maker reads them
	} else if o.Values, err = spec.New(k.Options, settings); err != nil {
		return Spec{}, fmt.Errorf("recommender %s: %w", name, err)
	}
	m, err := k.make(o)
	if err != nil {
		return Spec{}, fmt.Errorf("recommender %s: %w", name, err)
	}
	return Spec{Name: name, Options: settings, Maker: m}, nil
}

// Takes says whether a recommender has an option of that name.
func Takes(name, option string) bool {
	for _, k := range Kinds() {
		if k.Name != name {
			continue
		}
		if k.Options == nil {
			return isVPAFlag(option)
		}
		return slices.ContainsFunc(k.Options, func(o Option) bool { return o.Name == option })
	}
	return false
}

// options are those that were given of a kind.
type options struct {
	*spec.Values
	list []Setting
}

// six reads the six numbers of a recommendation: lower, target and upper of both resources, in order.
func (o *options) six() (r Recommendation) {
	r.Lower = Amount{o.Quantity("lower-cpu", true), o.Quantity("lower-memory", false)}
	r.Target = Amount{o.Quantity("target-cpu", true), o.Quantity("target-memory", false)}
	r.Upper = Amount{o.Quantity("upper-cpu", true), o.Quantity("upper-memory", false)}
	inOrder := slices.IsSorted([]int64{r.Lower.CPUMilli, r.Target.CPUMilli, r.Upper.CPUMilli}) &&
		slices.IsSorted([]int64{r.Lower.MemoryBytes, r.Target.MemoryBytes, r.Upper.MemoryBytes})
	if o.Err == nil && !inOrder {
		o.Err = fmt.Errorf("bounds cross the target: want lower <= target <= upper of both resources")
	}
	return r
}
