// Package doctor checks a recorded history before somebody trusts a replay of it: whether the file is whole, whether
// what a replay needs was recorded, and what a replay will have to guess.
//
// Terms:
//   - Rule: one check, with a stable code (SH101) that scripts and --disable may name. Rules returns the table.
//   - Finding: one thing a rule found: when, on which object, what is wrong. What to do about it is the rule's advice.
//   - Input: the window of the history as the rules see it, read once.
//
// A rule is a pure function of the Input: the same file gives the same findings in the same order.
//
// The package must not know of API servers, virtual clusters or the command line.
package doctor
