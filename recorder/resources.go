package recorder

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/scalehist/scalehist/recorder/history/objectlog"
)

// Resource is what a recorder lists and watches, for the rules of a role.
type Resource struct {
	Group, Resource string
	// Name is the one object that is watched; empty: all.
	Name string
}

// Resources are all that a recorder lists and watches, those of providers too. Usage of containers is not among them: it is
// listed from the metrics API when Options.Usage asks for it.
func Resources() []Resource {
	var out []Resource
	for _, t := range targets {
		r := Resource{Group: t.resource.Group, Resource: t.resource.Resource}
		if t.fields != nil {
			r.Name, _ = t.fields.RequiresExactMatch("metadata.name")
		}
		out = append(out, r)
	}
	for _, gk := range objectlog.CustomKinds() {
		plural, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: gk.Group, Version: "v1", Kind: gk.Kind})
		out = append(out, Resource{Group: gk.Group, Resource: plural.Resource})
	}
	return slices.Compact(out)
}
