package vertical

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalehist/scalehist/internal/spec"
	"github.com/scalehist/scalehist/recommender/vertical/vpa"
)

// Kind is a recommender by name. Option is an option of it, Setting one that is set.
type (
	Kind    = spec.Kind[Maker]
	Option  = spec.Option
	Setting = spec.Setting
)

// Maker makes a recommender for a workload.
type Maker func(Workload) (Recommender, error)

// Kinds are the recommenders there are, in order of names.
func Kinds() []Kind {
	all := []Kind{vpaKind, thresholdKind, maxUsageKind, randomKind, holtWintersKind, smartKubeKind, urlKind, boostedKind, policyKind}
	slices.SortFunc(all, func(a, b Kind) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Names are the names of Kinds.
func Names() []string { return spec.Names(Kinds()) }

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
	settings, maker, err := spec.With("recommender", Kinds(), name, settings)
	if err != nil {
		return Spec{}, err
	}
	return Spec{Name: name, Options: settings, Maker: maker}, nil
}

// Takes says whether a recommender has an option of that name.
func Takes(name, option string) bool {
	if name == vpaKind.Name {
		return vpa.HasFlag(option) // upstream's parser refuses what is unknown to it, or without effect, before the value
	}
	return slices.ContainsFunc(Kinds(), func(k Kind) bool { return k.Name == name && k.Takes(option) })
}

// six reads the six numbers of a recommendation: lower, target and upper of both resources, in order.
func six(o *spec.Values) (r Recommendation) {
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
