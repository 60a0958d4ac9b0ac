// Command mutation shows that the conformance cases notice a wrong rule. It breaks one rule of the virtual autoscaler at
// a time, builds itself with the broken file (go build -overlay, so the tree is never edited), runs the measured cases
// of fixtures/conformance and counts those that no longer agree. `make mutation` runs it.
//
// Terms: a mutation is one replacement of text in one file; it is caught when a case disagrees that agrees without it,
// and survives when nothing notices. What no recorded case reaches goes to the unit tests of virtualca and simulator, and the table
// says so. A survivor is exit status 1.
//
// It must not know how anything is decided: all it has is text, cases and their verdicts.
package main
