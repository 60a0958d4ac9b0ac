// Package archtest holds the architecture as tests: which package may know which, and who may read the wall clock.
// It has no code of its own. It knows the tree only through `go list` and the source files.
package archtest
