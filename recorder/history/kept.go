package history

import "github.com/scalehist/scalehist"

// Kept is what a history keeps of an object, as a new object of its type without a resource version; false for what is
// not kept at all. A recorder throws the rest away before it holds an object: memory stays small and secrets stay out.
func Kept(o scalehist.Object) (scalehist.Object, bool) { return project(o) }
