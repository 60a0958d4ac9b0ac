// Package cli is the command line: flags, wiring and printing, nothing else. Every command is in a file of its own; root.go collects
// those of this package and of packages clusters, histories and replays.
//
// Exit codes are part of the interface: 0 the command did what was asked (and, for a comparison, agreed), 1 a comparison
// differed, 2 an error, 130 interrupted.
//
// Results go to standard output, progress and errors to standard error, so that a pipe sees results only.
package cli
