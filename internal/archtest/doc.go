// Package archtest holds the architecture as tests: which package may know which, who may read the wall clock,
// and how long a spec may be.
// It has no code of its own. It knows the tree only through `go list` and the source files.
package archtest
