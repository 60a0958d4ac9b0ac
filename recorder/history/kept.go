package history

import (
	"slices"

	"github.com/scalehist/scalehist"
)

// Kept is what a history keeps of an object, as a new object of its type without a resource version; false for what is
// not kept at all. A recorder throws the rest away before it holds an object: memory stays small and secrets stay out.
func Kept(o scalehist.Object) (scalehist.Object, bool) { return project(o) }

// KeptFields are the fields that a history keeps of a custom kind ("Machine.machine.sapcloud.io"), besides its metadata: "a.b" is
// b with all that is in it, "a[].b" that of every element. There are none of other kinds.
func KeptFields(kind string) []string { return slices.Clone(customFields[kind]) }
