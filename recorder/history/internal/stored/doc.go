// Package stored takes objects apart for a history's tables, and puts them together again.
//
// What many objects share is stored once. The content of an object is its projection without what is its own (name, UID, creation) and
// without its state; the state is what changes often while the content stays, and both are addressed by their hash. The node and the times
// of a state lie beside it.
//
// The package must not know SQL, files and connections.
package stored
